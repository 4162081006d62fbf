"""`tokcli split`: the pieces that the pattern cuts a text into, and which of its alternatives made each."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import zip_longest
from typing import TYPE_CHECKING, Any

import click

from tokcli.cli import options, records, streams
from tokcli.cli.options import Request
from tokcli.engine.stream import placed
from tokcli.errors import InputError

if TYPE_CHECKING:
    from tokcli.engine.stream import Chunk
    from tokcli.render.tables import SplitRow


@click.command(cls=options.Command, name="split")
@options.takes_files
@options.takes_encoding
@options.takes_text("text")
@options.takes_records
@click.option("--table", is_flag=True, help="A table: # bytes chars alternative text tokens.")
@options.takes_html
@options.takes_output
@options.common
def command(**given: Any) -> None:
    """Split FILEs, or standard input, by the encoding's pattern: a piece a line, with \\n, \\t, \\xNN for what is not
    printable.

    \b
      tokcli split -t "it's 2024"
      tokcli split --table -e cl100k_base prompt.txt
      tokcli split --pattern '\\w+|\\W+' prompt.txt
    """
    request = Request(given)
    if given["table"] and (given["records"] or given["as_json"]):
        raise InputError("--table is for people: no --records or --json")
    request.note_template()
    if given["html"]:
        from tokcli.cli import pages

        pages.write_pieces(request)
        return
    with request.open_output() as output:
        if given["table"]:
            write_table(request, output)
        else:
            for source in request.inputs:
                split_input(request, source, output)
        output.flush()


def split_input(request: Request, source: streams.Input, output: streams.Output) -> None:
    """An input, or the records of one."""
    if not request.options["records"]:
        split_one(request, source, output)
        return
    for record in records.read_records(source, request.options["records"], request.field):
        split_one(request, record, output)


def split_one(request: Request, source: streams.Input | records.Record, output: streams.Output) -> None:
    """The pieces of an input or a record: a JSON object, or a line each (of a record: all on one line, with tabs)."""
    from tokcli.render.visible import escape

    as_json, of_record = request.options["as_json"], bool(request.options["records"])
    between = b", " if as_json else b"\t" if of_record else b"\n"
    is_first = True
    output.write(b'{"pieces": [' if as_json else b"")
    with streams.naming(source.shown):
        for chunk in request.chunks(source):
            pieces = request.encoding.split_chunk(chunk)
            if not pieces:
                continue
            shown = (records.dump(p.decode("utf-8", "surrogateescape")) if as_json else escape(p) for p in pieces)
            output.write((b"" if is_first else between) + between.decode().join(shown).encode())
            is_first = False
    if as_json:
        output.write(b"]}\n")
    elif of_record:
        output.write(records.SEPARATOR[request.options["records"]])
    elif not is_first:
        output.write(b"\n")


def rows(request: Request) -> Iterator[SplitRow]:
    """A row of the table for each piece of the inputs."""
    from tokcli.render.tables import SplitRow

    encoding, number = request.encoding, 0
    for source in request.inputs:
        with streams.naming(source.shown):
            for chunk in request.chunks(source):
                for piece, alternative in with_alternatives(request, chunk):
                    ids = encoding.encode_chunk(chunk) if chunk.special else encoding._encode_single_piece(piece)
                    yield SplitRow(number, piece, f"a{alternative}" if alternative else "-", tuple(ids))
                    number += 1


def with_alternatives(request: Request, chunk: Chunk) -> Iterator[tuple[bytes, int | None]]:
    """The pieces of a chunk, each with the number of the alternative that made it; None where there is none."""
    pieces = request.encoding.split_chunk(chunk)
    made: list[int | None] = []
    if not chunk.special:
        found = placed(lambda text: list(request.encoding.pretokenizer.split_with_alternatives(text)), chunk)
        whole = len(pieces) - bool(chunk.tail)  # the last piece ends in bytes that no alternative matched
        if [piece.encode() for piece, _ in found[:whole]] == pieces[:whole]:  # unless the pattern looked further back
            made = [alternative for _, alternative in found[:whole]]
    yield from zip_longest(pieces, made)


def write_table(request: Request, output: streams.Output) -> None:
    """The table, laid out for a terminal, or tab-separated for a pipe; on a terminal the pattern stands above it."""
    from tokcli.render import tables

    if not output.is_terminal:
        for line in tables.tsv(tables.SPLIT_COLUMNS, rows(request)):
            output.write(line.encode() + b"\n")
        return
    from tokcli.cli import screen
    from tokcli.render.visible import visible

    for number, alternative in enumerate(request.encoding.pretokenizer.alternatives, 1):
        output.write(f"a{number}  {visible(alternative)}\n".encode())
    screen.show(output, request.options["color"], tables.split_table(rows(request)), wrap=True)
