"""The table of `split` on a terminal: the pattern, and a row for each piece, printed as the pieces come.

The first rows decide how wide the columns are, so that even an endless text appears at once; longer cells are folded.
Colours tell alternatives apart. Where the pieces come from is left to the command.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, islice, zip_longest
from typing import TypeAlias

from tokcli.render.colours import Painter
from tokcli.render.glyphs import cell_len
from tokcli.render.tables import SPLIT_COLUMNS, Column, SplitRow
from tokcli.render.tokens import folded, folded_between
from tokcli.render.visible import visible, visible_bytes

FIRST_ROWS = 200  # rows that decide the widths of the columns
_GAP = "  "
_LEAST = 8  # screen cells that a folded column keeps
_DIGITS = 6  # room for row numbers, at least, if the table goes on after the first rows
_COLOURED = frozenset({"alternative", "text"})
_SPARE = ("chars", "bytes", "#")  # columns that a narrow screen does without, in this order

_Columns: TypeAlias = Sequence[Column[SplitRow]]


def pattern_lines(alternatives: Sequence[str], paint: Painter, width: int | None = None) -> Iterator[str]:
    """Yield the pattern, one alternative per line, each with its name and in its colour.

    On a screen of some `width`, a long alternative goes on below its beginning.
    """
    wide = len(f"a{len(alternatives)}")
    for number, source in enumerate(alternatives, 1):
        name, shown = f"a{number}", visible(source)
        room = None if width is None else max(width - wide - len(_GAP), _LEAST)
        for at, part in enumerate([shown] if room is None else folded(shown, room)):
            label = " " * wide if at else paint(name, name) + " " * (wide - len(name))
            yield f"{label}{_GAP}{paint(part, name)}"


def table_lines(rows: Iterable[SplitRow], width: int, paint: Painter) -> Iterator[str]:
    """Yield the header and the rows, in lines of at most `width` screen cells (but of some 20 on narrower screens).

    On a narrow screen, some columns of numbers are left out.

    >>> for line in table_lines([SplitRow(0, b" pay", "a2", (2777,))], 60, Painter(None)): print(line)
    #  bytes  chars  alternative  text  tokens
    ──────────────────────────────────────────
    0      4      4  a2           ·pay  2777
    """
    rows = iter(rows)
    first = list(islice(rows, FIRST_ROWS))
    columns, headers, widths = _layout([_cells(SPLIT_COLUMNS, row) for row in first], width)
    yield _line(columns, headers, widths, None, paint)
    yield "─" * (sum(widths) + len(_GAP) * (len(widths) - 1))
    for row in chain(first, rows):
        folded = [
            (_folded(cell, size, column.header) if column.fold and cell_len(cell) > size else [cell])
            for cell, size, column in zip(_cells(columns, row), widths, columns, strict=True)
        ]
        for line in zip_longest(*folded, fillvalue=""):
            yield _line(columns, line, widths, row.alternative, paint)


def _layout(cells: Sequence[Sequence[str]], width: int) -> tuple[_Columns, list[str], list[int]]:
    """Return the columns for the first rows on a screen of `width` cells, their headers and their widths."""
    columns = list(SPLIT_COLUMNS)
    headers = [column.header for column in columns]
    widths = [max(map(cell_len, column)) for column in zip(headers, *cells, strict=True)]
    if len(cells) == FIRST_ROWS:  # more rows will come, with higher numbers
        widths[0] = max(widths[0], _DIGITS)
    if not _fits(columns, widths, width):  # a narrow screen: the longest header is not worth its width
        at = headers.index("alternative")
        headers[at] = "alt"
        widths[at] = max(map(cell_len, [headers[at], *(row[at] for row in cells)]))
    for spare in _SPARE:
        if not _fits(columns, widths, width):
            at = headers.index(spare)
            del columns[at], headers[at], widths[at]
    return columns, headers, _shrunk(columns, widths, width)


def _cells(columns: _Columns, row: SplitRow) -> list[str]:
    """Return the visible cells of a row."""
    values = [column.cell(row) for column in columns]
    return [visible_bytes(v, spaces=True) if isinstance(v, bytes) else visible(str(v)) for v in values]


def _folded(cell: str, size: int, header: str) -> Iterator[str]:
    """Yield the lines of a cell, at most `size` screen cells wide; no id is broken across two lines."""
    if header == "tokens":
        line = ""
        for number in cell.split(" "):
            if line and len(line) + 1 + len(number) > size:
                yield line
                line = number
            else:
                line = f"{line} {number}" if line else number
        yield line
    else:
        yield from folded_between(cell, size)


def _shrunk(columns: _Columns, widths: Sequence[int], width: int) -> list[int]:
    """Return the widths with those of folded columns made less, the wider first, down to their least if need be."""
    made = list(widths)
    folded = sorted((i for i, column in enumerate(columns) if column.fold), key=lambda index: widths[index])
    left = width - len(_GAP) * (len(made) - 1) - sum(size for i, size in enumerate(widths) if i not in folded)
    for done, index in enumerate(folded):
        made[index] = min(widths[index], max(left // (len(folded) - done), _LEAST))
        left -= made[index]
    return made


def _fits(columns: _Columns, widths: Sequence[int], width: int) -> bool:
    return sum(_shrunk(columns, widths, width)) + len(_GAP) * (len(widths) - 1) <= width


def _line(
    columns: _Columns, cells: Sequence[str], widths: Sequence[int], alternative: str | None, paint: Painter
) -> str:
    """Return one line of the table, with each cell padded to the width of its column."""
    shown = []
    for cell, width, column in zip(cells, widths, columns, strict=True):
        blank = " " * (width - cell_len(cell))
        painted = paint(cell, alternative) if alternative and column.header in _COLOURED else cell
        shown.append(blank + painted if column.justify == "right" else painted + blank)
    return _GAP.join(shown).rstrip(" ")
