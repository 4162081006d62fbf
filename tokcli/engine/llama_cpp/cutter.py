"""`Cutter`: cuts text into words as llama.cpp's pre-tokenizers do, pattern after pattern."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from typing import NamedTuple

from tokcli.engine.llama_cpp import characters
from tokcli.engine.llama_cpp.patterns import DIGITS_FROM_THE_RIGHT, KIMI, KIMI_PATTERN, THOUSANDS
from tokcli.engine.pretokenizers.program import AFTER_THREES, AROUND, BEFORE_THREES

Spans = Iterator[tuple[int, int]]


class CutStep(NamedTuple):
    """What one pattern of a pre-tokenizer does.

    `sees` rewrites text for it, `source` is the pattern for that text, and `cuts` says where its matches cut: see
    program.py.
    """

    sees: Callable[[str], str]
    source: str
    cuts: int = AROUND

    @property
    def finder(self) -> Callable[[str], Spans]:
        """The function that yields (begin, end) of the pieces of a text that is rewritten."""
        pattern = re.compile(self.source, re.ASCII)
        if self.cuts == AROUND:
            return lambda text: characters.spans(pattern, text)
        return lambda text: _spans_in_threes(pattern, text, ends=self.cuts == AFTER_THREES)


def steps_of(patterns: Sequence[str]) -> list[CutStep]:
    """Return the steps of a pre-tokenizer with these patterns (patterns.py)."""
    steps = []
    for pattern in patterns:
        if pattern == DIGITS_FROM_THE_RIGHT:
            steps.append(CutStep(characters.collapsed, f"[0-9{characters.NUMBER}]+", AFTER_THREES))
        elif pattern == THOUSANDS:
            steps.append(CutStep(characters.white_collapsed, "[0-9]+", BEFORE_THREES))
        elif pattern == KIMI:
            steps.append(CutStep(characters.collapsed_with_han, characters.collapsed_pattern(KIMI_PATTERN)))
        elif characters.has_classes(pattern):
            steps.append(CutStep(characters.collapsed, characters.collapsed_pattern(pattern)))
        else:
            steps.append(CutStep(characters.white_collapsed, pattern))
    return steps


class Cutter:
    """Cuts text by patterns, each of which cuts the words that the one before left."""

    def __init__(self, patterns: Sequence[str]) -> None:
        self._patterns = patterns

    @cached_property
    def _steps(self) -> list[tuple[Callable[[str], str], Callable[[str], Spans]]]:
        """For each pattern, the function that rewrites text for it, and the one that cuts the text."""
        return [(step.sees, step.finder) for step in steps_of(self._patterns)]

    def cut(self, text: str) -> list[str]:
        """Return the words of a text; joined, they are the text."""
        pieces = [(0, len(text))] if text else []
        for sees, find in self._steps:
            seen = sees(text)
            pieces = [(begin + a, begin + b) for begin, end in pieces for a, b in find(seen[begin:end])]
        return [text[begin:end] for begin, end in pieces]


def _spans_in_threes(digits: re.Pattern[str], text: str, *, ends: bool) -> Spans:
    """Yield (begin, end) of the pieces of a text that is cut at threes of digits, counted from the end of their run.

    It is cut at the end of each group, of which the first of a run may be shorter; or, without `ends`, where a group of
    three begins.
    """
    at = 0
    for run in digits.finditer(text):
        first = run.start() + len(run[0]) % 3
        for place in range(first, run.end() + 1, 3):
            is_cut = place > run.start() if ends else place < run.end()
            if is_cut and place > at:
                yield at, place
                at = place
    if at < len(text):
        yield at, len(text)
