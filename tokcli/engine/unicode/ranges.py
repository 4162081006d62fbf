r"""Sets of code points as ranges, which are read from the tables, joined, subtracted and written as character classes.

The tables say which characters have which property; `properties.py` and `classes.py` look that up.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable
from functools import lru_cache

Ranges = tuple[tuple[int, int], ...]  # (first, last) code points, both included, in ascending order

# White_Space, which releases of Unicode do not change any more: as a class, and as characters
SPACE = "\t-\r \x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000"
SPACES = f"\t\n\v\f\r \x85\xa0\u1680{''.join(map(chr, range(0x2000, 0x200B)))}\u2028\u2029\u202f\u205f\u3000"


def parse_ranges(text: str) -> list[tuple[int, int]]:
    """Return the ranges that a table writes in hexadecimal.

    >>> parse_ranges("41-5A 61")
    [(65, 90), (97, 97)]
    """
    pairs = (item.partition("-") for item in text.split())
    return [(int(first, 16), int(last or first, 16)) for first, _, last in pairs]


def merged(ranges: Iterable[tuple[int, int]]) -> Ranges:
    """Return ranges in ascending order, joining those that touch or overlap.

    >>> merged([(7, 9), (1, 3), (4, 4)])
    ((1, 4), (7, 9))
    """
    ascending = sorted(ranges)
    if not ascending:
        return ()
    out: list[tuple[int, int]] = []
    begin, end = ascending[0]
    for first, last in ascending:
        if first > end + 1:
            out.append((begin, end))
            begin, end = first, last
        elif last > end:
            end = last
    return (*out, (begin, end))


def minus(left: Ranges, right: Ranges) -> Ranges:
    """Return the code points of `left` that are not in `right`.

    >>> minus(((1, 9),), ((3, 4), (9, 12)))
    ((1, 2), (5, 8))
    """
    out = []
    index = 0
    for first, last in left:
        while index < len(right) and right[index][1] < first:
            index += 1
        at = index
        while first <= last:
            if at == len(right) or right[at][0] > last:
                out.append((first, last))
                break
            if first < right[at][0]:
                out.append((first, right[at][0] - 1))
            first = right[at][1] + 1
            at += 1
    return tuple(out)


@lru_cache(maxsize=256)
def boundaries(ranges: Ranges) -> list[int]:
    """Return, for each range in turn, its first code point and the one after its last: the input of `contains`.

    >>> boundaries(((65, 90), (97, 97)))
    [65, 91, 97, 98]
    """
    return [boundary for first, last in ranges for boundary in (first, last + 1)]


def contains(bounds: list[int], char: str) -> bool:
    """Return whether a character is in the ranges that have these `boundaries`.

    >>> contains([65, 91, 97, 98], "B"), contains([65, 91, 97, 98], "b")
    (True, False)
    """
    return bisect_right(bounds, ord(char)) & 1 == 1


def members(characters: Iterable[str], ranges: Ranges) -> set[str]:
    """Return those of some characters that are in the ranges.

    >>> sorted(members("abcxyz", ((98, 99), (121, 130))))
    ['b', 'c', 'y', 'z']
    """
    bounds = boundaries(ranges)
    return {char for char in characters if bisect_right(bounds, ord(char)) & 1}


def class_members(ranges: Iterable[tuple[int, int]]) -> str:
    r"""Return ranges as the inside of a character class.

    >>> class_members(((65, 90), (97, 97)))
    '\\U00000041-\\U0000005A\\U00000061'
    """
    return "".join(f"\\U{a:08X}" if a == b else f"\\U{a:08X}-\\U{b:08X}" for a, b in ranges)
