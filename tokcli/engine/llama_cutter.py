"""`Cutter`: text cut into words as llama.cpp's pre-tokenizers do it, pattern after pattern."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property, lru_cache

from tokcli.engine import llama_unicode as characters
from tokcli.engine.llama_patterns import DIGITS_FROM_THE_RIGHT, KIMI, KIMI_PATTERN, PRE_TYPES


class Cutter:
    """Cuts by the patterns of a `PreType`; each cuts what the one before left."""

    def __init__(self, patterns: Sequence[str]) -> None:
        self._patterns = patterns

    @cached_property
    def _steps(self) -> list[tuple[str, re.Pattern[str] | None]]:
        """(what the pattern looks at, the pattern), None for digits from the right."""
        steps: list[tuple[str, re.Pattern[str] | None]] = []
        for pattern in self._patterns:
            if pattern == DIGITS_FROM_THE_RIGHT:
                steps.append(("collapsed", None))
            elif pattern == KIMI:
                steps.append(("han", re.compile(characters.collapsed_pattern(KIMI_PATTERN), re.ASCII)))
            elif characters.has_classes(pattern):
                steps.append(("collapsed", re.compile(characters.collapsed_pattern(pattern), re.ASCII)))
            else:
                steps.append(("white", re.compile(pattern, re.ASCII)))
        return steps

    def cut(self, text: str) -> list[str]:
        """The words of a text: each pattern cuts what the one before left."""
        pieces = [(0, len(text))] if text else []
        for sees, pattern in self._steps:
            seen = {
                "collapsed": characters.collapsed,
                "white": characters.white_collapsed,
                "han": characters.collapsed_with_han,
            }[sees](text)
            out: list[tuple[int, int]] = []
            for begin, end in pieces:
                part = seen[begin:end]
                spans = _digits_from_the_right(part) if pattern is None else characters.spans(pattern, part)
                out += [(begin + a, begin + b) for a, b in spans]
            pieces = out
        return [text[begin:end] for begin, end in pieces]


@lru_cache(maxsize=8)
def cutter(name: str) -> Callable[[str], list[str]]:
    """What cuts text into words as the pre-tokenizer of this name does."""
    return Cutter(PRE_TYPES[name].patterns).cut


_DIGITS = re.compile(f"[0-9{characters.NUMBER}]+")


def _digits_from_the_right(text: str) -> Iterator[tuple[int, int]]:
    """Digits in threes, counted from the end of a run; what stands before a run goes with its first group."""
    at = 0
    for run in _DIGITS.finditer(text):
        end = run.start() + (len(run[0]) % 3 or 3)
        while end <= run.end():
            yield at, end
            at, end = end, end + 3
    if at < len(text):
        yield at, len(text)
