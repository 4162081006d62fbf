"""`split --diff ENCODING|PATTERN`: only the parts of the text that the two cut differently, side by side."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from itertools import tee
from typing import TYPE_CHECKING, Any

from tokcli.cli import records, screen, streams
from tokcli.cli.options import Request
from tokcli.cli.split_table import SMALL_BLOCK, json_text
from tokcli.engine.piece_diff import Region, Totals, regions
from tokcli.engine.pieces import ChunkPieces
from tokcli.engine.pretokenizer_parts import single_pattern

if TYPE_CHECKING:
    from tokcli.engine.encoding import Encoding

_NAME = r"[\w.-]+"  # no pattern is made of such characters alone: it would leave text out
TSV = ("region", "offset", "bytes", "side", "alternative", "text")


def write(request: Request, output: streams.Output) -> None:
    """Side by side on a terminal, a row a piece for a pipe, or a JSON object an input."""
    other = other_request(request)
    _ = other.encoding, other.allowed
    as_rows = not (output.is_terminal or screen.wants_color(output, request.options["color"]))
    if as_rows and not request.options["as_json"]:
        output.write(("\t".join(TSV) + "\n").encode())
    number = 0
    for source in request.inputs:
        totals = Totals()
        with streams.naming(source.shown):
            found = differing(request, other, source, totals)
            if request.options["as_json"]:
                _write_json(request, other, found, totals, output)
            elif as_rows:
                for region in found:
                    number += 1
                    _write_rows(number, region, output)
                request.note(f"{source.shown}: {_summary(totals)}")
            else:
                _show(request, other, found, totals, output)


def other_request(request: Request) -> Request:
    """The same request for the encoding or the pattern on the right."""
    named = request.options["diff"]
    changed = {**request.options, "model": None, "pattern": None, "pattern_file": None}
    if re.fullmatch(_NAME, named) or os.path.lexists(named):
        return Request(changed | {"encoding": named, "allow_special": ()})
    # a tokenizer that is no encoding takes no pattern; any vocabulary does, for only its pattern is asked
    encoding = None if request.encoding.is_pipeline else request.options["encoding"]
    if request.options["model"] is not None:
        changed["model"], encoding = request.options["model"], None
    return Request(changed | {"encoding": encoding, "pattern": named})


def differing(request: Request, other: Request, source: streams.Input, totals: Totals) -> Iterator[Region]:
    """The regions of one input; both sides read it at once, so it is read only once."""
    left_blocks, right_blocks = tee(source.blocks(SMALL_BLOCK))
    left = _pieces(request, left_blocks)
    right = _naming(other.options["diff"], _pieces(other, right_blocks))
    return regions(left, right, totals)


def _pieces(request: Request, blocks: Iterator[bytes]) -> Iterator[ChunkPieces]:
    encoding = request.encoding
    pattern = single_pattern(encoding)
    chunks = encoding.read_chunks(blocks, errors=request.errors, allowed=request.allowed, refused=request.refused)
    return (ChunkPieces(encoding, pattern, chunk) for chunk in chunks)


def _naming(shown: str, pieces: Iterator[ChunkPieces]) -> Iterator[ChunkPieces]:
    with streams.naming(f"--diff {shown if len(shown) <= 40 else shown[:37] + '...'}"):
        yield from pieces


def _title(request: Request) -> str:
    encoding: Encoding = request.encoding
    return f"{request.options['pattern']}" if request.options["pattern"] else encoding.name


def _summary(totals: Totals) -> str:
    from tokcli.render.split_diff import summary

    return summary(totals)


def _show(request: Request, other: Request, found: Iterator[Region], totals: Totals, output: streams.Output) -> None:
    from rich.text import Text

    from tokcli.render import split_diff

    color = request.options["color"]
    screen.show(output, color, split_diff.header(_title(request), _title(other)), wrap=True)
    for region in found:
        screen.show(output, color, split_diff.region_lines(region), wrap=True)
    screen.show(output, color, Text(_summary(totals)), wrap=True)


def _write_rows(number: int, region: Region, output: streams.Output) -> None:
    from tokcli.render.visible import escape

    for side, pieces in (("left", region.left), ("right", region.right)):
        for piece in pieces:
            cells = (str(number), str(piece.offset), str(len(piece.data)), side, piece.alternative, escape(piece.data))
            output.write(("\t".join(cells) + "\n").encode())


def _write_json(
    request: Request, other: Request, found: Iterator[Region], totals: Totals, output: streams.Output
) -> None:
    """Members: left and right (names), regions, and then the totals."""
    head = records.dump({"left": _title(request), "right": _title(other)})
    output.write(head[:-1].encode() + b', "regions": [')
    between = b""
    for region in found:
        output.write(between + records.dump(_json_region(region)).encode())
        between = b", "
    tail: dict[str, Any] = {
        "differing_regions": totals.regions,
        "differing_bytes": totals.differing_bytes,
        "bytes": totals.bytes,
        "left_pieces": totals.left_pieces,
        "right_pieces": totals.right_pieces,
    }
    output.write(b"], " + records.dump(tail)[1:].encode() + b"\n")


def _json_region(region: Region) -> dict[str, Any]:
    def side(pieces: Any) -> list[dict[str, Any]]:
        return [
            {"offset": p.offset, "alternative": None if p.alternative == "-" else p.alternative, **json_text(p.data)}
            for p in pieces
        ]

    return {
        "offset": region.offset,
        "bytes": region.size,
        "left": side(region.left),
        "right": side(region.right),
        "left_count": region.left_count,
        "right_count": region.right_count,
    }
