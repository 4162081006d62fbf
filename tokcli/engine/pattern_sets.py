r"""The characters that parts of a pattern stand for, and which of all characters a pattern can tell apart.

The engine itself is asked about every code point (pretokenizer.py), with the classes of Unicode 16.0.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import pairwise

from tokcli.engine.pattern import Ranges, merged, minus, parse_ranges
from tokcli.engine.pretokenizer import every_match

ALL: Ranges = ((0, 0xD7FF), (0xE000, 0x10FFFF))  # surrogates are no text
_SHOWN_CATEGORIES = 4


@lru_cache(maxsize=512)
def members(source: str, *, ignore_case: bool = False, dot_all: bool = False) -> Ranges:
    r"""The code points of a class, an escape or a letter; planes without characters answer by their first code point.

    >>> members(r"[^\x00-\uD7FF]")[0]
    (57344, 1114111)
    """
    flags = "i" * ignore_case + "s" * dot_all
    return merged(every_match(f"(?{flags}:{source})" if flags else source))


@dataclass(frozen=True)
class Cell:
    """Code points that no set of a pattern tells apart; `sets` are the numbers of the sets that have them."""

    ranges: Ranges
    sets: frozenset[int]

    @cached_property
    def example(self) -> str:
        """A character of it: of ASCII if it has one that can be seen, a letter or digit first."""
        plain = [chr(code) for code in range(0x21, 0x7F) if _in(self.ranges, code)]
        known = next(filter(str.isalnum, plain), plain[0] if plain else None)
        firsts = [chr(first) for first, _ in self.ranges]
        return known or next(filter(str.isprintable, firsts), firsts[0])

    @cached_property
    def size(self) -> int:
        """How many code points it has."""
        return sum(last - first + 1 for first, last in self.ranges)

    def __str__(self) -> str:
        """`U+0009` or `132,728 characters (Lo Lm), such as U+4E00`."""
        example = f"U+{ord(self.example):04X}"
        if self.size == 1:
            return example
        found = [name for name, ranges in categories().items() if _meet(self.ranges, ranges)]
        more = ", ..." if len(found) > _SHOWN_CATEGORIES else ""
        return f"{self.size:,} characters ({' '.join(found[:_SHOWN_CATEGORIES])}{more}), such as {example}"


def partition(sets: Sequence[Ranges]) -> list[Cell]:
    """All code points of text by which of the sets have them.

    >>> [(cell.example, sorted(cell.sets)) for cell in partition([((97, 98),), ((98, 99),)])]
    [('0', []), ('a', [0]), ('b', [0, 1]), ('c', [1])]
    """
    edges = sorted({edge for ranges in (ALL, *sets) for first, last in ranges for edge in (first, last + 1)})
    starts = [[first for first, _ in ranges] for ranges in sets]
    cells: dict[frozenset[int], list[tuple[int, int]]] = {}
    for first, after in pairwise(edges):
        if 0xD800 <= first <= 0xDFFF:
            continue
        key = frozenset(i for i, ranges in enumerate(sets) if _has(ranges, starts[i], first))
        cells.setdefault(key, []).append((first, after - 1))
    return [Cell(tuple(ranges), key) for key, ranges in cells.items()]


def _has(ranges: Ranges, starts: list[int], code: int) -> bool:
    index = bisect_right(starts, code) - 1
    return index >= 0 and code <= ranges[index][1]


def _meet(left: Ranges, right: Ranges) -> bool:
    return minus(left, right) != left


@lru_cache(maxsize=1)
def categories() -> dict[str, Ranges]:
    """The general categories of Unicode 16.0."""
    from tokcli.engine import unicode16

    return {name: tuple(parse_ranges(text)) for name, text in unicode16.CATEGORIES.items()}


def category(char: str) -> str:
    """The general category of a character in Unicode 16.0.

    >>> category("a"), category(" ")
    ('Ll', 'Zs')
    """
    code = ord(char)
    return next((name for name, ranges in categories().items() if _in(ranges, code)), "Cn")


def _in(ranges: Iterable[tuple[int, int]], code: int) -> bool:
    return any(first <= code <= last for first, last in ranges)
