"""How a character is shown: itself or not, in how many cells of a screen, and in which direction; by Unicode 16.0.

The tables are fixed, so that people see the same with every Python. Substitutes for what is hidden are left to
visible.py; native code has the same tables (views/glyphs.h).
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from tokcli.engine.unicode.ranges import boundaries, contains, parse_ranges

if TYPE_CHECKING:
    from typing import Literal

    Kind = Literal[1, 2, 3, 4, 5]
    Table = Literal["HIDDEN", "SPACE", "MARK", "JOINING", "WIDE", "RTL"]

PLAIN: Kind = 1  # the character itself is shown
MARK: Kind = 2  # it is shown on the character before it
SPACE: Kind = 3
HIDDEN: Kind = 4  # only a substitute is shown
HIDDEN_MARK: Kind = 5

_CACHED_CHARACTERS = 4096  # a text rarely has more different ones; 1 MB when full


@lru_cache(maxsize=8)
def _bounds(table: Table) -> list[int]:
    from tokcli.engine.unicode.tables_glyphs import GLYPHS  # only text that is not ASCII needs it

    return boundaries(tuple(parse_ranges(GLYPHS[table])))


def _has(table: Table, char: str) -> bool:
    return contains(_bounds(table), char)


@lru_cache(_CACHED_CHARACTERS)
def kind_of(char: str) -> Kind:
    r"""Return how a character is shown.

    >>> [kind_of(char) for char in "a\u0301 \n"] == [PLAIN, MARK, SPACE, HIDDEN]
    True
    """
    if char.isascii():
        return SPACE if char == " " else PLAIN if char.isprintable() else HIDDEN
    is_mark = _has("MARK", char)
    if _has("HIDDEN", char):
        return HIDDEN_MARK if is_mark else HIDDEN
    return MARK if is_mark else SPACE if _has("SPACE", char) else PLAIN


def is_mark(char: str) -> bool:
    """Return whether a character is a combining mark, hidden ones included."""
    return kind_of(char) in (MARK, HIDDEN_MARK)


@lru_cache(_CACHED_CHARACTERS)
def cells_of(char: str) -> int:
    """Return how many screen cells a character takes: none for marks and for what is hidden.

    >>> [cells_of(char) for char in ("a", "é", "日", chr(0x0301))]
    [1, 1, 2, 0]
    """
    if kind_of(char) not in (PLAIN, SPACE) or _has("JOINING", char):
        return 0
    return 2 if _has("WIDE", char) else 1


def cell_len(text: str) -> int:
    """Return how many screen cells a text takes.

    >>> cell_len("日本 é")
    6
    """
    return len(text) if text.isascii() and text.isprintable() else sum(map(cells_of, text))


def beginning(text: str, width: int) -> str:
    """Return the beginning of a text that fits into so many screen cells: at least one character, with its marks.

    >>> beginning("日本", 3)
    '日'
    """
    if text.isascii():
        return text[:width]
    used = 0
    for at, char in enumerate(text):
        used += cells_of(char)
        if used > width and at:
            return text[:at]
    return text


def is_rtl(char: str) -> bool:
    """Return whether a character is written from right to left."""
    return not char.isascii() and _has("RTL", char)
