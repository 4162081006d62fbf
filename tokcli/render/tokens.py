"""Shows where one token ends and the next begins, in colours or with a │ between them.

`coloured_boundaries` and `plain_boundaries` go line by line, so that a long text needs no more memory than its longest
line. `coloured_rows` and `plain_rows` lay tokens out in rows of a screen, folded at its width, on request with the id
of each token below it: a token has one cell in each row that it is in, and is cut only where it is longer than a row.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import cycle

from rich.text import Text

from tokcli.render.colours import STYLES
from tokcli.render.direction import isolated_text
from tokcli.render.glyphs import beginning, cell_len, is_mark
from tokcli.render.visible import BOUNDARY, MARKS_PER_BASE, NEWLINE, visible_bytes


def coloured_boundaries(tokens: Iterable[tuple[bytes, int]], *, spaces: bool = True) -> Iterator[Text]:
    r"""Yield the lines of a text, from the bytes and id of each token, in one colour per token.

    Neighbours always differ in colour, across line breaks too. A newline is shown as ⏎ and then breaks the line; other
    control characters, and spaces unless `spaces` is False, are visible; bytes that are not UTF-8 appear as ⟨f0 9f⟩.

    >>> [line.plain for line in coloured_boundaries([(b"a", 64), (b" b\n", 7), (b"\xf0\x9f", 8)])]
    ['a·b⏎', '⟨f0 9f⟩']
    """
    line = Text(overflow="fold")
    styles = cycle(STYLES)
    for token, _ in tokens:
        if not token:
            continue
        style = next(styles)
        *ended, rest = lines_of(token, spaces)
        for segment in ended:
            line.append(segment, style)
            yield line
            line = Text(overflow="fold")
        line.append(rest, style)
    if line:
        yield line


def plain_boundaries(tokens: Iterable[tuple[bytes, int]], *, spaces: bool = True) -> Iterator[str]:
    r"""Yield the lines of a text, from the bytes and id of each token, with a │ between tokens instead of colours.

    A token that ends with a line is followed by a │, too, if there is another one.

    >>> list(plain_boundaries([(b"a", 64), (b" b\n", 7), (b"\xf0\x9f", 8)]))
    ['a│·b⏎│', '⟨f0 9f⟩']
    """
    line: list[str] = []
    ended: list[str] = []  # the last line that a newline ended, until it is known whether a token begins after it
    for token, _ in tokens:
        if not token:
            continue
        if line:
            line.append(BOUNDARY)
        elif ended:
            ended.append(BOUNDARY)
        *whole, rest = lines_of(token, spaces)
        for segment in whole:
            if ended:
                yield "".join(ended)
            ended, line = [*line, segment], []
        if rest:
            if ended:
                yield "".join(ended)
            ended = []
            line.append(rest)
    if ended or line:
        yield "".join(ended or line)


def lines_of(token: bytes, spaces: bool) -> list[str]:
    """Return the visible lines of a token, all but the last ending in ⏎.

    The bytes can be split at newlines since no other character of UTF-8 contains that byte.
    """
    *ended, rest = (visible_bytes(line, spaces=spaces) for line in token.split(b"\n"))
    return [*(line + NEWLINE for line in ended), rest]


_IN_BRACKETS = re.compile("(⟨[^⟨⟩]*⟩)|(⟨|[^⟨]+)")
MIN_WIDTH = 20  # screen cells of a row: the visible form of one character never needs more


@dataclass(frozen=True)
class TokenCell:
    """The text of a token in one row, the number of the token, and its id in the first of its rows (else empty).

    `width` is that of the cell's column, in screen cells; what the text does not fill stays blank. `ends_token` is true
    in the last row of the token.
    """

    text: str
    token: int
    id: str
    width: int
    ends_token: bool = True


def coloured_rows(
    tokens: Iterable[tuple[bytes, int]], width: int, *, ids: bool = False, isolate: bool = False
) -> Iterator[Text]:
    r"""Yield the rows of a text in which each token has a colour, and neighbours never the same.

    With `ids`, a line with the ids follows each row. With `isolate`, a token that is written from right to left keeps
    its place among the others, also on terminals that reorder whole lines by UAX #9.

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
            yield Text(numbers, no_wrap=True)


