"""The table of `split` on a terminal: the pattern, and a row for each piece, printed as the pieces come.

The first rows decide how wide the columns are, so that even an endless text appears at once; longer cells are folded.
Colours tell alternatives apart. Where the pieces come from is left to the command.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, islice, zip_longest

from rich.cells import cell_len

from tokcli.render.colours import Painter
from tokcli.render.tables import SPLIT_COLUMNS, SplitRow
from tokcli.render.tokens import folded
from tokcli.render.visible import visible, visible_bytes

FIRST_ROWS = 200  # rows that decide the widths of the columns
_GAP = "  "
_LEAST = 8  # screen cells that a folded column keeps
_DIGITS = 6  # room for row numbers, at least, if the table goes on after the first rows
_COLOURED = frozenset({"alternative", "text"})


def pattern_lines(alternatives: Sequence[str], paint: Painter) -> Iterator[str]:
    """Yield the pattern, one alternative per line, each with its name and in its colour."""
    width = len(f"a{len(alternatives)}")
    for number, source in enumerate(alternatives, 1):
        name = f"a{number}"
        yield f"{paint(name, name)}{' ' * (width - len(name))}{_GAP}{paint(visible(source), name)}"


def table_lines(rows: Iterable[SplitRow], width: int, paint: Painter) -> Iterator[str]:
    """Yield the header and the rows, in lines of at most `width` screen cells (but of some 50 on narrower screens).

    >>> for line in table_lines([SplitRow(0, b" pay", "a2", (2777,))], 60, Painter(None)): print(line)
    #  bytes  chars  alternative  text  tokens
    ──────────────────────────────────────────
    0      4      4  a2           ·pay  2777
    """
    rows = iter(rows)
    first = list(islice(rows, FIRST_ROWS))
    cells = [_cells(row) for row in first]
    headers, widths = _layout(cells, width)
    yield _line(headers, widths, None, paint)
    yield "─" * (sum(widths) + len(_GAP) * (len(widths) - 1))
    for row, shown in chain(zip(first, cells, strict=True), ((row, _cells(row)) for row in rows)):
        folded = [
            (_folded(cell, size, column.header) if column.fold and cell_len(cell) > size else [cell])
            for cell, size, column in zip(shown, widths, SPLIT_COLUMNS, strict=True)
        ]
        for line in zip_longest(*folded, fillvalue=""):
            yield _line(line, widths, row.alternative, paint)


def _layout(cells: Sequence[Sequence[str]], width: int) -> tuple[list[str], list[int]]:
    """Return the headers and the widths of the columns for the first rows on a screen of `width` cells."""
    headers = [column.header for column in SPLIT_COLUMNS]
    widths = [max(map(cell_len, column)) for column in zip(headers, *cells, strict=True)]
    if len(cells) == FIRST_ROWS:  # more rows will come, with higher numbers
        widths[0] = max(widths[0], _DIGITS)
    room = width - len(_GAP) * (len(widths) - 1)
    _shrink(widths, room)
    if sum(widths) > room:  # a narrow screen: the longest header is not worth its width
        at = headers.index("alternative")
        headers[at] = "alt"
        widths[at] = max(map(cell_len, [headers[at], *(row[at] for row in cells)]))
        _shrink(widths, room)
    return headers, widths


def _cells(row: SplitRow) -> list[str]:
    """Return the visible cells of a row."""
    values = [column.cell(row) for column in SPLIT_COLUMNS]
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
        yield from folded(cell, size)


def _shrink(widths: list[int], room: int) -> None:
    """Make folded columns narrower, the wider ones first, until all columns fit into `room` or are at their least."""
    folded = sorted((i for i, column in enumerate(SPLIT_COLUMNS) if column.fold), key=lambda index: widths[index])
    left = room - sum(width for index, width in enumerate(widths) if index not in folded)
    for done, index in enumerate(folded):
        widths[index] = min(widths[index], max(left // (len(folded) - done), _LEAST))
        left -= widths[index]


def _line(cells: Sequence[str], widths: Sequence[int], alternative: str | None, paint: Painter) -> str:
    """Return one line of the table, with each cell padded to the width of its column."""
    shown = []
    for cell, width, column in zip(cells, widths, SPLIT_COLUMNS, strict=True):
        blank = " " * (width - cell_len(cell))
        painted = paint(cell, alternative) if alternative and column.header in _COLOURED else cell
        shown.append(blank + painted if column.justify == "right" else painted + blank)
    return _GAP.join(shown).rstrip(" ")
