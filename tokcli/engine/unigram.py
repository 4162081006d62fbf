"""Unigram: of all ways to cut a piece into tokens, the one whose scores add up to the most (Viterbi).

The order of additions and the treatment of equals are those of the reference libraries, which sum in floats: 64 bits in
Hugging Face's tokenizers and llama.cpp, 32 in SentencePiece (`single` here), and ties decide ids.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from tokcli.engine.models import Token, byte_token
from tokcli.errors import InputError

UNKNOWN_PENALTY = 10.0  # below the lowest score


def single(value: float) -> float:
    """A float of 64 bits rounded to 32; infinite where it is too large."""
    try:
        return float(_F.unpack(_F.pack(value))[0])
    except OverflowError:
        return math.copysign(math.inf, value)


_F = struct.Struct("<f")


@dataclass(frozen=True)
class Unigram:
    """Tokens and their scores, by id, as tokenizer.json has them: every token takes part, unknown ones are fused."""

    pieces: Sequence[tuple[str, float]] = field(repr=False)
    unk_id: int | None
    byte_fallback: bool = False

    @cached_property
    def ids(self) -> Mapping[str, int]:
        """The id of each token; of equal ones, the last."""
        return {text: number for number, (text, _) in enumerate(self.pieces)}

    @cached_property
    def _scores(self) -> dict[str, float]:
        return {text: self.pieces[number][1] for text, number in self.ids.items() if text}

    @cached_property
    def _prefixes(self) -> frozenset[str]:
        return prefixes(self._scores)

    @cached_property
    def _unknown_score(self) -> float:
        return min((score for _, score in self.pieces), default=0.0) - UNKNOWN_PENALTY

    def encode(self, piece: str) -> tuple[int, ...]:
        """The ids of a piece."""
        return tuple(token.id for token in self.tokens(piece))

    def tokens(self, piece: str) -> list[Token]:
        """The same, and where they stand."""
        starts = best_starts(piece, self._scores, self._prefixes, self._unknown_score)
        found: list[Token] = []
        for begin, end, known in self._fused(piece, starts):
            text = piece[begin:end]
            number = self.ids.get(text) if known else None
            if number is None:  # what was fused may be a token all the same, as in the library
                number = self.ids.get(text)
            if number is not None:
                found.append(Token(number, text, begin, end))
                continue
            numbers = [self.ids.get(byte_token(byte)) for byte in text.encode()] if self.byte_fallback else [None]
            named = [(number, byte) for number, byte in zip(numbers, text.encode(), strict=False) if number is not None]
            if len(named) == len(text.encode()):
                found += [Token(number, byte_token(byte), begin, end) for number, byte in named]
                continue
            if self.unk_id is None:
                raise InputError(f"{text[:40]!r} is no token, and the vocabulary has none for what is unknown")
            found.append(Token(self.unk_id, text, begin, end))
        return found

    def _fused(self, piece: str, starts: Sequence[int]) -> list[tuple[int, int, bool]]:
        """(from, to, whether it is a token), unknown characters that follow on one another as one."""
        out: list[tuple[int, int, bool]] = []
        end = len(piece)
        while end > 0:
            begin = starts[end]
            known = begin >= 0
            begin = begin if known else -begin - 1
            if known and self.unk_id is not None and self.ids.get(piece[begin:end]) == self.unk_id:
                known = False
            if not known and out and not out[-1][2]:
                out[-1] = (begin, out[-1][1], False)
            else:
                out.append((begin, end, known))
            end = begin
        return out[::-1]

    def texts(self) -> dict[int, str]:
        """The text of each id."""
        return {number: text for number, (text, _) in enumerate(self.pieces)}


def prefixes(tokens: Mapping[str, object]) -> frozenset[str]:
    """All beginnings of some tokens: how long to go on looking."""
    found: set[str] = set()
    for token in tokens:
        for end in range(len(token), 0, -1):
            if token[:end] in found:
                break
            found.add(token[:end])
    return frozenset(found)


def best_starts(
    piece: str,
    scores: Mapping[str, float],
    beginnings: frozenset[str],
    unknown_score: float,
) -> list[int]:
    """For each end in a piece, where its last token begins on the best way there; -begin - 1 for an unknown character.

    A way replaces another only if it is better, and shorter tokens are tried first.
    """
    size = len(piece)
    best = [0.0] * (size + 1)
    starts: list[int | None] = [None] * (size + 1)
    for begin in range(size):
        here = best[begin]
        has_single = False
        for end in range(begin + 1, size + 1):
            text = piece[begin:end]
            if text not in beginnings:
                break
            score = scores.get(text)
            if score is None:
                continue
            total = score + here
            if starts[end] is None or total > best[end]:
                best[end], starts[end] = total, begin
            has_single |= end == begin + 1
        if not has_single:
            total = unknown_score + here
            if starts[begin + 1] is None or total > best[begin + 1]:
                best[begin + 1], starts[begin + 1] = total, -begin - 1
    return [start if start is not None else 0 for start in starts]
