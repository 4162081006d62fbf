"""`tokcli encode`: text to ids; or, for people, to coloured tokens."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import click

from tokcli.cli import options, records, streams
from tokcli.cli.options import Request
from tokcli.cli.write_ids import IdWriter, TextWriter, make_writer
from tokcli.errors import CheckFailed, InputError

if TYPE_CHECKING:
    from typing_extensions import Buffer

BINARY = ("u16", "u32", "npy")
U16_IDS = 1 << 16


@click.command(cls=options.Command, name="encode")
@options.takes_files
@options.takes_encoding
@options.takes_text("error")
@options.takes_records
@click.option(
    "--format",
    "form",
    type=click.Choice(["text", "json", "u16", "u32", "npy"]),
    default="text",
    show_default=True,
    help="Decimal, JSON, little-endian binary, NumPy.",
)
@click.option("--offsets", type=click.Choice(["byte", "char"]), help="Where each token begins and ends.")
@click.option("-n", "--limit", type=click.IntRange(min=0), metavar="N", help="Stop after N tokens.")
@click.option("--fail-if-truncated", is_flag=True, help="Exit with 1 if -n cut anything off.")
@click.option(
    "--visualise",
    type=click.Choice(["tokens", "merges"]),
    is_flag=False,
    metavar="[tokens|merges]",
    help="Coloured tokens, or with =merges every merge.",
)
@click.option("--ids", is_flag=True, help="With --visualise: the ids under the tokens.")
@options.takes_svg
@click.option("--step", is_flag=True, help="With --visualise=merges: wait for a key after each step.")
@click.option(
    "--compare", metavar="E1,E2,...", help="The text under each of these encodings, aligned; and what it costs."
)
@options.takes_html
@options.takes_output
@options.common
def command(**given: Any) -> None:
    """Encode FILEs, or standard input: ids separated by spaces, a line for each input.

    \b
      tokcli encode prompt.txt
      tokcli encode --format u32 -o ids.bin corpus.txt
      tokcli encode --records jsonl --json < requests.jsonl
      tokcli encode --visualise -t 'hello world'
    """  # fmt: skip
    request = Request(given)
    if given["compare"] is not None:
        from tokcli.cli import compare

        compare.write(request)
        return
    check_options(given)
    request.note_template()
    if given["html"]:
        from tokcli.cli import pages

        pages.write_tokens(request)
        return
    if given["svg"]:
        from tokcli.cli.visualise import write_svg

        write_svg(request)
        return
    with request.open_output() as output:
        if given["visualise"]:
            from tokcli.cli.visualise import visualise

            visualise(request, output)
            return
        check_binary(request, output)
        writer = make_writer(given, output, request.encoding)
        truncated = encode_all(request, writer)
        writer.close()
        output.flush()
    if truncated and given["fail_if_truncated"]:
        raise CheckFailed(f"there are more than -n {given['limit']} tokens")


def check_options(given: dict[str, Any]) -> None:
    """Refuses what does not go together."""
    binary = given["form"] in BINARY
    if binary and (given["records"] or given["as_json"] or given["offsets"]):
        raise InputError(f"--format {given['form']} holds ids alone: no --records, --json or --offsets")
    if given["offsets"] and not given["as_json"] and (given["form"] == "json" or given["records"]):
        raise InputError("--offsets are a line for each token, or members of a JSON object", "Add --json.")
    check_view(given)
    if given["fail_if_truncated"] and (given["limit"] is None or given["visualise"]):
        raise InputError("--fail-if-truncated goes with -n, and not with --visualise")


def check_view(given: dict[str, Any]) -> None:
    """Refuses what does not go with --visualise, or only with it."""
    view = given["visualise"]
    if view and (given["records"] or given["offsets"] or given["form"] != "text"):
        raise InputError("--visualise is for people: no --records, --offsets or --format")
    if given["ids"] and (view != "tokens" or given["as_json"]):
        raise InputError("--ids stand under the tokens of --visualise; --json has them anyway")
    if given["step"] and (view != "merges" or given["as_json"]):
        raise InputError("--step goes with --visualise=merges, without --json")
    if given["svg"] is not None and (view != "tokens" or given["as_json"] or given["output"] or given["html"]):
        raise InputError("--svg FILE is a picture of --visualise: no =merges, --json, --html or -o")


def check_binary(request: Request, output: streams.Output) -> None:
    """Refuses ids that do not fit, and binary on a terminal."""
    encoding, form = request.encoding, request.options["form"]
    if form == "u16" and encoding.n_vocab > U16_IDS:
        raise InputError(
            f"--format u16 holds ids up to {U16_IDS - 1}; {encoding.name} has them up to {encoding.max_token_value}",
            "Use --format u32.",
        )
    if output.is_terminal and form in BINARY:
        raise InputError(f"--format {form} is binary", "Write it to a file with -o, or to a pipe.")


def encode_all(request: Request, writer: IdWriter) -> bool:
    """Every input, or every record of it, to the writer; whether -n cut any of them."""
    truncated = False
    for source in request.inputs:
        if request.options["records"]:
            truncated |= encode_records(request, source, writer)
        else:
            truncated |= encode_one(request, source, writer)
    return truncated


def is_whole(request: Request, source: streams.Input | records.Record) -> bool:
    """Whether a text is asked for what a stream of its chunks does not tell: a template, a pair, places."""
    has_pair = isinstance(source, records.Record) and "text_pair" in (source.members or ())
    return bool(request.options["add_special_tokens"] or request.options["offsets"] or has_pair)


def encode_one(request: Request, source: streams.Input | records.Record, writer: IdWriter) -> bool:
    """One input or record; whether -n cut it."""
    encode, truncated = request.encoding.encode_part, False
    writer.begin()
    if request.encoding.is_pipeline and is_whole(request, source):
        from tokcli.cli.whole_texts import encode_whole

        truncated = encode_whole(request, source, writer)
        writer.end()
        return truncated
    with streams.naming(source.shown):
        if request.options["limit"] is not None or writer.is_in_order:
            for ids, truncated in limited(request, map(encode, request.parts(source))):  # noqa: B007
                writer.add(writer.render(ids), len(ids))
        else:
            for rendered, count in request.shared_parts(lambda part: rendered_ids(writer, encode(part)), source):
                writer.add(rendered, count)
    writer.end()
    return truncated


def rendered_ids(writer: IdWriter, ids: memoryview) -> tuple[Buffer, int]:
    """Ids as they are written, and how many they are."""
    return writer.render(ids), len(ids)


def limited(request: Request, buffers: Iterator[memoryview]) -> Iterator[tuple[memoryview, bool]]:
    """(ids, whether ids were left out after them), up to -n ids in all."""
    left = request.options["limit"]
    for ids in buffers:
        if left is not None and len(ids) > left:
            yield ids[:left], True
            return
        if left is not None:
            left -= len(ids)
        yield ids, False


def encode_records(request: Request, source: streams.Input, writer: IdWriter) -> bool:
    """The records of an input, many at once where that can be; whether -n cut any."""
    encoding, special, truncated = request.encoding, request.allowed | request.refused, False
    asks_whole = encoding.is_pipeline and (
        request.options["add_special_tokens"] or request.options["records"] == "jsonl"
    )

    def work(batch: records.Batch) -> tuple[Buffer, bool] | None:
        if not isinstance(writer, TextWriter) or writer.is_in_order or asks_whole:
            return None
        made = encoding.encode_records(batch.data, batch.ends, batch.separator_size, special)
        return made and writer.render_records(*made, request.options["limit"])

    for batch, made in records.shared_batches(request, source, work):
        if made is not None:
            writer.output.write(made[0])
            truncated |= made[1]
        else:
            for record in batch.records():
                truncated |= encode_one(request, record, writer)
        batch.finish(writer.output)
    return truncated
