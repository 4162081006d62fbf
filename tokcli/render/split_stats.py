"""What a pattern makes of a text, in numbers: lines for people, and rows for pipes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from tokcli.engine.piece_stats import PieceStats
from tokcli.render.visible import escape, visible, visible_bytes

if TYPE_CHECKING:
    from rich.text import Text

MOST_FREQUENT = 20  # pieces of several tokens that are named


def stats_lines(stats: PieceStats, alternatives: Sequence[str]) -> Iterator[Text]:
    """Totals, hits, what was never hit, the longest pieces, and those of several tokens."""
    from rich.text import Text  # rows need none of it

    from tokcli.render.split_table import style_of
    from tokcli.render.split_why import shorten

    yield Text(f"{stats.size:,} bytes, {stats.pieces:,} pieces, {stats.tokens:,} tokens")
    if not stats.pieces:
        return
    yield Text(f"{stats.size / stats.pieces:.2f} bytes and {stats.tokens / stats.pieces:.2f} tokens a piece")
    if alternatives:
        yield Text("")
        yield Text(f"{'':4}  {'hits':>11}  {'share':>7}  {'bytes':>13}  alternative", "bold")
    for number, source in enumerate(alternatives, 1):
        yield _hits(stats, f"a{number}", source)
    if stats.hits["-"]:
        yield _hits(stats, "-", "not by one alternative: a special token, or the pattern is not all that cuts")
    if dead := [f"a{number}" for number in range(1, len(alternatives) + 1) if not stats.hits[f"a{number}"]]:
        yield Text(f"never hit here: {', '.join(dead)}")
    yield Text("")
    yield Text("longest pieces", "bold")
    for size, piece in zip(stats.longest_size(), stats.longest, strict=True):
        line = Text(f"  {size:>10,} byte{'s' if size > 1 else ' '} at byte {piece.offset}  ")
        line.append(shorten(visible_bytes(piece.data, spaces=True)), style_of(piece.alternative))
        yield line
    yield Text("")
    share = 100 * stats.split_pieces / stats.pieces
    about = f" (counts may be too low by {stats.lost})" if stats.is_approximate else ""
    yield Text(
        f"pieces of several tokens: {stats.split_pieces:,} ({share:.1f} %), {stats.split_tokens:,} tokens", "bold"
    )
    if stats.split:
        yield Text(f"  {'times':>10}  {'tokens':>6}  text{about}")
    for (piece_data, tokens), times in stats.split.most_common(MOST_FREQUENT):
        yield Text(f"  {times:>10,}  {tokens:>6}  {shorten(visible_bytes(piece_data, spaces=True))}")


def _hits(stats: PieceStats, name: str, source: str) -> Text:
    from rich.text import Text

    from tokcli.render.split_table import style_of
    from tokcli.render.split_why import shorten

    hits = stats.hits[name]
    line = Text()
    line.append(name, style_of(name))
    numbers = f"{hits:>11,}  {100 * hits / stats.pieces:>5.1f} %  {stats.hit_bytes[name]:>13,}"
    line.append(" " * (4 - len(name)) + f"  {numbers}  ")
    line.append(shorten(visible(source)), style_of(name))
    return line


def stats_rows(stats: PieceStats, alternatives: Sequence[str]) -> Iterator[str]:
    """The same as tab-separated values; the first says what a row is, the others are named in its header."""
    yield "total\tbytes\tpieces\ttokens"
    yield f"total\t{stats.size}\t{stats.pieces}\t{stats.tokens}"
    yield "alternative\tname\thits\tbytes\tpattern"
    for number, source in enumerate(alternatives, 1):
        name = f"a{number}"
        yield f"alternative\t{name}\t{stats.hits[name]}\t{stats.hit_bytes[name]}\t{escape(source)}"
    yield "longest\toffset\tbytes\talternative\ttext"
    for size, piece in zip(stats.longest_size(), stats.longest, strict=True):
        yield f"longest\t{piece.offset}\t{size}\t{piece.alternative}\t{escape(piece.data)}"
    yield "several\ttimes\ttokens\ttext"
    for (data, tokens), times in stats.split.most_common(MOST_FREQUENT):
        yield f"several\t{times}\t{tokens}\t{escape(data)}"
