"""The statistics of the pieces of a text as lines for people."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.text import Text

from tokcli.analysis.pieces.piece_stats import PieceStats
from tokcli.render.colours import style_of
from tokcli.render.numbers import counted, grouped, percent
from tokcli.render.split.excerpts import shorten
from tokcli.render.tables import MOST_FREQUENT
from tokcli.render.tokens import shortened
from tokcli.render.visible import visible, visible_bytes

LEAST_TEXT = 10  # screen cells of a pattern or a piece, however narrow the screen is
_HEAD = "bold"
_ELSEWHERE = "no single alternative: a special token, or the pattern alone does not cut the text"


def stats_lines(stats: PieceStats, alternatives: Sequence[str], width: int = 80) -> Iterator[Text]:
    """Yield the totals, the hits of each alternative, the longest pieces, and the frequent ones of several tokens.

    On a screen of some `width`, patterns and pieces are shortened so that they fit.
    """
    yield Text(f"{counted(stats.size, 'byte')}, {counted(stats.pieces, 'piece')}, {counted(stats.tokens, 'token')}")
    if not stats.pieces:
        return
    yield Text(f"{stats.size / stats.pieces:.2f} bytes and {stats.tokens / stats.pieces:.2f} tokens per piece")
    yield from _alternatives(stats, alternatives, width)
    yield Text("")
    yield Text("longest pieces", _HEAD)
    sizes = [
        f"  {grouped(size)} byte{'s' if size > 1 else ' '} at byte {piece.offset}" for size, piece in stats.longest
    ]
    for where, (_, piece) in zip(_aligned(sizes), stats.longest, strict=True):
        data, style = visible_bytes(piece.data, spaces=True), style_of(piece.alternative)
        yield Text.assemble(f"{where}  ", (_fitting(data, width - len(where) - 2), style))
    yield Text("")
    yield from _of_several_tokens(stats, width)


def _aligned(texts: Sequence[str]) -> list[str]:
    """Return texts that begin with a number, with the numbers aligned, and all as long as the longest."""
    digits = max((len(text.split()[0]) for text in texts), default=0)
    made = [f"{' ' * (digits - len(text.split()[0]))}{text}" for text in texts]
    return [text.ljust(max(map(len, made))) for text in made]


def _fitting(text: str, room: int) -> str:
    """Return a text shortened to so many screen cells, but at least to LEAST_TEXT."""
    return shortened(shorten(text), max(room, LEAST_TEXT))


def _alternatives(stats: PieceStats, alternatives: Sequence[str], width: int) -> Iterator[Text]:
    """Yield a table of the hits of each alternative, and which were never hit."""
    rows = [(f"a{number}", source) for number, source in enumerate(alternatives, 1)]
    rows += [("-", _ELSEWHERE)] if stats.hits["-"] else []
    numbers = [(grouped(stats.hits[name]), percent(stats.hits[name], stats.pieces), grouped(stats.hit_bytes[name]))
               for name, _ in rows]  # fmt: skip
    numbers.insert(0, ("hits", "share", "bytes"))
    widths = [max(map(len, column)) for column in zip(*numbers, strict=True)]
    head, *cells = ("  ".join(f"{cell:>{size}}" for cell, size in zip(row, widths, strict=True)) for row in numbers)
    names = max((len(name) for name, _ in rows), default=0)
    if alternatives:
        yield Text("")
        yield Text(f"{' ' * names}  {head}  alternative", _HEAD)
    for (name, source), shown in zip(rows, cells, strict=True):
        style, blank = style_of(name), " " * (names - len(name))
        pattern = _fitting(visible(source), width - names - len(shown) - 4)
        yield Text.assemble((name, style), f"{blank}  {shown}  ", (pattern, style))
    if dead := [f"a{number}" for number in range(1, len(alternatives) + 1) if not stats.hits[f"a{number}"]]:
        yield Text(f"never hit in this text: {', '.join(dead)}")


def _of_several_tokens(stats: PieceStats, width: int) -> Iterator[Text]:
    """Yield how many pieces have several tokens, and a table of the most frequent of them."""
    share = percent(stats.split_pieces, stats.pieces)
    about = f" (each count may be too low, by {grouped(stats.lost)} at most)" if stats.is_approximate else ""
    count = grouped(stats.split_pieces)
    yield Text(f"pieces of several tokens: {count} ({share}), {counted(stats.split_tokens, 'token')}", _HEAD)
    if stats.split:
        yield Text(f"  {'times':>10}  {'tokens':>6}  text{about}")
    for (data, tokens), times in stats.split.most_common(MOST_FREQUENT):
        shown = _fitting(visible_bytes(data, spaces=True), width - 22)
        yield Text(f"  {grouped(times):>10}  {grouped(tokens):>6}  {shown}")
