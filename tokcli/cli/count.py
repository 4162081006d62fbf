"""`tokcli count`: how many tokens, and nothing else; several inputs like wc."""

from __future__ import annotations

from array import array
from collections.abc import Iterator
from typing import Any, NamedTuple

import click

from tokcli.cli import options, records, streams
from tokcli.cli.options import Request
from tokcli.engine.decoder import format_ids
from tokcli.errors import EXIT_ERROR, CheckFailed, InputError, TokcliError


class Counted(NamedTuple):
    """An input and its number of tokens."""

    name: str
    tokens: int


@click.command(cls=options.Command, name="count")
@options.takes_files
@options.takes_encoding
@options.takes_text("text")
@options.takes_records
@click.option("--jsonl", is_flag=True, help="One JSON object a line for each input.")
@click.option("--total", "only_total", is_flag=True, help="Only the total.")
@click.option("--sort", "by_size", is_flag=True, help="The largest first.")
@click.option("--top", type=click.IntRange(min=1), metavar="N", help="Only the N largest, largest first.")
@click.option("--max", "limit", type=click.IntRange(min=0), metavar="N",
              help="Exit with 1 when there are more than N (with --records: in one record).")  # fmt: skip
@options.takes_output
@options.common
def command(**given: Any) -> int:
    """Count the tokens of FILEs, or of standard input.

    \b
      tokcli count prompt.txt
      git ls-files -z '*.py' | tokcli count --files0-from - --top 5
      tokcli count --max 8000 prompt.txt || echo too long
    """
    request = Request(given)
    request.note_template()
    with request.open_output() as output:
        if given["records"]:
            over = count_records(request, output)
            status = 0
        else:
            counted, status = count_inputs(request)
            write_counts(request, output, counted, failed=bool(status))
            over = sum(c.tokens for c in counted)
        output.flush()
    if given["limit"] is not None and over > given["limit"]:
        raise CheckFailed(f"{over} tokens, more than --max {given['limit']}")
    return status


def count_records(request: Request, output: streams.Output) -> int:
    """A count for each record; the largest of them."""
    if request.options["jsonl"] or request.options["by_size"] or request.options["top"]:
        raise InputError("--jsonl, --sort and --top are for whole inputs, not for --records")
    largest = total = 0
    for source in request.inputs:
        for batch, counts in records.shared_batches(request, source, lambda batch: count_batch(request, batch)):
            for some in [counts] if counts is not None else one_by_one(request, batch):
                largest, total = max([largest, *some]), total + sum(some)
                if some and not request.options["only_total"]:
                    write_numbers(request, output, some)
            batch.finish(output)
    if request.options["only_total"]:
        write_numbers(request, output, memoryview(array("Q", [total])))
    return largest


def count_batch(request: Request, batch: records.Batch) -> memoryview | None:
    """The counts of many records at once; None where they have to be taken one by one."""
    special = request.allowed | request.refused
    return request.encoding.count_records(batch.data, batch.ends, batch.separator_size, special)


def one_by_one(request: Request, batch: records.Batch) -> Iterator[memoryview]:
    """The count of each record, and which of them is wrong."""
    for record in batch.records():
        with streams.naming(record.shown):
            yield memoryview(array("Q", [count(request, record)]))


def write_numbers(request: Request, output: streams.Output, counts: memoryview) -> None:
    """Counts (uint32; or one uint64), in the form that was asked for."""
    before, after = b"", records.SEPARATOR[request.options["records"] or "lines"]
    if request.options["as_json"]:
        before, after = b'{"count": ', b"}\n"
    numbers = b"%d" % counts[0] if len(counts) == 1 else format_ids(counts, after + before)
    output.write(before + numbers + after)


def count(request: Request, source: streams.Input | records.Record) -> int:
    """The number of tokens of an input or a record."""
    return sum(request.shared_parts(request.encoding.count_part, source))


def count_inputs(request: Request) -> tuple[list[Counted], int]:
    """Each input's count. Like wc, an input of several that cannot be read is reported, and the others counted."""
    counted, status = [], 0
    for source in request.inputs:
        try:
            with streams.naming(source.shown):
                counted.append(Counted(source.name, count(request, source)))
        except TokcliError as error:
            if len(request.inputs) == 1:
                raise
            streams.print_error(error.what, error.hint)
            status = EXIT_ERROR
    return counted, status


def write_counts(request: Request, output: streams.Output, counted: list[Counted], *, failed: bool) -> None:
    """The counts as numbers, a table like wc's, or JSON."""
    total = sum(c.tokens for c in counted)
    shown = counted
    if request.options["by_size"] or request.options["top"]:
        shown = sorted(counted, key=lambda c: -c.tokens)[: request.options["top"]]
    single = len(request.inputs) == 1 and not failed
    if request.options["only_total"] or (single and not request.options["jsonl"]):
        write_numbers(request, output, memoryview(array("Q", [total])))
    elif request.options["jsonl"]:
        for row in shown:
            output.write(records.dump({"file": row.name, "count": row.tokens}).encode() + b"\n")
    elif request.options["as_json"]:
        files = [{"file": row.name, "count": row.tokens} for row in shown]
        output.write(records.dump({"files": files, "total": total}).encode() + b"\n")
    else:
        write_table(output, shown, total)


def write_table(output: streams.Output, shown: list[Counted], total: int) -> None:
    """A line each and a total; a terminal gets names that it cannot act on."""
    width = len(str(total))
    for row in [*shown, Counted("total", total)]:
        name = row.name
        if output.is_terminal:
            from tokcli.render.visible import visible

            name = visible(name)
        output.write(f"{row.tokens:>{width}} ".encode() + name.encode("utf-8", "surrogateescape") + b"\n")
