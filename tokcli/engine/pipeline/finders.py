"""Finders: what the patterns of a tokenizer.json match in text, in Oniguruma's language with Unicode 16.0's classes.

Unlike a pat_str, a pattern need not cover all text here; it is compiled as a pat_str is (pretokenizers/). The five
`Behavior`s of a pre-tokenizer say how text is cut at the matches.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache

from tokcli.engine.base.time_limit import seconds_allowed
from tokcli.engine.pipeline import oniguruma
from tokcli.engine.pretokenizers.compiling import within_limit
from tokcli.engine.pretokenizers.known_patterns import CL100K, KNOWN_PATTERNS
from tokcli.engine.pretokenizers.pretokenizer import PreTokenizer, out_of_memory, too_slow
from tokcli.engine.spec.patterns import Characters, OnigPattern, Pattern
from tokcli.engine.unicode import classes

Span = tuple[int, int]
FoundSpan = tuple[int, int, bool]  # begin, end, and whether it is a match or text between two of them

# The known patterns that mean the same in Oniguruma, where `{1,3}+` in CL100K is a repeat of a repeat.
KNOWN_ALIKE = KNOWN_PATTERNS - {CL100K}


def find(pattern: Pattern, text: str) -> Iterable[Span]:
    r"""Return where the matches of a pattern begin and end, from left to right; no two overlap.

    >>> from tokcli.engine.spec.patterns import LiteralText, OnigPattern
    >>> list(find(LiteralText("ab"), "abab")), list(find(OnigPattern(r"\s+$"), "a \nb "))
    ([(0, 2), (2, 4)], [(1, 2), (4, 5)])
    """
    if isinstance(pattern, OnigPattern):
        return compiled(pattern.pattern).find(text)
    if isinstance(pattern, Characters):
        return (match.span() for match in classes.one(pattern.name).finditer(text))
    return _places(pattern.text, text)


def _places(wanted: str, text: str) -> Iterator[Span]:
    at, size = text.find(wanted), len(wanted)
    while at >= 0:
        yield at, at + size
        at = text.find(wanted, at + size)


class PatternFinder:
    """Finds the matches of a pattern in Oniguruma's language."""

    def __init__(self, pattern: str) -> None:
        self.covers_all = pattern in KNOWN_ALIKE
        self.pretokenizer = PreTokenizer(
            pattern if self.covers_all else within_limit(pattern, lambda: oniguruma.translated(pattern))
        )

    def find(self, text: str) -> list[Span]:
        """Return where the pattern matches; PatternError if that takes too long."""
        if not self.pretokenizer.may_match(text):
            return []
        if (found := self._find_natively(text)) is not None:
            return found
        compiled = self.pretokenizer.for_text(text)
        timeout = None if self.covers_all else seconds_allowed()
        spans: list[Span] = []
        last = -1
        try:
            for match in compiled.finditer(text, timeout=timeout):
                begin, end = match.span()
                if begin == end == last:
                    continue  # the empty match that Python finds right after another
                spans.append((begin, end))
                last = end
        except TimeoutError:
            raise too_slow(max(last, 0), seconds_allowed(), self.pretokenizer.file) from None
        except MemoryError:
            raise out_of_memory(max(last, 0), self.pretokenizer.file) from None
        return spans

    def _find_natively(self, text: str) -> list[Span] | None:
        if self.pretokenizer.native_pattern is None:
            return None
        try:
            found = self.pretokenizer.native_pattern.find(text)
        except UnicodeEncodeError:
            return None
        if found is None:
            return None
        places = memoryview(found).cast("Q").tolist()
        return list(zip(places[::2], places[1::2], strict=True))


compiled = lru_cache(maxsize=64)(PatternFinder)


def matches(pattern: Pattern, text: str) -> Iterator[FoundSpan]:
    """Yield the matches and the text between them; together they are the whole text. Nothing matches an empty text.

    >>> from tokcli.engine.spec.patterns import LiteralText
    >>> list(matches(LiteralText("-"), "a-b"))
    [(0, 1, False), (1, 2, True), (2, 3, False)]
    """
    at = 0
    for begin, end in find(pattern, text) if text else ():
        if at != begin:
            yield at, begin, False
        yield begin, end, True
        at = end
    if at != len(text):
        yield at, len(text), False


def removed(found: Iterable[FoundSpan]) -> list[Span]:
    """Return the spans of the text between the matches, without the matches."""
    return [(begin, end) for begin, end, is_match in found if not is_match]


def joined_where(joins: Callable[[bool, bool], bool]) -> Callable[[Iterable[FoundSpan]], list[Span]]:
    """Return a function that joins spans to the one before where `joins(that is a match, this is a match)` says so."""

    def cut(found: Iterable[FoundSpan]) -> list[Span]:
        out: list[Span] = []
        previous = False
        for begin, end, is_match in found:
            if out and joins(previous, is_match):
                out[-1] = (out[-1][0], end)
            else:
                out.append((begin, end))
            previous = is_match
        return out

    return cut


BEHAVIORS = {
    "Removed": removed,
    "Isolated": joined_where(lambda *_: False),
    "Contiguous": joined_where(lambda previous, is_match: previous == is_match),
    "MergedWithPrevious": joined_where(lambda previous, is_match: is_match and not previous),
    "MergedWithNext": joined_where(lambda previous, is_match: previous and not is_match),
}
