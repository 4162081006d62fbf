"""The patterns that the splitters of a tokenizer.json amount to, if any: one known pattern, or a row of them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from tokcli.engine.pipeline.finders import KNOWN_ALIKE, compiled
from tokcli.engine.pretokenizers.known_patterns import GPT2, IN_A_ROW, NUMBER
from tokcli.engine.spec.patterns import Characters, LiteralText, OnigPattern
from tokcli.engine.spec.splitters import ByteLevel, Split, Splitter
from tokcli.engine.unicode.classes import members, ranges_of
from tokcli.engine.unicode.properties import unicode16_ranges
from tokcli.engine.unicode.ranges import Ranges, minus


class CutPattern(NamedTuple):
    """The pattern, or the row of patterns, whose pieces are those of splitters of which the last is ByteLevel.

    Each pattern of a row cuts the pieces of the one before it; what is between two of its matches is a piece, too.
    Without `pat_str` and `row`, they do not amount to patterns.
    """

    pat_str: str | None = None
    row: tuple[str, ...] = ()
    unsafe: Ranges = ()  # characters that they cut differently from `pat_str`
    exact: tuple[str, ...] = ()  # the row of patterns that cuts text with such a character as they do
    prefix_space: bool = False


def cut_pattern_of(splitter: Sequence[Splitter]) -> CutPattern:
    """Return the patterns by which splitters cut, if only ByteLevel comes after them; else none."""
    *steps, last = splitter or (None,)
    if not isinstance(last, ByteLevel) or any(isinstance(step, ByteLevel) for step in steps):
        return CutPattern()  # a second ByteLevel writes the characters of the first as bytes
    if last.add_prefix_space and steps:  # the space is put before each piece
        return CutPattern()
    patterns, has_digits = list[str](), False
    for step in steps:
        pattern = ""
        if isinstance(step, Split) and isinstance(step.pattern, OnigPattern):
            pattern = as_escapes(step.pattern.pattern)
            if not _keeps_all(step, pattern):
                return CutPattern()
        elif isinstance(step, Split) and isinstance(step.pattern, Characters) and step == _DIGITS:
            pattern, has_digits = NUMBER, True
        patterns.append(pattern)
    if last.use_regex:
        patterns.append(GPT2)
    one = IN_A_ROW.get(tuple(patterns)) or (patterns[0] if len(patterns) == 1 else None)
    parts = [*map(_part_of_row, steps), *([GPT2] if last.use_regex else [])]
    row = () if None in parts else tuple(part for part in parts if part)
    if one in KNOWN_ALIKE:
        return CutPattern(
            one, (), newer_numbers() if has_digits else (), row if has_digits else (), last.add_prefix_space
        )
    return CutPattern(row=row)


def as_escapes(pattern: str) -> str:
    r"""Return a pattern as the known ones are written: with escapes for line ends, which some files have as characters.

    >>> as_escapes("[^\r\n]") == r"[^\r\n]"
    True
    """
    if "\\\r" in pattern or "\\\n" in pattern:
        return pattern
    return pattern.replace("\r", r"\r").replace("\n", r"\n")


_DIGITS = Split(Characters("NUMERIC"), "Isolated")


def _keeps_all(step: Split, pattern: str) -> bool:
    """Return whether a step makes a piece of each match, and of the text between two matches."""
    return step.behavior == "Isolated" or (step.behavior == "Removed" and step.invert and pattern in KNOWN_ALIKE)


def _part_of_row(step: Splitter | None) -> str | None:
    """Return the pattern of a step; None for one that does not just cut out matches."""
    if not isinstance(step, Split):
        return None
    pattern, is_isolated = step.pattern, step.behavior == "Isolated"
    if isinstance(pattern, Characters) and (is_isolated or step.behavior == "Contiguous"):
        return f"[{members(pattern.name)}]{'' if is_isolated else '+'}"
    if isinstance(pattern, LiteralText) and is_isolated:
        return re.escape(pattern.text)
    return compiled(pattern.pattern).pretokenizer.pat_str if isinstance(pattern, OnigPattern) and is_isolated else None


def newer_numbers() -> Ranges:
    """Return the digits that Hugging Face's library knows and our patterns do not (they came with Unicode 17)."""
    return minus(ranges_of("NUMERIC"), unicode16_ranges("N") or ())
