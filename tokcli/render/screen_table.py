"""Tables for people, laid out by rich for a screen; it imports rich, so that only terminals pay for it."""

from __future__ import annotations

from collections.abc import Iterable

from rich import box
from rich.cells import cell_len
from rich.table import Table
from rich.text import Text

from tokcli.render.numbers import grouped
from tokcli.render.tables import CellValue, Column, RowType
from tokcli.render.visible import visible, visible_bytes

GAP = 3  # screen cells between two columns


def table_for_screen(columns: Iterable[Column[RowType]], rows: Iterable[RowType], width: int | None = None) -> Table:
    """Return a table with a cell for each row and column, all sanitized by `visible`; nothing in them is markup.

    In a table that must fit into `width` screen cells, spare columns are left out, until every folded column has its
    least width or no spare column is left.
    """
    made = [(column, [_shown(column, row) for row in rows]) for rows in [list(rows)] for column in columns]
    while width is not None and sum(map(_least_width, made)) > width and any(column.spare for column, _ in made):
        made.remove(max(made, key=lambda one: one[0].spare))
    fits = width is not None and sum(map(_least_width, made)) <= width
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for column, cells in made:
        table.add_column(
            Text(visible(column.header)), justify=column.justify, overflow="fold" if column.fold else "ellipsis",
            no_wrap=not column.fold, min_width=_least_width((column, cells)) - GAP if fits else None,
        )  # fmt: skip
    for row in zip(*(cells for _, cells in made), strict=True):
        table.add_row(*map(Text, row))
    return table


def _least_width(made: tuple[Column[RowType], list[str]]) -> int:
    """Return the screen cells that a column needs at least, with the gap before it."""
    column, cells = made
    widest = max(map(cell_len, [column.header, *cells]))
    return GAP + (min(column.least, widest) if column.fold else widest)


def _shown(column: Column[RowType], row: RowType) -> str:
    """Return a cell as people see it; bytes are the text of a piece or a token, so their spaces are shown as dots."""
    value: CellValue = column.cell(row)
    if isinstance(value, bytes):
        return visible_bytes(value, spaces=True)
    return grouped(value) if column.groups and isinstance(value, int) else visible(str(value))
