"""Where two patterns cut a text differently, side by side, for people."""

from __future__ import annotations

from collections.abc import Sequence

from rich.table import Table
from rich.text import Text

from tokcli.engine.piece_diff import CONTEXT, Region, Totals
from tokcli.engine.pieces import Piece
from tokcli.render.split_table import style_of
from tokcli.render.visible import visible, visible_bytes

_BETWEEN = " │ "
OFFSET_WIDTH = 9
SHOWN_BYTES = 64  # of a region, between the marks


def grid(first: Text, left: Text, right: Text) -> Table:
    """A row of three columns, the last two as wide as each other."""
    table = Table.grid(padding=(0, 2), expand=True)
    table.add_column(width=OFFSET_WIDTH, justify="right")
    table.add_column(ratio=1, overflow="fold")
    table.add_column(ratio=1, overflow="fold")
    table.add_row(first, left, right)
    return table


def header(left: str, right: str) -> Table:
    """The names of both sides."""
    return grid(Text("byte", "bold"), Text(visible(left), "bold"), Text(visible(right), "bold"))


def region_lines(region: Region, left_tokens: int | None, right_tokens: int | None) -> Table:
    """The text around a region, and its pieces on both sides, with their tokens where those are known."""
    left = _pieces(region.left, region.left_count, left_tokens)
    right = _pieces(region.right, region.right_count, right_tokens)
    table = grid(Text(str(region.offset)), _context(region), Text())
    table.add_row(Text(), left, right)
    return table


def _context(region: Region) -> Text:
    """The region between two marks, and some of the text around it."""
    inner = b"".join(piece.data for piece in region.left)
    shown = visible_bytes(inner[:SHOWN_BYTES], spaces=True) + "…" * (region.size > SHOWN_BYTES)
    line = Text("…" * (len(region.before) == CONTEXT), "dim")
    line.append(visible(region.before, spaces=True))
    line.append(f"▶{shown}◀", "not dim bold")
    line.append(visible(region.after, spaces=True) + "…" * (len(region.after) == CONTEXT))
    return line


def _pieces(pieces: Sequence[Piece], count: int, tokens: int | None) -> Text:
    line = Text()
    for piece in pieces:
        line.append(_BETWEEN if line else "")
        line.append(piece.alternative, style_of(piece.alternative))
        line.append(" ")
        line.append(visible_bytes(piece.data, spaces=True), style_of(piece.alternative))
    if count > len(pieces):
        line.append(f"{_BETWEEN}and {count - len(pieces)} more")
    if tokens is not None:
        line.append(f"  {tokens} token{'s' * (tokens != 1)}", "dim")
    return line


def summary(totals: Totals) -> str:
    """One line with what was found.

    >>> summary(Totals(1, 16, 4, 5, 6))
    '1 region differs: 4 of 16 bytes (25.0 %); 5 pieces left, 6 right'
    """
    if not totals.regions:
        return f"No difference: {totals.left_pieces} piece{'s' * (totals.left_pieces != 1)} on both sides."
    share = 100 * totals.differing_bytes / totals.bytes
    differ = "region differs" if totals.regions == 1 else "regions differ"
    return (
        f"{totals.regions} {differ}: {totals.differing_bytes} of {totals.bytes} bytes ({share:.1f} %); "
        f"{totals.left_pieces} pieces left, {totals.right_pieces} right"
    )
