"""`split --diff ENCODING|PATTERN`: only the regions of the text that two patterns cut differently, side by side."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from itertools import tee
from typing import TYPE_CHECKING, Any, NamedTuple

from rich.text import Text

from tokcli.analysis.pieces.diff import Region, Totals, regions
from tokcli.analysis.pieces.pieces import ChunkPieces, Piece
from tokcli.cli import streams
from tokcli.cli.json_stream import JsonStream, text_member, text_of_name
from tokcli.cli.request import SMALL_BLOCK, TextRequest
from tokcli.cli.split.split_options import SplitRequest
from tokcli.cli.terminal import pager, screen
from tokcli.cli.terminal.colours import is_for_people
from tokcli.errors import TokcliError
from tokcli.registry.models.lookup import named_as, stands_for_a_model
from tokcli.render.split import diff as split_diff
from tokcli.render.visible import escape

if TYPE_CHECKING:
    from tokcli.render.console import Color

_NAME = r"[\w.-]+"  # a pattern of such characters alone would leave text out, so this is a name
TSV = ("region", "offset", "bytes", "side", "alternative", "text", "tokens")


def write(request: SplitRequest, output: streams.Output) -> None:
    """Write the regions side by side on a terminal, one row per piece for a pipe, or a JSON object for each input."""
    named = request.options.diff or ""
    sides = Side(request, has_counts(request)), other_side(request, named)
    _ = sides[1].request.encoding, sides[1].request.allowed  # their errors are no input's fault
    as_rows = not is_for_people(output, request.options.color)
    if as_rows and not request.options.as_json:
        output.write(("\t".join(TSV) + "\n").encode())
    number = 0
    for source in request.texts:
        totals = Totals()
        with streams.naming(source.shown):
            found = differing(sides, named, source, totals)
            if request.options.as_json:
                _write_json(sides, found, totals, output)
            elif as_rows:
                for region in found:
                    number += 1
                    _write_rows(number, region, sides, output)
                request.note(f"{source.shown}: {split_diff.summary(totals)}")
            else:
                with pager.paged(output, wanted=not request.options.watch) as shown:
                    _show(sides, request.options.color, found, totals, shown)


def has_counts(request: SplitRequest) -> bool:
    """Return whether a piece by itself tells how many tokens it has, as in an encoding of ranks and a pattern."""
    return not request.encoding.tokenizer.sees_whole_texts


class Side(NamedTuple):
    """The request that cuts the text on one side, and whether its encoding `has_counts`."""

    request: SplitRequest
    counts: bool

    @property
    def title(self) -> str:
        """The name of the side: its pattern, or its encoding."""
        asked = self.request.options
        return asked.pattern or asked.model or self.request.encoding.name

    def tokens_of(self, pieces: Sequence[Piece], count: int) -> int | None:
        """Return how many tokens the `count` pieces of a region have; None if some are missing or do not tell."""
        if not self.counts or len(pieces) < count:
            return None
        try:
            return sum(len(self.request.encoding.tokenizer.encode_piece(piece.data)) for piece in pieces)
        except TokcliError:  # a byte that the vocabulary lacks
            return None


Sides = tuple[Side, Side]


def other_side(request: SplitRequest, named: str) -> Side:
    """Return the right side: the same request for the encoding or the pattern `named` by --diff."""
    if re.fullmatch(_NAME, named) or os.path.lexists(named) or stands_for_a_model(named):
        made = TextRequest(request.options.replace(**named_as(named), pattern=None, allow_special=()))
        return Side(made, has_counts(made))
    # A tokenizer that is no encoding takes no pattern; the default encoding does, since only its pattern matters.
    if has_counts(request):
        return Side(TextRequest(request.options.replace(pattern=named)), True)
    return Side(TextRequest(request.options.replace(encoding=None, pattern=named)), False)


def differing(sides: Sides, named: str, source: streams.Input, totals: Totals) -> Iterator[Region]:
    """Return the regions of one input that the sides cut differently; the input is read once, for both sides."""
    left_blocks, right_blocks = tee(source.blocks(SMALL_BLOCK))
    left = _pieces(sides[0].request, left_blocks)
    return regions(left, _naming(named, _pieces(sides[1].request, right_blocks)), totals)


def _pieces(request: SplitRequest, blocks: Iterator[bytes]) -> Iterator[ChunkPieces]:
    encoding, tokenizer = request.encoding, request.encoding.tokenizer
    chunks = tokenizer.read_chunks(request.watched(blocks), request.read_options)
    return (ChunkPieces(encoding, tokenizer.pretokenizer, chunk) for chunk in chunks)


def _naming(shown: str, pieces: Iterator[ChunkPieces]) -> Iterator[ChunkPieces]:
    with streams.naming(f"--diff {shown if len(shown) <= 40 else shown[:37] + '...'}"):
        yield from pieces


def _show(sides: Sides, color: Color, found: Iterator[Region], totals: Totals, output: pager.Screen) -> None:
    left, right = sides
    screen.show(output, color, split_diff.header(left.title, right.title), wrap=True)
    for region in found:
        tokens = left.tokens_of(region.left, region.left_count), right.tokens_of(region.right, region.right_count)
        screen.show(output, color, split_diff.region_lines(region, *tokens), wrap=True)
    screen.show(output, color, Text(split_diff.summary(totals)), wrap=True)


def _write_rows(number: int, region: Region, sides: Sides, output: streams.Output) -> None:
    for side, of, pieces in zip(("left", "right"), sides, (region.left, region.right), strict=True):
        for piece in pieces:
            place = (str(number), str(piece.offset), str(len(piece.data)), side, piece.alternative)
            tokens = of.tokens_of((piece,), 1)
            output.write(("\t".join((*place, escape(piece.data), str(tokens or "-"))) + "\n").encode())


def _write_json(sides: Sides, found: Iterator[Region], totals: Totals, output: streams.Output) -> None:
    """Write a JSON object for an input: left and right (names), regions, and then the totals."""
    stream = JsonStream(output)
    with stream.object(left=text_of_name(sides[0].title), right=text_of_name(sides[1].title)):
        with stream.array("regions"):
            for region in found:
                stream.value(_json_region(region, sides))
        stream.members(
            differing_regions=totals.regions,
            differing_bytes=totals.differing_bytes,
            bytes=totals.bytes,
            left_pieces=totals.left_pieces,
            right_pieces=totals.right_pieces,
        )


def _json_region(region: Region, sides: Sides) -> dict[str, Any]:
    def side(pieces: Any) -> list[dict[str, Any]]:
        return [
            {"offset": p.offset, "alternative": None if p.alternative == "-" else p.alternative, **text_member(p.data)}
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
