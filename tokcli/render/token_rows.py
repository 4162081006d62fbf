"""Lays tokens out in rows of a screen: folded at its width, on request with the id of each token under it.

A row is a list of cells, a cell what of one token stands in one row. Colours and boundaries come from the two painters:
`coloured_rows` for a terminal, `plain_rows` for a pipe. A token is cut only where it is longer than a row.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from unicodedata import bidirectional

from rich.cells import cell_len
from rich.style import Style
from rich.text import Text

from tokcli.render.boundaries import BOUNDARY, STYLES, lines_of
from tokcli.render.visible import MARKS_PER_BASE

MIN_WIDTH = 20  # of a row: what stands for one character never needs more
_NUMBER = Style(dim=True)
_NOT_ASCII = re.compile(r"[^\x00-\x7f]")
_FROM_RIGHT = frozenset(("R", "AL", "AN"))  # of Bidi_Class
_ISOLATE, _POP = "\u2068", "\u2069"  # FSI and PDI of UAX #9; `visible` lets none of the data through


@dataclass(frozen=True)
class Cell:
    """What of a token stands in a row: its visible text, which token it is, and its id where it begins here."""

    text: str
    token: int
    id: str
    width: int  # of the column: beside the text it stays empty
    ends_token: bool = True


def coloured_rows(
    tokens: Iterable[tuple[bytes, int]], width: int, *, ids: bool = False, isolate: bool = False
) -> Iterator[Text]:
    r"""Yield the rows of a text in which each token has its colour, neighbours never the same.

    With `isolate`, a token that is written from right to left keeps its place among the others, also on terminals
    that order whole lines by UAX #9; where terminals order nothing it changes nothing.

    >>> [row.plain for row in coloured_rows([(b"hi", 3), (b" there", 1234), (b"\n", 5)], 20, ids=True)]
    ['hi·there⏎', '3 1234  5']
    """
    for row in _rows(tokens, width, gap=0, ids=ids):
        line = Text(no_wrap=True)
        for cell in row:
            text = isolated_text(cell.text) if isolate else cell.text
            line.append(text, STYLES[cell.token % len(STYLES)])
            line.append(" " * (cell.width - cell_len(cell.text)))
        line.rstrip()
        yield line
        numbers = "".join(f"{cell.id:{cell.width}}" for cell in row).rstrip()
        if ids and numbers:
            yield Text(numbers, _NUMBER, no_wrap=True)


def plain_rows(tokens: Iterable[tuple[bytes, int]], width: int) -> Iterator[str]:
    """Yield the same rows with ids, a │ between tokens instead of colours, at the end of a row too.

    >>> for row in plain_rows([(b"hi", 3), (b" there", 1234), (b"!", 0)], 80):
    ...     print(row)
    hi│·there│!
    3 │1234  │0
    """
    before: list[Cell] = []
    for row in _rows(tokens, width, gap=1, ids=True):
        if before:
            yield from _plain(before, BOUNDARY if before[-1].ends_token else "")
        before = row
    if before:
        yield from _plain(before, "")


def _plain(row: list[Cell], ending: str) -> Iterator[str]:
    """A row of texts and one of ids; `ending` is the boundary behind its last token, if there is one."""
    texts = [cell.text + " " * (cell.width - 1 - cell_len(cell.text)) for cell in row]
    yield (BOUNDARY.join(texts) + ending).rstrip()
    if any(cell.id for cell in row):
        yield (BOUNDARY.join(f"{cell.id:{cell.width - 1}}" for cell in row) + ending).rstrip()


def isolated(line: str) -> str:
    """A line whose tokens keep their places on any terminal, whichever way each is written."""
    if line.isascii():
        return line
    return BOUNDARY.join(map(isolated_text, line.split(BOUNDARY)))


def is_from_right(text: str) -> bool:
    """Whether any of it is written from right to left.

    >>> is_from_right("abc"), is_from_right("שלום")
    (False, True)
    """
    return any(bidirectional(char) in _FROM_RIGHT for char in _NOT_ASCII.findall(text))


def isolated_text(text: str) -> str:
    """Text that is written from right to left, kept in its place; other text as it is."""
    return f"{_ISOLATE}{text}{_POP}" if is_from_right(text) else text


def _rows(tokens: Iterable[tuple[bytes, int]], width: int, *, gap: int, ids: bool) -> Iterator[list[Cell]]:
    """The rows of a text: a newline ends one, and so does a cell that has no room in it any more."""
    width = max(width, MIN_WIDTH)
    row: list[Cell] = []
    used = 0
    for number, (token, id) in enumerate((token, id) for token, id in tokens if token):
        shown_id = str(id) if ids else ""
        *ended, rest = lines_of(token, spaces=True)
        parts = [*ended, rest] if rest else ended
        for index, part in enumerate(parts):
            for text, is_last in _folded(part, width - gap):
                room = max(cell_len(text) + gap, len(shown_id) + 1 if shown_id else 0)
                if row and used + room > width:
                    yield row
                    row, used = [], 0
                row.append(Cell(text, number, shown_id, room, is_last and index == len(parts) - 1))
                used += room
                shown_id = ""
            if index < len(ended):
                yield row
                row, used = [], 0
    if row:
        yield row


def _folded(text: str, width: int) -> Iterator[tuple[str, bool]]:
    """A text in parts that fit into a row, and whether each is the last; marks stay with what carries them."""
    begin, enough = 0, (MARKS_PER_BASE + 1) * (width + 1)  # characters, of which more than a row's are no marks
    while cell_len(shown := text[begin : begin + enough]) > width:
        end = next(end for end in range(1, len(shown) + 1) if cell_len(shown[:end]) > width) - 1
        yield shown[:end], False
        begin += end
    yield shown, True
