"""`split --table`: a row for each piece, with the alternative that made it and the tokens it becomes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from tokcli.cli import pager, records, screen, streams
from tokcli.cli.options import Request
from tokcli.engine.pieces import read_pieces
from tokcli.engine.pretokenizer_parts import described, single_pattern

if TYPE_CHECKING:
    from tokcli.engine.stream import Chunk
    from tokcli.render.split_table import SplitRow

SMALL_BLOCK = 1 << 15  # bytes read at a time, for the first rows to be there at once


def rows(request: Request, sources: Iterable[streams.Input] | None = None) -> Iterator[SplitRow]:
    """A row of the table for each piece of the inputs (of all, or of those given)."""
    from tokcli.render.split_table import SplitRow

    encoding, pattern, number = request.encoding, single_pattern(request.encoding), 0
    for source in request.inputs if sources is None else sources:
        with streams.naming(source.shown):
            for chunk in small_chunks(request, source):
                for piece in read_pieces(encoding, pattern, [chunk]):
                    whole = chunk.special or chunk.tail
                    ids = encoding.encode_chunk(chunk) if whole else encoding.piece_tokens(piece.data)
                    yield SplitRow(number, piece.data, piece.alternative, tuple(ids), piece.offset)
                    number += 1


def small_chunks(request: Request, source: streams.Input) -> Iterator[Chunk]:
    """The chunks of an input, as small as they come."""
    return request.encoding.read_chunks(
        source.blocks(SMALL_BLOCK), errors=request.errors, allowed=request.allowed, refused=request.refused
    )


def write(request: Request, output: streams.Output) -> None:
    """The table: laid out for a terminal, the pattern above it; tab-separated for a pipe; or JSON."""
    if request.options["as_json"]:
        for source in request.inputs:
            write_json(request, source, output)
    elif output.is_terminal or screen.wants_color(output, request.options["color"]):
        with pager.paged(output, wanted=not request.options["watch"]) as shown:
            for line in lines(request, output):
                shown.write(f"{line}\n".encode())
    else:
        from tokcli.render import split_table, tables

        for line in tables.tsv(split_table.SPLIT_COLUMNS, rows(request)):
            output.write(f"{line}\n".encode())


def lines(request: Request, output: streams.Output) -> Iterator[str]:
    """What a terminal shows: the pattern, and the table under it."""
    from tokcli.render import split_table

    paint = split_table.Painter(screen.colours(output, request.options["color"]))
    yield from pattern_lines(request, paint)
    yield ""
    yield from split_table.table_lines(rows(request), screen.width(), paint)


def pattern_lines(request: Request, paint: Any) -> Iterator[str]:
    """The pattern with its colours; of a tokenizer without one, the names of its parts."""
    from tokcli.render import split_table
    from tokcli.render.visible import visible

    pattern = single_pattern(request.encoding)
    if pattern is not None:
        yield from split_table.pattern_lines(pattern.alternatives, paint)
    else:
        yield from map(visible, described(request.encoding))


def write_json(request: Request, source: streams.Input, output: streams.Output) -> None:
    """An object: pattern (null where there is no single one), alternatives and rows."""
    pattern = single_pattern(request.encoding)
    head = {
        "pattern": pattern.pat_str if pattern else None,
        "alternatives": [
            {"name": f"a{number}", "pattern": text}
            for number, text in enumerate(pattern.alternatives if pattern else [], 1)
        ],
    }
    output.write(records.dump(head)[:-1].encode() + b', "rows": [')
    between = b""
    for row in rows(request, [source]):
        output.write(between + records.dump(json_row(row)).encode())
        between = b", "
    output.write(b"]}\n")


def json_row(row: SplitRow) -> dict[str, Any]:
    """The members of a row; `bytes_hex` instead of `text` for a piece that is not UTF-8."""
    return {
        "number": row.number,
        "offset": row.offset,
        "bytes": len(row.piece),
        "chars": len(row.piece.decode("utf-8", "replace")),
        "alternative": None if row.alternative == "-" else row.alternative,
        **json_text(row.piece),
        "tokens": list(row.tokens),
    }


def json_text(data: bytes) -> dict[str, str]:
    """Bytes as a member `text`, or `bytes_hex` where they are not UTF-8."""
    try:
        return {"text": data.decode()}
    except UnicodeDecodeError:
        return {"bytes_hex": data.hex()}
