"""Unigram's lattice: all ways to cut a piece into tokens, of which the path with the highest sum of scores is taken.

The search is Viterbi's. The order of additions, and which of two equal paths wins, decide ids. Both are those of the
reference libraries, which sum in floats: of 64 bits in Hugging Face's tokenizers and llama.cpp, of 32 bits in
SentencePiece. PLaMo 2's search, from the end of the text in whole numbers, is left to llama_cpp/fragment_models.py.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Iterable, Mapping

Path = list[tuple[int, int, bool]]
"""The parts of a path: (begin, end, whether it is a token)."""

UNKNOWN_PENALTY = 10.0  # an unknown character scores this much less than the lowest token
FLOAT32_MAX = 3.4028234663852886e38  # what the libraries take for the lowest score where there is no token
_RESET = 100_000.0  # beyond this sum, SentencePiece counts from zero again, so that floats of 32 bits stay exact
_SINGLE = struct.Struct("<f")


def to_float32(value: float) -> float:
    """Round a float of 64 bits to 32; return an infinite one where it is too large.

    >>> to_float32(0.1), to_float32(1e39)
    (0.10000000149011612, inf)
    """
    try:
        return float(_SINGLE.unpack(_SINGLE.pack(value))[0])
    except OverflowError:
        return math.copysign(math.inf, value)


def prefixes(tokens: Iterable[str]) -> frozenset[str]:
    """Return all prefixes of some tokens, themselves included: every text that may grow into a token.

    >>> sorted(prefixes(["ab", "b"]))
    ['a', 'ab', 'b']
    """
    found: set[str] = set()
    for token in tokens:
        for end in range(len(token), 0, -1):
            if token[:end] in found:
                break
            found.add(token[:end])
    return frozenset(found)


def best_path(
    piece: str,
    scores: Mapping[str, float],
    beginnings: frozenset[str],
    unknown_score: float,
    *,
    float32: bool = False,
) -> Path:
    """Return (begin, end, whether it is a token) for each part of the best path through a piece.

    A character that is not a token by itself may be taken as unknown, and scores `unknown_score`. `beginnings` are the
    `prefixes` of the tokens in `scores`. Sums are floats of 64 bits, or of 32 bits with `float32`. A path replaces
    another to the same place only if it is better, and longer last tokens are tried first: they win ties.

    >>> scores = {"a": -1.0, "b": -1.0, "ab": -2.0}
    >>> best_path("abc", scores, prefixes(scores), -12.0)
    [(0, 2, True), (2, 3, False)]
    """
    return best_path_from(0.0, piece, scores, beginnings, unknown_score, float32=float32)[0]


def best_path_from(
    before: float,
    piece: str,
    scores: Mapping[str, float],
    beginnings: frozenset[str],
    unknown_score: float,
    *,
    float32: bool = False,
) -> tuple[Path, float]:
    """Return what `best_path` does for a piece after others, and the sum at its end; `before` is the sum before it."""
    size = len(piece)
    best = [0.0] * (size + 1)
    best[0] = before
    starts: list[int | None] = [None] * (size + 1)  # of the last part on the best path; -begin - 1 if it is unknown
    frontier = 0
    for begin in range(size):
        here = best[begin]
        if float32 and not -_RESET <= here <= _RESET:
            for at in range(begin, frontier + 1):
                if at == begin or starts[at] is not None:
                    best[at] = to_float32(best[at] - here)
            here = 0.0
        has_single = False
        for end in range(begin + 1, size + 1):
            text = piece[begin:end]
            if text not in beginnings:
                break
            score = scores.get(text)
            if score is None:
                continue
            total = score + here
            if float32:
                total = to_float32(total)
                frontier = max(frontier, end)
            if starts[end] is None or total > best[end]:
                best[end], starts[end] = total, begin
            has_single |= end == begin + 1
        if not has_single:
            end = begin + 1
            total = unknown_score + here
            if float32:
                total = to_float32(total)
                frontier = max(frontier, end)
            if starts[end] is None or total > best[end]:
                best[end], starts[end] = total, -begin - 1
    return _traced(starts), best[size]


def _traced(starts: list[int | None]) -> Path:
    """Return the parts of the best path, found by following the starts of the last parts back from the end."""
    path: Path = []
    end = len(starts) - 1
    while end > 0:
        start = starts[end] or 0
        begin = start if start >= 0 else -start - 1
        path.append((begin, end, start >= 0))
        end = begin
    return path[::-1]
