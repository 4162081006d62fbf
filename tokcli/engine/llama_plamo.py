"""PLaMo 2's tokenizer as llama.cpp has it: the tokens whose scores add up to the most, found from the end of a text.

Scores are whole numbers (ten-thousandths), so no rounding decides; of equal ways the one with the longer token counts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property

from tokcli.engine.unigram import prefixes

_UNKNOWN, _INVALID = -10_000_000, -20_000_000  # scores; of tokens, those at or below the second are never taken
_BYTE_ORDER_MARK = "\ufeff"


class Plamo:
    """`tokens`: (id, score) by text, without those for bytes, whose ids are `byte_ids`.

    >>> Plamo({"a": (5, -1.0), "ab": (6, -3.0), "b": (7, -1.0)}, range(100, 356)).encode("abc")
    [5, 7, 199]
    """

    def __init__(self, tokens: Mapping[str, tuple[int, float]], byte_ids: Sequence[int]) -> None:
        self._tokens = {text: (number, _rounded(score * 1e4)) for text, (number, score) in tokens.items()}
        self._byte_ids = byte_ids

    @cached_property
    def _prefixes(self) -> frozenset[str]:
        return prefixes(self._tokens)

    def encode(self, text: str) -> list[int]:
        """The ids of a text; characters that are in no token are bytes. A byte order mark at its start is left out."""
        text = text.removeprefix(_BYTE_ORDER_MARK)
        size = len(text)
        costs = [0] * (size + 1)
        best: list[tuple[int, int]] = [(0, -1)] * size  # (characters, id) of the token to begin with; -1: bytes
        for begin in range(size - 1, -1, -1):
            cost, found, is_last = 1 << 60, (1, -1), False
            for length, number, score in self._starting_at(text, begin):
                if score > _INVALID and costs[begin + length] - score < cost:
                    cost, found = costs[begin + length] - score, (length, number)
                if is_last := score == _UNKNOWN:
                    break
            if not is_last and costs[begin + 1] - _UNKNOWN < cost:
                cost, found = costs[begin + 1] - _UNKNOWN, (1, -1)
            costs[begin], best[begin] = cost, found
        ids: list[int] = []
        at = 0
        while at < size:
            length, number = best[at]
            ids += (self._byte_ids[byte] for byte in text[at].encode()) if number < 0 else (number,)
            at += length
        return ids

    def _starting_at(self, text: str, begin: int) -> list[tuple[int, int, int]]:
        """(characters, id, score) of the tokens that begin here, the longest first."""
        out = []
        for end in range(begin + 1, len(text) + 1):
            part = text[begin:end]
            if part not in self._prefixes:
                break
            if part in self._tokens:
                out.append((end - begin, *self._tokens[part]))
        return out[::-1]


def _rounded(value: float) -> int:
    """To the nearest, halves away from zero."""
    return int(value + 0.5) if value >= 0 else -int(-value + 0.5)
