"""The regions of a text that two patterns cut differently, side by side, in lines for people."""

from __future__ import annotations

from collections.abc import Sequence

from rich.table import Table
from rich.text import Text

from tokcli.analysis.pieces.diff import CONTEXT, Region, Totals
from tokcli.analysis.pieces.pieces import Piece
from tokcli.render.colours import style_of
from tokcli.render.numbers import counted, grouped, percent
from tokcli.render.visible import BOUNDARY, visible, visible_bytes

OFFSET_WIDTH = 9
SHOWN_BYTES = 64  # of a region, between the marks


def header(left: str, right: str) -> Table:
    """Return the first row: the names of both sides."""
    return _columns(Text("byte", "bold"), Text(visible(left), "bold"), Text(visible(right), "bold"))


def region_lines(region: Region, left_tokens: int | None, right_tokens: int | None) -> Table:
    """Return the rows of a region: its text, and the pieces of both sides, with their tokens if those are counted."""
    left = _pieces(region.left, region.left_count, left_tokens)
    right = _pieces(region.right, region.right_count, right_tokens)
    table = _columns(Text(str(region.offset)), _context(region), Text())
    table.add_row(Text(), left, right)
    return table


def _columns(first: Text, left: Text, right: Text) -> Table:
    """Return a row of three columns: an offset, and two sides of equal width."""
    table = Table.grid(padding=(0, 2), expand=True)
    table.add_column(width=OFFSET_WIDTH, justify="right")
    table.add_column(ratio=1, overflow="fold")
    table.add_column(ratio=1, overflow="fold")
    table.add_row(first, left, right)
    return table


def _context(region: Region) -> Text:
    """Return the text of a region between two marks, with some of the text before and after it."""
    inner = b"".join(piece.data for piece in region.left)
    shown = visible_bytes(inner[:SHOWN_BYTES], spaces=True) + "…" * (region.size > SHOWN_BYTES)
    line = Text("…" * (len(region.before) == CONTEXT))
    line.append(visible(region.before, spaces=True))
    line.append(f"▶{shown}◀", "bold")
    line.append(visible(region.after, spaces=True) + "…" * (len(region.after) == CONTEXT))
    return line


def _pieces(pieces: Sequence[Piece], count: int, tokens: int | None) -> Text:
    """Return the pieces of one side, each after the name of its alternative; `count` is how many there are in all."""
    line = Text()
    for piece in pieces:
        line.append(f" {BOUNDARY} " if line else "")
        line.append(piece.alternative, style_of(piece.alternative))
        line.append(" ")
        line.append(visible_bytes(piece.data, spaces=True), style_of(piece.alternative))
    if count > len(pieces):
        line.append(f" {BOUNDARY} and {grouped(count - len(pieces))} more")
    if tokens is not None:
        line.append(f"  {counted(tokens, 'token')}")
    return line


def summary(totals: Totals) -> str:
    """Return one line about all differences.

    >>> summary(Totals(1, 16, 4, 5, 6))
    '1 region differs: 4 of 16 bytes (25.0%); 5 pieces on the left, 6 on the right'
    """
    left = counted(totals.left_pieces, "piece")
    if not totals.regions:
        return f"No difference: {left} on both sides."
    return (
        f"{counted(totals.regions, 'region differs', 'regions differ')}: {grouped(totals.differing_bytes)} of "
        f"{counted(totals.bytes, 'byte')} ({percent(totals.differing_bytes, totals.bytes)}); "
        f"{left} on the left, {grouped(totals.right_pieces)} on the right"
    )
