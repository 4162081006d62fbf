"""`Cutter`: cuts text into words as llama.cpp's pre-tokenizers do, pattern after pattern."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property, lru_cache

from tokcli.engine.llama_cpp import characters
from tokcli.engine.llama_cpp.patterns import DIGITS_FROM_THE_RIGHT, KIMI, KIMI_PATTERN, PRE_TYPES


class Cutter:
    """Cuts text by the patterns of a `PreType`, each of which cuts the words that the one before left."""

    def __init__(self, patterns: Sequence[str]) -> None:
        self._patterns = patterns

    @cached_property
    def _steps(self) -> list[tuple[Callable[[str], str], re.Pattern[str] | None]]:
        """For each pattern, the function that rewrites text for it, and the pattern (None: digits from the right)."""
        steps: list[tuple[Callable[[str], str], re.Pattern[str] | None]] = []
        for pattern in self._patterns:
            if pattern == DIGITS_FROM_THE_RIGHT:
                steps.append((characters.collapsed, None))
            elif pattern == KIMI:
                kimi = re.compile(characters.collapsed_pattern(KIMI_PATTERN), re.ASCII)
                steps.append((characters.collapsed_with_han, kimi))
            elif characters.has_classes(pattern):
                steps.append((characters.collapsed, re.compile(characters.collapsed_pattern(pattern), re.ASCII)))
            else:
                steps.append((characters.white_collapsed, re.compile(pattern, re.ASCII)))
        return steps

    def cut(self, text: str) -> list[str]:
        """Return the words of a text; joined, they are the text."""
        pieces = [(0, len(text))] if text else []
        for sees, pattern in self._steps:
            seen, out = sees(text), []
            for begin, end in pieces:
                part = seen[begin:end]
                spans = _digits_from_the_right(part) if pattern is None else characters.spans(pattern, part)
                out += [(begin + a, begin + b) for a, b in spans]
            pieces = out
        return [text[begin:end] for begin, end in pieces]


@lru_cache(maxsize=8)
def cutter(name: str) -> Callable[[str], list[str]]:
    """Return the function that cuts text into words as the pre-tokenizer with this name does."""
    return Cutter(PRE_TYPES[name].patterns).cut


_DIGITS = re.compile(f"[0-9{characters.NUMBER}]+")


def _digits_from_the_right(text: str) -> Iterator[tuple[int, int]]:
    """Yield (begin, end) of groups of three digits, counted from a run's end; text before it is in the first group."""
    at = 0
    for run in _DIGITS.finditer(text):
        end = run.start() + (len(run[0]) % 3 or 3)
        while end <= run.end():
            yield at, end
            at, end = end, end + 3
    if at < len(text):
        yield at, len(text)
