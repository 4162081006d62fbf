"""Paths through Unigram's lattice: the N best ones, and one that is drawn by its probability.

`best_path` (bpe/lattice.py) finds the best path without a lattice. The N best, and the order of those with equal sums,
are SentencePiece's (unigram_model.cc): an A* search from the end of the text, after Nagata 1994. Paths are drawn as in
Kudo 2018 (arXiv:1804.10959), by forward filtering and backward sampling.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from heapq import heappop, heappush
from random import Random
from typing import NamedTuple

from tokcli.engine.bpe.lattice import Path, best_path, to_float32
from tokcli.errors import InputError

MOST_CHARS = 1 << 18  # of a lattice, which takes about 1 kB of memory a character
# With so many partial paths the search goes on with the best 512, or 10 for each path that is asked for: so often
_MOST_PARTIAL, _KEPT_PARTIAL, _MOST_SHRUNK = 10_000, 512, 10


class PathScores(NamedTuple):
    """The scores by which a lattice is made of a text, as `best_path` takes them."""

    scores: Mapping[str, float]
    beginnings: frozenset[str]
    unknown_score: float
    float32: bool = False

    def tokens_at(self, text: str, begin: int) -> Iterator[tuple[int, float, bool]]:
        """Yield (end, score, whether it is a token) of the parts that may begin at a place, the shortest first."""
        score = self.scores.get(text[begin])
        yield begin + 1, self.unknown_score if score is None else score, score is not None
        for end in range(begin + 2, len(text) + 1):
            part = text[begin:end]
            if part not in self.beginnings:
                break
            if (score := self.scores.get(part)) is not None:
                yield end, score, True


def best(text: str, by: PathScores) -> Path:
    """Return the best path through a text."""
    return best_path(text, by.scores, by.beginnings, by.unknown_score, float32=by.float32)


class _Arc(NamedTuple):
    """A part of the text that a path may take; `best` is the sum of the best path that ends with it."""

    begin: int
    score: float
    is_token: bool
    best: float


class Lattice:
    """All ways to cut a text into tokens: for each place of it the arcs that end there, the longest first."""

    def __init__(self, text: str, by: PathScores) -> None:
        if len(text) > MOST_CHARS:
            raise InputError(
                f"{len(text)} characters whose segmentations hang together; at most {MOST_CHARS} are compared",
                "Cut the text into records.",
            )
        self._round: Callable[[float], float] = to_float32 if by.float32 else float
        self._arcs: list[list[_Arc]] = [[] for _ in range(len(text) + 1)]
        for begin in range(len(text)):
            before = max((arc.best for arc in self._arcs[begin]), default=0.0)
            for end, score, is_token in by.tokens_at(text, begin):
                self._arcs[end].append(_Arc(begin, score, is_token, self._round(before + score)))

    def n_best(self, number: int) -> list[tuple[float, Path]] | None:
        """Return (sum, path) of the N best paths, the best first; fewer where there are no more.

        None where too many paths have nearly the same sum: SentencePiece gives up, too, and answers the best path.
        """
        add = self._round
        agenda = [_Partial(0.0, 0.0, len(self._arcs) - 1, False, None)]
        found: list[tuple[float, Path]] = []
        shrunk = 0
        while agenda and len(found) < number:
            top = heappop(agenda)
            if top.is_whole:
                found.append((top.most, top.path()))
                continue
            if top.begin == 0:
                heappush(agenda, _Partial(top.behind, top.behind, 0, False, top, is_whole=True))
            for arc in self._arcs[top.begin]:
                most, behind = add(arc.best + top.behind), add(arc.score + top.behind)
                heappush(agenda, _Partial(most, behind, arc.begin, arc.is_token, top))
            if len(agenda) >= _MOST_PARTIAL:
                shrunk += 1
                if shrunk > _MOST_SHRUNK:
                    return None
                agenda, larger = [], agenda
                for _ in range(min(_KEPT_PARTIAL, 10 * number)):
                    heappush(agenda, heappop(larger))
        return found

    def drawn(self, alpha: float, random: Random) -> Path:
        """Return a path; the probability of each is proportional to exp(alpha * its sum)."""
        filtered = [0.0]  # for each place, the logarithm of the weights of all paths to it
        for arcs in self._arcs[1:]:
            filtered.append(_log_sum([filtered[arc.begin] + alpha * arc.score for arc in arcs]))
        path: Path = []
        end = len(self._arcs) - 1
        while end > 0:
            arcs = self._arcs[end]
            arc = arcs[drawn_index([filtered[arc.begin] + alpha * arc.score for arc in arcs], random)]
            path.append((arc.begin, end, arc.is_token))
            end = arc.begin
        return path[::-1]


class _Partial:
    """The end of a path, from `begin` on: `most` is the sum of the best path with this end, `behind` that of the end.

    Only `most` decides which of two comes first. heapq then orders equal ones as the priority queue of GNU's C++
    library does, so that equal paths come in the order of SentencePiece's builds for Linux.
    """

    __slots__ = ("after", "begin", "behind", "is_token", "is_whole", "most")

    def __init__(
        self, most: float, behind: float, begin: int, is_token: bool, after: _Partial | None, *, is_whole: bool = False
    ) -> None:
        self.most, self.behind, self.begin, self.is_token = most, behind, begin, is_token
        self.after, self.is_whole = after, is_whole

    def __lt__(self, other: _Partial) -> bool:
        return self.most > other.most

    def path(self) -> Path:
        """Return the parts of a whole path, whose first part is the one after this."""
        path: Path = []
        part = self.after
        while part is not None and part.after is not None:
            path.append((part.begin, part.after.begin, part.is_token))
            part = part.after
        return path


def drawn_path(text: str, by: PathScores, alpha: float, random: Random) -> Path:
    """Return what `Lattice.drawn` does, in the memory that a stretch takes between places that no token crosses."""
    path: Path = []
    for begin, end in _stretches(text, by):
        stretch = Lattice(text[begin:end], by).drawn(alpha, random)
        path += [(begin + first, begin + last, is_token) for first, last, is_token in stretch]
    return path


def _stretches(text: str, by: PathScores) -> Iterator[tuple[int, int]]:
    """Yield the shortest stretches of a text between places that no token crosses."""
    start = reach = 0
    for begin in range(len(text)):
        if begin == reach and begin > start:
            yield start, begin
            start = begin
        reach = max(reach, *(end for end, _, _ in by.tokens_at(text, begin)))
    if text:
        yield start, len(text)


def _log_sum(values: Sequence[float]) -> float:
    """Return the logarithm of the sum of exp(value)."""
    most = max(values)
    return most + math.log(sum(math.exp(value - most) for value in values))


def drawn_index(weights: Sequence[float], random: Random) -> int:
    """Return an index that is drawn by weights, of which the logarithms are given.

    >>> drawn_index([-1000.0, 0.0], Random(1))
    1
    """
    if len(weights) == 1:
        return 0
    most = max(weights)
    sizes = [math.exp(weight - most) for weight in weights]
    left = random.random() * sum(sizes)
    for at, size in enumerate(sizes):
        left -= size
        if left < 0:
            return at
    return len(sizes) - 1
