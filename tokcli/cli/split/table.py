"""`split --table`: a row for each piece, with the alternative that made it and the tokens it becomes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain, islice
from typing import TYPE_CHECKING, Any

from tokcli.analysis.pieces.piece_arrays import PieceArrays, read_pieces
from tokcli.analysis.pieces.pieces import ChunkPieces
from tokcli.cli import streams
from tokcli.cli.json_stream import JsonStream, text_member
from tokcli.cli.request import SMALL_BLOCK
from tokcli.cli.split.native_pieces import printed_rows
from tokcli.cli.split.split_options import SplitRequest
from tokcli.cli.terminal.colours import is_for_people
from tokcli.render.tables import SPLIT_COLUMNS, SplitRow, escaped_table

if TYPE_CHECKING:
    from types import ModuleType

Numbered = tuple[int, PieceArrays | ChunkPieces]  # the number of the first piece of a part, and the part


def rows(request: SplitRequest) -> Iterator[SplitRow]:
    """Return a row of the table for each piece of the inputs."""
    return chain.from_iterable(rows_of(first, pieces) for first, pieces in parts(request, request.texts))


def parts(request: SplitRequest, sources: Iterable[streams.Input]) -> Iterator[Numbered]:
    """Yield the pieces of inputs part by part, each part with the number of its first piece."""
    number = 0
    for source in sources:
        with streams.naming(source.shown):
            for pieces in read_pieces(
                request.encoding, request.watched(source.blocks(SMALL_BLOCK)), request.read_options
            ):
                yield number, pieces
                number += len(pieces)


def rows_of(first: int, pieces: PieceArrays | ChunkPieces) -> Iterator[SplitRow]:
    """Yield the rows of a part, numbered from `first`."""
    for number, (piece, ids) in enumerate(pieces.with_ids(), first):
        yield SplitRow(number, piece.data, piece.alternative, ids, piece.offset)


def write(request: SplitRequest, output: streams.Output) -> None:
    """Write the table: laid out for a terminal, under the pattern; tab-separated for a pipe; or as JSON."""
    if request.options.as_json:
        for source in request.texts:
            write_json(request, source, output)
    elif is_for_people(output, request.options.color):
        for_screens().show_table(request, output, rows(request))
    else:
        write_tsv(request, output)


def for_screens() -> ModuleType:
    """Return the module that shows tables and statistics on a screen: it imports rich, which a pipe does not need."""
    from tokcli.cli.split import on_screen

    return on_screen


def write_tsv(request: SplitRequest, output: streams.Output) -> None:
    """Write the headers and the rows of all inputs, tab-separated."""
    output.write(("\t".join(column.header for column in SPLIT_COLUMNS) + "\n").encode())
    for first, pieces in parts(request, request.texts):
        if isinstance(pieces, PieceArrays):
            output.write(printed_rows(first, pieces, is_json=False))
            continue
        for block in islice(escaped_table(SPLIT_COLUMNS, rows_of(first, pieces)), 1, None):
            output.write("".join(["\t".join(row) + "\n" for row in block]).encode())


def write_json(request: SplitRequest, source: streams.Input, output: streams.Output) -> None:
    """Write a JSON object for an input: pattern (null where no single one cuts the text), alternatives and rows."""
    pattern = request.encoding.tokenizer.pretokenizer
    alternatives = pattern.alternatives if pattern else []
    head = {
        "pattern": pattern.pat_str if pattern else None,
        "alternatives": [{"name": f"a{number}", "pattern": text} for number, text in enumerate(alternatives, 1)],
    }
    stream = JsonStream(output)
    with stream.object(**head), stream.array("rows"):
        for first, pieces in parts(request, [source]):
            if isinstance(pieces, PieceArrays):
                stream.values(printed_rows(first, pieces, is_json=True))
                continue
            for row in rows_of(first, pieces):
                stream.value(json_row(row))


def json_row(row: SplitRow) -> dict[str, Any]:
    """Return a row as JSON; `bytes_hex` instead of `text` for a piece that is not UTF-8."""
    return {
        "number": row.number,
        "offset": row.offset,
        "bytes": len(row.piece),
        "chars": len(row.piece.decode("utf-8", "replace")),
        "alternative": None if row.alternative == "-" else row.alternative,
        **text_member(row.piece),
        "tokens": list(row.tokens),
    }
