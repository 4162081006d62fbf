"""The table of `split`: a row for each piece, laid out while the pieces come, and the pattern above it.

The columns' widths are chosen by the first rows, so that a text of any length is on the screen at once; longer cells
are folded. Colours stand for alternatives; where the pieces come from is left to others.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain, islice, zip_longest

from rich.cells import cell_len, chop_cells
from rich.color import ColorSystem
from rich.style import Style

from tokcli.render.boundaries import BACKGROUNDS
from tokcli.render.tables import Column
from tokcli.render.visible import MARKS_PER_BASE, visible, visible_bytes

FIRST_ROWS = 200  # the widths are chosen by these
_GAP = "  "
_LEAST = 8  # cells that a folded column has at least
# A seventh alternative has the first one's colour again, so it is underlined, and a thirteenth one in italics.
_ROUNDS = ({}, {"underline": True}, {"italic": True}, {"underline": True, "italic": True})  # type: ignore[var-annotated]
_SYSTEMS = {"standard": ColorSystem.STANDARD, "256": ColorSystem.EIGHT_BIT, "truecolor": ColorSystem.TRUECOLOR}


@dataclass(frozen=True)
class SplitRow:
    """A piece: its number, from 0; its bytes; the name of its alternative; the ids of its tokens; its offset."""

    number: int
    piece: bytes
    alternative: str
    tokens: tuple[int, ...]
    offset: int = 0


SPLIT_COLUMNS: tuple[Column[SplitRow], ...] = (
    Column("#", lambda row: row.number, "right"),
    Column("bytes", lambda row: len(row.piece), "right"),
    Column("chars", lambda row: len(row.piece.decode("utf-8", "replace")), "right"),
    Column("alternative", lambda row: row.alternative),
    Column("text", lambda row: row.piece, fold=True),
    Column("tokens", lambda row: " ".join(map(str, row.tokens)), fold=True),
)
_COLOURED = frozenset({"alternative", "text"})


@lru_cache(maxsize=256)
def style_of(alternative: str) -> Style:
    """The colour of an alternative by its name, black on a colour of its own; none for `-`.

    >>> style_of("a1").bgcolor == style_of("a7").bgcolor, style_of("a1") == style_of("a7")
    (True, False)
    """
    if not (alternative[1:].isascii() and alternative[1:].isdecimal()):
        return Style()
    turn, index = divmod(int(alternative[1:]) - 1, len(BACKGROUNDS))
    return Style(color="#000000", bgcolor=BACKGROUNDS[index], **_ROUNDS[turn % len(_ROUNDS)])


class Painter:
    """Puts colours around text: `system` is a name of rich's, or None for none."""

    def __init__(self, system: str | None) -> None:
        self._system = None if system is None else _SYSTEMS[system]

    def __call__(self, text: str, alternative: str) -> str:
        """A text, already sanitized, in the colour of an alternative."""
        if self._system is None or not text:
            return text
        return style_of(alternative).render(text, color_system=self._system)


def pattern_lines(alternatives: Sequence[str], paint: Painter) -> Iterator[str]:
    """The pattern, an alternative a line, each with its name and in its colour."""
    width = len(f"a{len(alternatives)}")
    for number, source in enumerate(alternatives, 1):
        name = f"a{number}"
        yield f"{paint(name, name)}{' ' * (width - len(name))}{_GAP}{paint(visible(source), name)}"


def table_lines(rows: Iterable[SplitRow], width: int, paint: Painter) -> Iterator[str]:
    """The header and the rows, none wider than `width` cells unless that is less than some 50.

    >>> for line in table_lines([SplitRow(0, b" pay", "a2", (2777,))], 60, Painter(None)): print(line)
    #  bytes  chars  alternative  text  tokens
    ──────────────────────────────────────────
    0      4      4  a2           ·pay  2777
    """
    rows = iter(rows)
    first = list(islice(rows, FIRST_ROWS))
    cells = [_cells(row) for row in first]
    headers = [column.header for column in SPLIT_COLUMNS]
    widths = [max(map(cell_len, column)) for column in zip(headers, *cells, strict=True)]
    if len(first) == FIRST_ROWS:
        widths[0] = max(widths[0], 6)  # more will come
    room = width - len(_GAP) * (len(widths) - 1)
    _shrink(widths, room)
    if sum(widths) > room:  # a narrow screen: the longest header is not worth its width
        at = headers.index("alternative")
        headers[at] = "alt"
        widths[at] = max(map(cell_len, [headers[at], *(row[at] for row in cells)]))
        _shrink(widths, room)
    yield _line(headers, widths, None, paint)
    yield "─" * (sum(widths) + len(_GAP) * (len(widths) - 1))
    for row, shown in chain(zip(first, cells, strict=True), ((row, _cells(row)) for row in rows)):
        folded = [
            (_folded(cell, size, column.header) if column.fold and cell_len(cell) > size else [cell])
            for cell, size, column in zip(shown, widths, SPLIT_COLUMNS, strict=True)
        ]
        for part in zip_longest(*folded, fillvalue=""):
            yield _line(part, widths, row.alternative, paint)


def _cells(row: SplitRow) -> list[str]:
    values = [column.cell(row) for column in SPLIT_COLUMNS]
    return [visible_bytes(v, spaces=True) if isinstance(v, bytes) else visible(str(v)) for v in values]


def _folded(cell: str, size: int, header: str) -> Iterator[str]:
    """A cell as lines, as they are needed; ids are not torn apart."""
    if header == "tokens":
        line = ""
        for number in cell.split(" "):
            if line and len(line) + 1 + len(number) > size:
                yield line
                line = number
            else:
                line = f"{line} {number}" if line else number
        yield line
        return
    begin, enough = 0, (MARKS_PER_BASE + 1) * (size + 1)  # characters, of which more than a line's are no marks
    while begin < len(cell):
        line = chop_cells(cell[begin : begin + enough], size)[0]
        yield line
        begin += len(line)


def _shrink(widths: list[int], room: int) -> None:
    """Takes from the folded columns what is too much, from the wider one first."""
    folded = sorted((i for i, column in enumerate(SPLIT_COLUMNS) if column.fold), key=lambda index: widths[index])
    left = room - sum(width for index, width in enumerate(widths) if index not in folded)
    for place, index in enumerate(folded):
        widths[index] = min(widths[index], max(left // (len(folded) - place), _LEAST))
        left -= widths[index]


def _line(cells: Sequence[str], widths: Sequence[int], alternative: str | None, paint: Painter) -> str:
    out = []
    for cell, width, column in zip(cells, widths, SPLIT_COLUMNS, strict=True):
        blank = " " * (width - cell_len(cell))
        shown = paint(cell, alternative) if alternative and column.header in _COLOURED else cell
        out.append(blank + shown if column.justify == "right" else shown + blank)
    return _GAP.join(out).rstrip(" ")
