"""The differences between the character classes of the installed `regex` and of Unicode 16.0, and their correction.

tiktoken 0.14 uses Unicode 16.0; `regex` has the tables of its own release. Patterns are compiled in `compiling.py`.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import TYPE_CHECKING

from tokcli.engine.unicode.properties import SCANNED_PLANES, unicode16_ranges
from tokcli.engine.unicode.ranges import Ranges, class_members, members, merged, minus

if TYPE_CHECKING:
    from types import ModuleType

    import regex

ALL_CODE_POINTS: Ranges = ((0, 0x10FFFF),)
MAX_AGREED = 1 << 16  # characters remembered for one set of properties: 6 MB


class ReleaseCheck:
    """Tells for which texts the installed `regex` and Unicode 16.0 agree about some properties.

    Checking all characters at once would take 50 ms, so each one is checked when a text first has it. Threads share
    the set of checked characters: at worst two of them check the same one.
    """

    def __init__(self, properties: frozenset[str]) -> None:
        self._properties = properties
        self._agreed: set[str] = set()

    def agrees(self, text: str) -> bool:
        """Return whether each character of a text has the same properties in `regex` and in Unicode 16.0."""
        if text.isascii():
            return True
        new = set(text).difference(self._agreed)
        if not new:
            return True
        contested = self._contested(new)
        if len(self._agreed) > MAX_AGREED:
            self._agreed.clear()
        self._agreed |= new - contested
        return not contested

    def _contested(self, characters: set[str]) -> set[str]:
        joined = "".join(characters)
        found: set[str] = set()
        for name in self._properties:
            ours = members(characters, unicode16_ranges(name) or ())
            found |= ours.symmetric_difference(_property(name).findall(joined))
        return found


@lru_cache(maxsize=16)
def release_check(properties: frozenset[str]) -> ReleaseCheck:
    """Return the check for a set of properties, which all patterns that use exactly these share."""
    return ReleaseCheck(properties)


def exact_class(name: str, negated: bool) -> str | None:
    """Return the inside of a V1 class for a property as of Unicode 16.0, if the tables have the property.

    Only the characters about which the installed `regex` differs are spelled out.
    """
    if unicode16_ranges(name) is None:
        return None
    extra, missing = class_deltas(name)
    if not extra and not missing:
        return rf"\{'P' if negated else 'p'}{{{name}}}"
    right = rf"[\p{{{name}}}--[{class_members(extra)}]]" if extra else rf"\p{{{name}}}"
    right += class_members(missing)
    return f"^{right}" if negated else right


@lru_cache(maxsize=64)
def class_deltas(name: str) -> tuple[Ranges, Ranges]:
    """Return (code points with a property in the installed `regex` alone, those with it in Unicode 16.0 alone)."""
    ours = unicode16_ranges(name)
    if ours is None:
        return (), ()
    compiled = _property(name, "++")
    theirs = tuple(
        (first + match.start(), first + match.end() - 1)
        for first, text in scanned_planes()
        for match in compiled.finditer(text)
    )
    inside = minus(ours, minus(ALL_CODE_POINTS, merged(SCANNED_PLANES)))
    return minus(theirs, inside), minus(inside, theirs)


@lru_cache(maxsize=1)
def scanned_planes() -> list[tuple[int, str]]:
    """Return (first code point, all characters from there on) for the planes that can hold characters."""
    return [(first, "".join(map(chr, range(first, last + 1)))) for first, last in SCANNED_PLANES]


def matching_ranges(run: regex.Pattern[str], seconds: float | None = None) -> Iterator[tuple[int, int]]:
    """Yield the (first, last) code points of the runs that a pattern matches, surrogates left out.

    The first code point of a plane without characters answers for the whole plane. TimeoutError where the search takes
    more than `seconds` for one plane.
    """
    for first, text in scanned_planes():
        for match in run.finditer(text, timeout=seconds):
            found = ((first + match.start(), first + match.end() - 1),)
            yield from minus(found, ((0xD800, 0xDFFF),))
    for first, last in minus(ALL_CODE_POINTS, merged(SCANNED_PLANES)):
        for begin in range(first, last + 1, 0x10000):
            if run.match(chr(begin)):
                yield begin, begin + 0xFFFF


@lru_cache(maxsize=64)
def _property(name: str, repeat: str = "") -> regex.Pattern[str]:
    made: regex.Pattern[str] = regex_package().compile(rf"\p{{{name}}}{repeat}")
    return made


def regex_package() -> ModuleType:
    """Return the package `regex`, which takes 20 ms to load."""
    import regex

    return regex
