"""Where a pattern of a tokenizer.json matches in text: Oniguruma's language, with the classes of Unicode 16.0.

A pattern here need not cover all text, unlike a pat_str (pretokenizer.py, whose compiled patterns this uses).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Protocol

from tokcli.engine import oniguruma
from tokcli.engine import unicode_classes as classes
from tokcli.engine.known_patterns import CL100K, KNOWN_PATTERNS
from tokcli.engine.pretokenizer import PreTokenizer
from tokcli.errors import PatternError

Span = tuple[int, int]
Match = tuple[int, int, bool]  # from, to, and whether it is a match or what stands between two of them

# Those that mean the same in Oniguruma; in CL100K `{1,3}+` is a repeat of a repeat there.
KNOWN_ALIKE = KNOWN_PATTERNS - {CL100K}


class Finder(Protocol):
    """Finds what does not overlap, from left to right."""

    def find(self, text: str) -> Iterable[Span]:
        """Where the matches begin and end."""


class Literal:
    """Finds a text that is not empty."""

    def __init__(self, text: str) -> None:
        self.text = text

    def find(self, text: str) -> Iterator[Span]:
        """Where it stands."""
        at, size = text.find(self.text), len(self.text)
        while at >= 0:
            yield at, at + size
            at = text.find(self.text, at + size)

    def __reduce__(self) -> tuple[object, ...]:
        return (Literal, (self.text,))


class Characters:
    """Finds each character of a class, one by one."""

    def __init__(self, name: classes.Class) -> None:
        self.name = name

    def find(self, text: str) -> Iterator[Span]:
        """Where they stand."""
        return (match.span() for match in classes.one(self.name).finditer(text))


class OnigPattern:
    r"""Finds a pattern in the language of Oniguruma.

    >>> list(OnigPattern(r"\s+$").find("a \nb "))
    [(1, 2), (4, 5)]
    """

    def __init__(self, pattern: str) -> None:
        self.pattern = pattern
        known = pattern in KNOWN_ALIKE
        self.pretokenizer = PreTokenizer(pattern if known else oniguruma.translated(pattern))
        self.covers_all = known

    def find(self, text: str) -> list[Span]:
        """Where it matches; PatternError where that takes too long."""
        if not self.pretokenizer.may_match(text):
            return []
        compiled = self.pretokenizer._compiled_for(text)
        timeout = None if self.covers_all else self.pretokenizer.timeout
        spans: list[Span] = []
        last = -1
        try:
            for match in compiled.finditer(text, timeout=timeout):
                begin, end = match.span()
                if begin == end == last:
                    continue  # the empty match that Python finds right behind another
                spans.append((begin, end))
                last = end
        except TimeoutError:
            raise PatternError(
                f"pattern: more than {timeout:g} s at character {max(last, 0)}",
                "It backtracks on this text; raise --timeout.",
            ) from None
        except MemoryError:
            raise PatternError(f"pattern: out of memory at character {max(last, 0)}") from None
        return spans

    def __reduce__(self) -> tuple[object, ...]:
        return (OnigPattern, (self.pattern,))


def matches(finder: Finder, text: str) -> Iterator[Match]:
    """The matches and what stands between them; together they are the text.

    >>> list(matches(Literal("-"), "a-b"))
    [(0, 1, False), (1, 2, True), (2, 3, False)]
    """
    at = 0
    for begin, end in finder.find(text):
        if at != begin:
            yield at, begin, False
        yield begin, end, True
        at = end
    if at != len(text):
        yield at, len(text), False


def removed(found: Iterable[Match]) -> list[Span]:
    """Only what stands between the matches."""
    return [(begin, end) for begin, end, is_match in found if not is_match]


def isolated(found: Iterable[Match]) -> list[Span]:
    """Each match and what stands between them."""
    return [(begin, end) for begin, end, _ in found]


def contiguous(found: Iterable[Match]) -> list[Span]:
    """Matches that follow on one another as one."""
    out: list[Span] = []
    previous = False
    for begin, end, is_match in found:
        if is_match == previous and out:
            out[-1] = (out[-1][0], end)
        else:
            out.append((begin, end))
        previous = is_match
    return out


def merged_with_previous(found: Iterable[Match]) -> list[Span]:
    """Each match with what stands before it, unless that is a match."""
    out: list[Span] = []
    previous = False
    for begin, end, is_match in found:
        if is_match and not previous and out:
            out[-1] = (out[-1][0], end)
        else:
            out.append((begin, end))
        previous = is_match
    return out


def merged_with_next(found: Iterable[Match]) -> list[Span]:
    """Each match with what stands behind it, unless that is a match."""
    out: list[Span] = []
    previous = False
    for begin, end, is_match in reversed(list(found)):
        if is_match and not previous and out:
            out[-1] = (begin, out[-1][1])
        else:
            out.append((begin, end))
        previous = is_match
    return out[::-1]


BEHAVIORS = {
    "Removed": removed,
    "Isolated": isolated,
    "Contiguous": contiguous,
    "MergedWithPrevious": merged_with_previous,
    "MergedWithNext": merged_with_next,
}
