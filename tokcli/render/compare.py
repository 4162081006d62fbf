"""One text under several encodings: their lines above one another, aligned, and a table of what each costs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from rich.cells import cell_len, set_cell_size
from rich.style import Style
from rich.text import Text

from tokcli.render.boundaries import STYLES
from tokcli.render.grid import Cell, Segment, line_of, rows
from tokcli.render.tables import Column, make_table
from tokcli.render.token_rows import isolated_text
from tokcli.render.visible import visible

if TYPE_CHECKING:
    from rich.table import Table

_NAME = Style(dim=True)
MIN_ROOM = 8  # cells of text in a row, however narrow the screen is


@dataclass(frozen=True)
class Total:
    """An encoding's row of the table; `first` is the count that the others are compared with."""

    name: str
    tokens: int
    bytes: int
    first: int

    @property
    def bytes_per_token(self) -> str:
        """With two decimals; - where there is no token."""
        return f"{self.bytes / self.tokens:.2f}" if self.tokens else "-"

    @property
    def difference(self) -> str:
        """To the first, with its sign."""
        return f"{self.tokens - self.first:+d}" if self.tokens != self.first else "0"

    @property
    def percent(self) -> str:
        """The same for a hundred tokens of the first."""
        if not self.first:
            return "-"
        return f"{100 * (self.tokens - self.first) / self.first:+.1f}" if self.tokens != self.first else "0"


TSV_COLUMNS: tuple[Column[Total], ...] = (
    Column("encoding", lambda row: row.name),
    Column("tokens", lambda row: row.tokens),
    Column("bytes", lambda row: row.bytes),
    Column("bytes_per_token", lambda row: row.bytes_per_token),
    Column("difference", lambda row: row.difference),
    Column("percent", lambda row: row.percent),
)


def totals_table(totals: Sequence[Total], width: int) -> Table:
    """The table for a screen, which has as many columns as there is room for."""
    names = dict(zip([row.name for row in totals], labels([row.name for row in totals], width), strict=True))
    columns: list[Column[Total]] = [
        Column("encoding", lambda row: names[row.name].rstrip(" ")),
        Column("tokens", lambda row: row.tokens, "right"),
        Column("bytes/token", lambda row: row.bytes_per_token, "right"),
        Column(
            "difference", lambda row: row.difference + (f", {row.percent} %" if row.difference != "0" else ""), "right"
        ),
    ]

    def needed() -> int:
        cells = ([len(c.header), *(cell_len(str(c.cell(row))) for row in totals)] for c in columns)
        return sum(max(widths) + 2 for widths in cells)

    while len(columns) > 2 and needed() > width:
        columns.pop(2)
    return make_table(columns, totals)


def labels(names: Sequence[str], width: int) -> list[str]:
    """The names as a column of equal width, a third of the screen at most.

    >>> labels(["o200k_base", "gpt2"], 24)
    ['o200k_b…', 'gpt2    ']
    """
    shown = [visible(name) for name in names]
    room = min(max(map(cell_len, shown)), max(width // 3, 4))
    return [
        set_cell_size(name if cell_len(name) <= room else set_cell_size(name, room - 1) + "…", room) for name in shown
    ]


Track: TypeAlias = tuple[str, Iterable[Segment]]  # the name of an encoding, and its cut


def coloured_stacks(data: bytes, tracks: Sequence[Track], width: int, *, isolate: bool = False) -> Iterator[Text]:
    """The rows of a text: a line for each encoding, its name before it, and an empty one between rows.

    With `isolate`, what is written from right to left stays in its column also on terminals that order lines.
    """
    names = labels([name for name, _ in tracks], width)
    for number, row in enumerate(rows(data, [found for _, found in tracks], _room(width, names))):
        lines = [_drawn(row, line, f"{name}  ", isolate) for line, name in enumerate(names)]
        yield Text("\n", no_wrap=True, overflow="ignore").join([Text("")] * bool(number) + lines)


def plain_stacks(data: bytes, tracks: Sequence[Track], width: int | None, *, isolate: bool = False) -> Iterator[str]:
    """The same without colour; without a `width` only newlines end a row."""
    names = labels([name for name, _ in tracks], width or 1 << 30)
    shown = isolated_text if isolate else str
    for number, row in enumerate(rows(data, [found for _, found in tracks], width and _room(width, names))):
        lines = (
            f"{name}  " + "".join(shown(text) for text, _ in line_of(row, line)) for line, name in enumerate(names)
        )
        yield "\n" * bool(number) + "\n".join(line.rstrip(" ") for line in lines)


def _room(width: int, names: Sequence[str]) -> int:
    return max(width - cell_len(names[0]) - 2, MIN_ROOM)


def _drawn(row: Sequence[Cell], line: int, before: str, isolate: bool) -> Text:
    text = Text(no_wrap=True, overflow="ignore")
    text.append(before, _NAME)
    for part, segment in line_of(row, line):
        shown = isolated_text(part) if isolate else part
        text.append(shown, Style.null() if segment is None else STYLES[segment % len(STYLES)])
    text.rstrip()
    return text
