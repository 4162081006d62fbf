"""The table under a comparison on a screen: how many tokens each encoding makes of a text."""

from __future__ import annotations

from collections.abc import Sequence

from rich.cells import cell_len
from rich.table import Table

from tokcli.render.numbers import percent
from tokcli.render.screen_table import table_for_screen
from tokcli.render.stacks.comparison import EncodingTotal, labels
from tokcli.render.tables import Column

_LEAST_COLUMNS = 2  # the name and the tokens are there on any screen


def totals_table(totals: Sequence[EncodingTotal], width: int) -> Table:
    """Return the table for a screen of `width` cells; on a narrow one, columns after the tokens are left out."""
    names = dict(zip([row.name for row in totals], labels([row.name for row in totals], width), strict=True))
    columns: list[Column[EncodingTotal]] = [
        Column("encoding", lambda row: names[row.name].rstrip(" ")),
        Column("tokens", lambda row: row.tokens, "right", groups=True),
        Column("bytes/token", lambda row: row.bytes_per_token, "right"),
        Column("difference", _difference, "right"),
    ]

    def needed() -> int:
        cells = ([len(c.header), *(cell_len(str(c.cell(row))) for row in totals)] for c in columns)
        return sum(max(widths) + 2 for widths in cells)

    while len(columns) > _LEAST_COLUMNS and needed() > width:
        columns.pop(_LEAST_COLUMNS)
    return table_for_screen(columns, totals)


def _difference(row: EncodingTotal) -> str:
    """Return the difference for people, such as `+2, +12.5%`."""
    if not row.more:
        return "0"
    return f"{row.more:+,}" + (f", {percent(row.more, row.first, signed=True)}" if row.first else "")
