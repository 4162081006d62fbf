"""`LongestMatch`: finds the longest of many texts at a place of another text; their number hardly affects the time."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from heapq import heappop, heappush, heapreplace
from threading import Lock
from typing import Any, AnyStr, Generic

# Up to this many texts of so many characters together, a regular expression is faster. It may compare each of them with
# the text at each place, and has to: of 250 texts `a...ab`, of up to 5,000 characters, it read 1 kB of `a` in a second.
_FEW, _SHORT = 256, 1 << 13
# Texts up to this long are compared with the text at each place. Of a longer one, the next place is searched for, once.
_NEAR = 1 << 11


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
        # the text that was searched last, and where it has texts of each group; another thread may replace both
        self._far: tuple[AnyStr | None, dict[int, _FarPlaces[AnyStr]]] = None, {}

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
        most = (len(text) if limit is None else limit) - begin
        part = text[begin : begin + min(self.longest, _NEAR, most)]
        at, after = self._at(part)
        if len(part) == _NEAR < most and after < len(self._texts) and self._texts[after].startswith(part):
            searched, far = self._far
            if searched is not text:
                far = {}
                self._far = text, far
            group = self._groups[after]
            places = far.get(group) or far.setdefault(group, _FarPlaces(text, self._members(group)))
            if size := places.longest_at(begin, most):
                return begin + size
        return begin if at < 0 else begin + len(self._texts[at])

    @cached_property
    def _groups(self) -> list[int]:
        """For each text, the number of the first one that begins with the same _NEAR characters."""
        groups: list[int] = []
        for number, text in enumerate(self._texts):
            is_same = number > 0 and len(text) > _NEAR and text[:_NEAR] == self._texts[number - 1][:_NEAR]
            groups.append(groups[-1] if is_same else number)
        return groups

    def _members(self, group: int) -> list[AnyStr]:
        """Return the texts of a group that are longer than what is compared at each place."""
        end = bisect_right(self._groups, group)
        return [text for text in self._texts[group:end] if len(text) > _NEAR]

    def everywhere(self, text: AnyStr) -> Iterator[tuple[int, int]]:
        """Yield (begin, end) of the longest text at each place; matches may overlap."""
        at = 0
        while self.begin is not None and (match := self.begin.search(text, at)):
            begin, end = match.start(), self.end(text, match.start())
            if end > begin:
                yield begin, end
            at = begin + 1

    def _at(self, part: AnyStr) -> tuple[int, int]:
        """Return the number of the longest text that `part` starts with (-1: none), and of the first after it."""
        texts = self._texts
        after = bisect_right(texts, part)
        at = after - 1
        if at < 0 or part.startswith(texts[at]):
            return at, after
        # If `part` starts with a text that sorts before this one, this one starts with it, too.
        size = _common(part, texts[at])
        shorter_of, jump_of = self._rows
        while at >= 0 and len(texts[at]) > size:
            jump = jump_of[at]
            at = jump if jump >= 0 and len(texts[jump]) > size else shorter_of[at]
        return at, after

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


class _FarPlaces(Generic[AnyStr]):
    """Where a text has long texts that begin alike: the next place of each, the first of all at the top of a heap.

    Each search for one goes on where the last one ended, and `find` takes linear time for it.
    """

    def __init__(self, text: AnyStr, wanted: Sequence[AnyStr]) -> None:
        self._text: AnyStr = text
        self._wanted: Sequence[AnyStr] = wanted
        self._lock = Lock()
        self._restart()

    def _restart(self) -> None:
        self._at = 0
        self._heap = [(-1, number) for number in range(len(self._wanted))]  # (place, number), not searched for yet

    def longest_at(self, begin: int, most: int) -> int:
        """Return the size of the longest of the texts that begins at a place, and has at most so many characters.

        0 if none does.
        """
        with self._lock:
            if begin < self._at:
                self._restart()
            self._at = begin
            return self._longest_at(begin, most)

    def _longest_at(self, begin: int, most: int) -> int:
        heap, size = self._heap, 0
        while heap and heap[0][0] < begin:
            number = heap[0][1]
            place = self._text.find(self._wanted[number], begin)
            heapreplace(heap, (place, number)) if place >= 0 else heappop(heap)
        here = []
        while heap and heap[0][0] == begin:
            here.append(heappop(heap))
            found = len(self._wanted[here[-1][1]])
            size = max(size, found if found <= most else 0)
        for item in here:
            heappush(heap, item)
        return size


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
