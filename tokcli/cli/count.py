"""`tokcli count`: how many tokens, and nothing else; several inputs like wc."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import click

from tokcli.cli import options, records, streams
from tokcli.cli.options import Request
from tokcli.errors import EXIT_ERROR, CheckFailed, InputError, TokcliError


@dataclass(frozen=True)
class Counted:
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
    kind, largest, total = request.options["records"], 0, 0
    for source in request.inputs:
        for record in records.read_records(source, kind, request.field):
            with streams.naming(record.shown):
                tokens = count(request, record)
            largest, total = max(largest, tokens), total + tokens
            if not request.options["only_total"]:
                write_number(request, output, tokens)
    if request.options["only_total"]:
        write_number(request, output, total)
    return largest


def write_number(request: Request, output: streams.Output, tokens: int) -> None:
    """One count, in the form that was asked for."""
    if request.options["as_json"]:
        output.write(b'{"count": %d}\n' % tokens)
    else:
        output.write(b"%d" % tokens + records.SEPARATOR[request.options["records"] or "lines"])


def count(request: Request, source: streams.Input | records.Record) -> int:
    """The number of tokens of an input or a record."""
    threads = request.threads
    return sum(request.encoding.count_chunk(chunk, threads) for chunk in request.chunks(source, threads))


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
        write_number(request, output, total)
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
