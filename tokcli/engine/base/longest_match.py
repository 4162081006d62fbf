"""`LongestMatch`: finds the longest of many texts at a place of another text; their number hardly affects the time."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from typing import Any, AnyStr, Generic

# Up to this many texts of so many characters together, a regular expression is faster. It may compare each of them with
# the text at each place, and has to: of 250 texts `a...ab`, of up to 5,000 characters, it read 1 kB of `a` in a second.
_FEW, _SHORT = 256, 1 << 14


class LongestMatch(Generic[AnyStr]):
    """A set of texts, or of byte strings, that are found in another by binary search; empty ones are left out.

    >>> tokens = LongestMatch(["<a>", "<a><b>", "a"])
    >>> list(tokens.find("<a><b><a>a"))
    [(0, 6), (6, 9), (9, 10)]
    """

    def __init__(self, texts: Iterable[AnyStr]) -> None:
        self._texts: list[AnyStr] = sorted({text for text in texts if text})
        self.longest = max(map(len, self._texts), default=0)
        # a pattern of the texts themselves, which finds them alone, if it is short; else of their first characters
        self._are_few = len(self._texts) <= _FEW and sum(map(len, self._texts)) <= _SHORT
        begins: list[AnyStr] = self._texts[::-1] if self._are_few else sorted({text[:1] for text in self._texts})
        self.begin: re.Pattern[AnyStr] | None = _any_of(begins) if begins else None

    @cached_property
    def _rows(self) -> tuple[list[int], list[int]]:
        """For each text, the longest other text that it starts with (-1: none), and a shorter one to jump to.

        A text and those that it starts with, the longest first, are a row. Jumps make any row short to walk (Myers
        1983, skew-binary numbers).
        """
        shorter_of: list[int] = []
        jump_of: list[int] = []
        depth_of: list[int] = []  # the number of a text in its row

        def depth(at: int) -> int:
            return depth_of[at] if at >= 0 else 0

        for number, text in enumerate(self._texts):
            shorter = number - 1
            while shorter >= 0 and not text.startswith(self._texts[shorter]):
                shorter = shorter_of[shorter]
            jump = jump_of[shorter] if shorter >= 0 else -1
            beyond = jump_of[jump] if jump >= 0 else -1
            is_even = depth(shorter) - depth(jump) == depth(jump) - depth(beyond)
            shorter_of.append(shorter)
            jump_of.append(beyond if is_even else shorter)
            depth_of.append(depth(shorter) + 1)
        return shorter_of, jump_of

    def end(self, text: AnyStr, begin: int, limit: int | None = None) -> int:
        """Return the end of the longest text that begins at `begin` and ends by `limit`; `begin` if there is none."""
        at = self._at(text[begin : min(begin + self.longest, len(text) if limit is None else limit)])
        return begin if at < 0 else begin + len(self._texts[at])

    def everywhere(self, text: AnyStr) -> Iterator[tuple[int, int]]:
        """Yield (begin, end) of the longest text at each place; matches may overlap."""
        at = 0
        while self.begin is not None and (match := self.begin.search(text, at)):
            begin, end = match.start(), self.end(text, match.start())
            if end > begin:
                yield begin, end
            at = begin + 1

    def _at(self, part: AnyStr) -> int:
        """Return the number of the longest text that `part` starts with; -1 if there is none."""
        texts = self._texts
        at = bisect_right(texts, part) - 1
        if at < 0 or part.startswith(texts[at]):
            return at
        # If `part` starts with a text that sorts before this one, this one starts with it, too.
        size = _common(part, texts[at])
        shorter_of, jump_of = self._rows
        while at >= 0 and len(texts[at]) > size:
            jump = jump_of[at]
            at = jump if jump >= 0 and len(texts[jump]) > size else shorter_of[at]
        return at

    def find(self, text: AnyStr, begin: int = 0) -> Iterator[tuple[int, int]]:
        """Yield (begin, end) of the texts found from left to right without overlaps, the longest at each place."""
        if self.begin is not None and self._are_few:
            yield from (match.span() for match in self.begin.finditer(text, begin))
            return
        while self.begin is not None and (match := self.begin.search(text, begin)):
            begin, end = match.start(), self.end(text, match.start())
            if end > begin:
                yield begin, end
            begin = max(end, begin + 1)


def _common(left: AnyStr, right: AnyStr) -> int:
    """Return the length of the longest common prefix of two texts."""
    low, high = 0, min(len(left), len(right))
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if left[low:middle] == right[low:middle] else (low, middle - 1)
    return low


def _any_of(texts: Sequence[AnyStr]) -> re.Pattern[AnyStr]:
    bar: Any = b"|" if isinstance(texts[0], bytes) else "|"
    return re.compile(bar.join(map(re.escape, texts)))