def plain_rows(tokens: Iterable[tuple[bytes, int]], width: int) -> Iterator[str]:
    """Yield the rows of a text, each followed by a line with the ids, with a │ between tokens instead of colours.

    A token that ends with a row is followed by a │, too, if there is another one.

    >>> for row in plain_rows([(b"hi", 3), (b" there", 1234), (b"!", 0)], 80):
    ...     print(row)
    hi│·there│!
    3 │1234  │0
    """
    before: list[TokenCell] = []
    for row in _rows(tokens, width, gap=1, ids=True):
        if before:
            yield from _plain(before, BOUNDARY if before[-1].ends_token else "")
        before = row
    if before:
        yield from _plain(before, "")


def _plain(row: list[TokenCell], ending: str) -> Iterator[str]:
    """Yield a line of texts and one of ids; `ending` is the boundary after the last token, or empty."""
    texts = [cell.text + " " * (cell.width - 1 - cell_len(cell.text)) for cell in row]
    yield (BOUNDARY.join(texts) + ending).rstrip()
    if any(cell.id for cell in row):
        yield (BOUNDARY.join(f"{cell.id:{cell.width - 1}}" for cell in row) + ending).rstrip()


def _rows(tokens: Iterable[tuple[bytes, int]], width: int, *, gap: int, ids: bool) -> Iterator[list[TokenCell]]:
    """Yield the cells of each row: a newline ends a row, and so does a cell for which it has no room left.

    `gap` is the number of screen cells between two tokens.
    """
    width = max(width, MIN_WIDTH)
    row: list[TokenCell] = []
    used = 0
    for number, (token, id) in enumerate((token, id) for token, id in tokens if token):
        shown_id = str(id) if ids else ""
        *ended, rest = lines_of(token, spaces=True)
        lines = [*ended, rest] if rest else ended
        for index, line in enumerate(lines):
            stretches = list(folded(line, width - gap))
            for count, text in enumerate(stretches, 1):
                room = max(cell_len(text) + gap, len(shown_id) + 1 if shown_id else 0)
                if row and used + room > width:
                    yield row
                    row, used = [], 0
                ends_token = count == len(stretches) and index == len(lines) - 1
                row.append(TokenCell(text, number, shown_id, room, ends_token))
                used += room
                shown_id = ""
            if index < len(ended):
                yield row
                row, used = [], 0
    if row:
        yield row


def folded(text: str, width: int) -> Iterator[str]:
    """Yield the stretches of a text that fit into `width` screen cells, at least 2; marks keep their base.

    >>> list(folded("abcde", 2))
    ['ab', 'cd', 'e']
    """
    # so many characters always fill a line, even with as many marks as possible, which take no cell of their own
    begin, enough = 0, (MARKS_PER_BASE + 1) * (width + 1)
    while begin < len(text):
        some = text[begin : begin + enough]
        line = beginning(some, width)
        yield line
        begin += len(line)


def folded_between(text: str, width: int) -> Iterator[str]:
    """Yield stretches as `folded` does, but with what is in ⟨⟩ in one line, where it fits.

    >>> list(folded_between("ab⟨U+200D⟩c", 8)), list(folded("ab⟨U+200D⟩c", 8))
    (['ab', '⟨U+200D⟩', 'c'], ['ab⟨U+200', 'D⟩c'])
    """
    line = ""
    for whole, other in _IN_BRACKETS.findall(text):
        if whole and cell_len(whole) <= width:
            if cell_len(line + whole) > width:
                yield line
                line = ""
            line += whole
        else:
            *full, line = folded(line + whole + other, width)
            yield from full
    if line:
        yield line


def shortened(text: str, width: int) -> str:
    """Return a text with so much of its middle left out, for a …, that it fits into `width` screen cells.

    >>> shortened("a_very_long_name.py", 12), shortened("name.py", 12)
    ('a_very_l….py', 'name.py')
    """
    if cell_len(text) <= width:
        return text
    end = text[len(text) - (width - 1) // 3 :]
    while cell_len(end) > (width - 1) // 3 or is_mark(end[:1] or "a"):
        end = end[1:]
    begin = text[: max(width - 1, 0)]
    while begin and cell_len(begin) + cell_len(end) > width - 1:
        begin = begin[:-1]
    return f"{begin}…{end}"


def branch_parts(lines: str, name: str, room: int) -> tuple[str, str]:
    """Return the lines of a tree before a name, and the name, in at most so many cells, with a … where one is cut.

    The name gets half of them at least.

    >>> branch_parts("│   └── ", "name", 12), branch_parts("│   │   └── ", "long_name", 12)
    (('│   └── ', 'name'), ('… └── ', 'long…e'))
    """
    kept = min(cell_len(name), max(room - len(lines), room // 2))
    if len(lines) > room - kept:
        lines = "…" + lines[len(lines) - (room - kept) + 1 :]
    return lines, shortened(name, kept)
