r"""The sets of characters that parts of a pattern match, and the classes of characters that a pattern can tell apart.

The engine that splits text (pretokenizer.py) is asked about every code point, with the classes of Unicode 16.0. For
example, `[ab]|[bc]` tells apart the characters `a`, `b`, `c` and all others: four equivalence classes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import pairwise

from tokcli.engine.pretokenizers.compiling import every_match
from tokcli.engine.unicode import tables_16
from tokcli.engine.unicode.properties import is_printable, unicode16_ranges
from tokcli.engine.unicode.ranges import Ranges, boundaries, contains, merged, minus

ALL: Ranges = ((0, 0xD7FF), (0xE000, 0x10FFFF))  # surrogates are not text
_SHOWN_CATEGORIES = 4


@lru_cache(maxsize=512)
def members(source: str, *, ignore_case: bool = False, dot_all: bool = False) -> Ranges:
    r"""Return the code points that a character class matches, as ranges, first and last included.

    A plane without assigned characters is matched as a whole if its first code point is, or else not at all.

    >>> members(r"[^\x00-\uD7FF]")[0]
    (57344, 1114111)
    """
    flags = "i" * ignore_case + "s" * dot_all
    return merged(every_match(f"(?{flags}:{source})" if flags else source))


@dataclass(frozen=True)
class EquivalenceClass:
    """Code points that no set of a pattern tells apart; `sets` are the numbers of the sets that contain them."""

    ranges: Ranges
    sets: frozenset[int]

    @cached_property
    def example(self) -> str:
        """Return a character of the class: a visible one of ASCII if there is one, letters and digits first."""
        plain = [char for char in map(chr, range(0x21, 0x7F)) if contains(boundaries(self.ranges), char)]
        known = next(filter(str.isalnum, plain), plain[0] if plain else None)
        firsts = [chr(first) for first, _ in self.ranges]
        return known or next(filter(is_printable, firsts), firsts[0])

    @cached_property
    def size(self) -> int:
        """Return the number of code points in the class."""
        return sum(last - first + 1 for first, last in self.ranges)

    def __str__(self) -> str:
        """Return `U+0009`, or for several characters `132,728 characters (Lo Lm), such as U+4E00`."""
        example = f"U+{ord(self.example):04X}"
        if self.size == 1:
            return example
        found = [name for name, ranges in categories().items() if minus(self.ranges, ranges) != self.ranges]
        more = ", ..." if len(found) > _SHOWN_CATEGORIES else ""
        return f"{self.size:,} characters ({' '.join(found[:_SHOWN_CATEGORIES])}{more}), such as {example}"


def partition(sets: Sequence[Ranges]) -> list[EquivalenceClass]:
    """Return all code points but surrogates as equivalence classes, by which of the sets contain them.

    >>> [(found.example, sorted(found.sets)) for found in partition([((97, 98),), ((98, 99),)])]
    [('0', []), ('a', [0]), ('b', [0, 1]), ('c', [1])]
    """
    changing: dict[int, list[int]] = {edge: [] for ranges in ALL for edge in (ranges[0], ranges[1] + 1)}
    for number, ranges in enumerate(sets):
        for edge in boundaries(ranges):
            changing.setdefault(edge, []).append(number)
    inside: set[int] = set()  # the sets that contain the code points after an edge
    classes: dict[frozenset[int], list[tuple[int, int]]] = {}
    for first, after in pairwise(sorted(changing)):
        for number in changing[first]:
            inside ^= {number}
        if not 0xD800 <= first <= 0xDFFF:
            classes.setdefault(frozenset(inside), []).append((first, after - 1))
    return [EquivalenceClass(tuple(ranges), key) for key, ranges in classes.items()]


@lru_cache(maxsize=1)
def categories() -> dict[str, Ranges]:
    """Return the code points of each general category of Unicode 16.0, by its short name."""
    return {name: unicode16_ranges(name) or () for name in (*tables_16.CATEGORIES, "Cn")}


def category(char: str) -> str:
    """Return the general category of a character in Unicode 16.0.

    >>> category("a"), category(" ")
    ('Ll', 'Zs')
    """
    return next((name for name, ranges in categories().items() if contains(boundaries(ranges), char)), "Cn")
