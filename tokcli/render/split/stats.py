"""The statistics of the pieces of a text as lines for people."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.text import Text

from tokcli.analysis.pieces.piece_stats import PieceStats
from tokcli.render.colours import style_of
from tokcli.render.numbers import counted, grouped, percent
from tokcli.render.split.excerpts import shorten
from tokcli.render.tables import MOST_FREQUENT
from tokcli.render.visible import visible, visible_bytes

_HEAD = "bold"
_ELSEWHERE = "no single alternative: a special token, or the pattern alone does not cut the text"


def stats_lines(stats: PieceStats, alternatives: Sequence[str]) -> Iterator[Text]:
    """Yield the totals, the hits of each alternative, the longest pieces, and the frequent ones of several tokens."""
    yield Text(f"{counted(stats.size, 'byte')}, {counted(stats.pieces, 'piece')}, {counted(stats.tokens, 'token')}")
    if not stats.pieces:
        return
    yield Text(f"{stats.size / stats.pieces:.2f} bytes and {stats.tokens / stats.pieces:.2f} tokens per piece")
    yield from _alternatives(stats, alternatives)
    yield Text("")
    yield Text("longest pieces", _HEAD)
    for size, piece in stats.longest:
        where = f"  {grouped(size):>10} byte{'s' if size > 1 else ' '} at byte {piece.offset}  "
        yield Text.assemble(where, (shorten(visible_bytes(piece.data, spaces=True)), style_of(piece.alternative)))
    yield Text("")
    yield from _of_several_tokens(stats)


def _alternatives(stats: PieceStats, alternatives: Sequence[str]) -> Iterator[Text]:
    """Yield a table of the hits of each alternative, and which were never hit."""
    if alternatives:
        yield Text("")
        yield Text(f"{'':4}  {'hits':>11}  {'share':>6}  {'bytes':>13}  alternative", _HEAD)
    for number, source in enumerate(alternatives, 1):
        yield _hits(stats, f"a{number}", source)
    if stats.hits["-"]:
        yield _hits(stats, "-", _ELSEWHERE)
    if dead := [f"a{number}" for number in range(1, len(alternatives) + 1) if not stats.hits[f"a{number}"]]:
        yield Text(f"never hit in this text: {', '.join(dead)}")


def _hits(stats: PieceStats, name: str, source: str) -> Text:
    """Return the row of an alternative: its name, hits, share of all pieces, bytes, and its pattern."""
    hits = stats.hits[name]
    numbers = f"{grouped(hits):>11}  {percent(hits, stats.pieces):>6}  {grouped(stats.hit_bytes[name]):>13}"
    blank, style = " " * (4 - len(name)), style_of(name)
    return Text.assemble((name, style), f"{blank}  {numbers}  ", (shorten(visible(source)), style))


def _of_several_tokens(stats: PieceStats) -> Iterator[Text]:
    """Yield how many pieces have several tokens, and a table of the most frequent of them."""
    share = percent(stats.split_pieces, stats.pieces)
    about = f" (each count may be too low, by {grouped(stats.lost)} at most)" if stats.is_approximate else ""
    count = grouped(stats.split_pieces)
    yield Text(f"pieces of several tokens: {count} ({share}), {counted(stats.split_tokens, 'token')}", _HEAD)
    if stats.split:
        yield Text(f"  {'times':>10}  {'tokens':>6}  text{about}")
    for (data, tokens), times in stats.split.most_common(MOST_FREQUENT):
        yield Text(f"  {grouped(times):>10}  {grouped(tokens):>6}  {shorten(visible_bytes(data, spaces=True))}")
