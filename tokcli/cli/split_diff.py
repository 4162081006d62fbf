"""`split --diff ENCODING|PATTERN`: only the parts of the text that the two cut differently, side by side."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from itertools import tee
from typing import TYPE_CHECKING, Any, NamedTuple

from tokcli.cli import pager, records, screen, streams
from tokcli.cli.options import Request
from tokcli.cli.split_table import SMALL_BLOCK, json_text
from tokcli.engine.piece_diff import Region, Totals, regions
from tokcli.engine.pieces import ChunkPieces, Piece
from tokcli.engine.pretokenizer_parts import single_pattern
from tokcli.errors import TokcliError

if TYPE_CHECKING:
    from tokcli.render.console import Color

_NAME = r"[\w.-]+"  # no pattern is made of such characters alone: it would leave text out
TSV = ("region", "offset", "bytes", "side", "alternative", "text", "tokens")


def write(request: Request, output: streams.Output) -> None:
    """Side by side on a terminal, a row a piece for a pipe, or a JSON object an input."""
    right = other_side(request)
    sides = Side(request, not request.encoding.is_pipeline), right
    _ = right.request.encoding, right.request.allowed
    as_rows = not (output.is_terminal or screen.wants_color(output, request.options["color"]))
    if as_rows and not request.options["as_json"]:
        output.write(("\t".join(TSV) + "\n").encode())
    number = 0
    for source in request.inputs:
        totals = Totals()
        with streams.naming(source.shown):
            found = differing(sides, source, totals)
            if request.options["as_json"]:
                _write_json(sides, found, totals, output)
            elif as_rows:
                for region in found:
                    number += 1
                    _write_rows(number, region, sides, output)
                request.note(f"{source.shown}: {_summary(totals)}")
            else:
                with pager.paged(output, wanted=not request.options["watch"]) as shown:
                    _show(sides, request.options["color"], found, totals, shown)


class Side(NamedTuple):
    """What cuts on one side, and whether its vocabulary says how many tokens a piece has."""

    request: Request
    counts: bool

    @property
    def title(self) -> str:
        """Its name: that of the encoding, or the pattern."""
        return self.request.options["pattern"] or self.request.encoding.name

    def tokens_of(self, pieces: Sequence[Piece], count: int) -> int | None:
        """How many tokens all `count` pieces of a region have; None where that is not known of the pieces alone."""
        if not self.counts or len(pieces) < count:
            return None
        try:
            return sum(len(self.request.encoding.piece_tokens(piece.data)) for piece in pieces)
        except TokcliError:  # a byte that the vocabulary lacks
            return None


Sides = tuple[Side, Side]


def other_side(request: Request) -> Side:
    """The same request for the encoding or the pattern on the right."""
    named = request.options["diff"]
    changed = {**request.options, "model": None, "pattern": None, "pattern_file": None}
    if re.fullmatch(_NAME, named) or os.path.lexists(named):
        made = Request(changed | {"encoding": named, "allow_special": ()})
        return Side(made, not made.encoding.is_pipeline)
    # a tokenizer that is no encoding takes no pattern; any vocabulary does, for only its pattern is asked
    is_own = not request.encoding.is_pipeline
    encoding = request.options["encoding"] if is_own else None
    if request.options["model"] is not None:
        changed["model"], encoding = request.options["model"], None
    return Side(Request(changed | {"encoding": encoding, "pattern": named}), is_own)


def differing(sides: Sides, source: streams.Input, totals: Totals) -> Iterator[Region]:
    """The regions of one input; both sides read it at once, so it is read only once."""
    left_blocks, right_blocks = tee(source.blocks(SMALL_BLOCK))
    left = _pieces(sides[0].request, left_blocks)
    right = _naming(sides[1].request.options["diff"], _pieces(sides[1].request, right_blocks))
    return regions(left, right, totals)


def _pieces(request: Request, blocks: Iterator[bytes]) -> Iterator[ChunkPieces]:
    encoding = request.encoding
    pattern = single_pattern(encoding)
    chunks = encoding.read_chunks(blocks, errors=request.errors, allowed=request.allowed, refused=request.refused)
    return (ChunkPieces(encoding, pattern, chunk) for chunk in chunks)


def _naming(shown: str, pieces: Iterator[ChunkPieces]) -> Iterator[ChunkPieces]:
    with streams.naming(f"--diff {shown if len(shown) <= 40 else shown[:37] + '...'}"):
        yield from pieces


def _summary(totals: Totals) -> str:
    from tokcli.render.split_diff import summary

    return summary(totals)


def _show(sides: Sides, color: Color, found: Iterator[Region], totals: Totals, output: pager.Screen) -> None:
    from rich.text import Text

    from tokcli.render import split_diff

    left, right = sides
    screen.show(output, color, split_diff.header(left.title, right.title), wrap=True)
    for region in found:
        tokens = left.tokens_of(region.left, region.left_count), right.tokens_of(region.right, region.right_count)
        screen.show(output, color, split_diff.region_lines(region, *tokens), wrap=True)
    screen.show(output, color, Text(_summary(totals)), wrap=True)


def _write_rows(number: int, region: Region, sides: Sides, output: streams.Output) -> None:
    from tokcli.render.visible import escape

    for side, of, pieces in zip(("left", "right"), sides, (region.left, region.right), strict=True):
        for piece in pieces:
            place = (str(number), str(piece.offset), str(len(piece.data)), side, piece.alternative)
            tokens = of.tokens_of((piece,), 1)
            output.write(("\t".join((*place, escape(piece.data), str(tokens or "-"))) + "\n").encode())


def _write_json(sides: Sides, found: Iterator[Region], totals: Totals, output: streams.Output) -> None:
    """Members: left and right (names), regions, and then the totals."""
    head = records.dump({"left": sides[0].title, "right": sides[1].title})
    output.write(head[:-1].encode() + b', "regions": [')
    between = b""
    for region in found:
        output.write(between + records.dump(_json_region(region, sides)).encode())
        between = b", "
    tail: dict[str, Any] = {
        "differing_regions": totals.regions,
        "differing_bytes": totals.differing_bytes,
        "bytes": totals.bytes,
        "left_pieces": totals.left_pieces,
        "right_pieces": totals.right_pieces,
    }
    output.write(b"], " + records.dump(tail)[1:].encode() + b"\n")


def _json_region(region: Region, sides: Sides) -> dict[str, Any]:
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
        "left_tokens": sides[0].tokens_of(region.left, region.left_count),
        "right_tokens": sides[1].tokens_of(region.right, region.right_count),
    }
