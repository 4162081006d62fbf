"""The patterns that the pre-tokenizer of a tokenizer.json amounts to, if any: one known pattern, or a row of them."""

from __future__ import annotations

import re
from typing import Any, NamedTuple

from tokcli.engine.pipeline import pretokenizers as split
from tokcli.engine.pipeline.finders import KNOWN_ALIKE, Characters, LiteralText, OnigPattern
from tokcli.engine.pretokenizers.known_patterns import GPT2, IN_A_ROW, NUMBER
from tokcli.engine.unicode.classes import members, ranges_of
from tokcli.engine.unicode.properties import unicode16_ranges
from tokcli.engine.unicode.ranges import Ranges, minus


class CutPattern(NamedTuple):
    """The pattern, or the row of patterns, whose pieces are those of a pre-tokenizer that ends with ByteLevel.

    Each pattern of a row cuts the pieces of the one before it; what is between two of its matches is a piece, too.
    Without `pat_str` and `row`, the pre-tokenizer does not amount to patterns.
    """

    pat_str: str | None = None
    row: tuple[str, ...] = ()
    unsafe: Ranges = ()  # characters that the pre-tokenizer cuts differently from `pat_str`
    exact: tuple[str, ...] = ()  # the row of patterns that cuts text with such a character as the pre-tokenizer does
    prefix_space: bool = False


def cut_pattern_of(pre_tokenizer: dict[str, Any], splitter: split.Splitter) -> CutPattern:
    """Return the patterns of a pre-tokenizer, read as `splitter`, if only ByteLevel comes after them; else none."""
    is_sequence = pre_tokenizer.get("type") == "Sequence"
    steps = pre_tokenizer["pretokenizers"] if is_sequence else [pre_tokenizer]
    if not steps or steps[-1].get("type") != "ByteLevel" or _byte_levels(splitter) > 1:
        return CutPattern()
    byte_level, patterns, has_digits = steps[-1], [], False
    for step in steps[:-1]:
        pattern = as_escapes(step["pattern"].get("Regex")) if step.get("type") == "Split" else None
        if step.get("type") == "Digits" and step.get("individual_digits"):
            pattern, has_digits = NUMBER, True
        elif pattern is not None and not _keeps_all(step, pattern):
            return CutPattern()
        patterns.append(pattern)
    if byte_level.get("use_regex", True):
        patterns.append(GPT2)
    one = IN_A_ROW.get(tuple(pattern or "" for pattern in patterns)) or (patterns[0] if len(patterns) == 1 else None)
    prefix_space = byte_level.get("add_prefix_space", True)
    if prefix_space and len(steps) > 1:  # the space is put before each piece
        return CutPattern()
    parts = _row_of(splitter)
    row = () if None in parts else tuple(part for part in parts if part)
    if one in KNOWN_ALIKE:
        return CutPattern(one, (), newer_numbers() if has_digits else (), row if has_digits else (), prefix_space)
    return CutPattern(row=row)


def as_escapes(pattern: str | None) -> str | None:
    r"""Return a pattern as the known ones are written: with escapes for line ends, which some files have as characters.

    >>> as_escapes("[^\r\n]") == r"[^\r\n]"
    True
    """
    if pattern is None or "\\\r" in pattern or "\\\n" in pattern:
        return pattern
    return pattern.replace("\r", r"\r").replace("\n", r"\n")


def _keeps_all(split: dict[str, Any], pattern: str) -> bool:
    """Return whether a Split makes a piece of each match, and of the text between two matches."""
    if split["behavior"] == "Isolated":
        return True
    return split["behavior"] == "Removed" and bool(split.get("invert")) and pattern in KNOWN_ALIKE


def _byte_levels(splitter: split.Splitter) -> int:
    """Return the number of ByteLevels in a pre-tokenizer; a second one writes the characters of the first as bytes."""
    if isinstance(splitter, split.SplitterSequence):
        return sum(map(_byte_levels, splitter.splitters))
    return int(isinstance(splitter, split.ByteLevel))


def _row_of(splitter: split.Splitter) -> list[str | None]:
    """Return the patterns of a pre-tokenizer's parts, in order; None for a part that does not just cut out matches."""
    if isinstance(splitter, split.SplitterSequence):
        return [pattern for part in splitter.splitters for pattern in _row_of(part)]
    if isinstance(splitter, split.ByteLevel):
        return [GPT2] if splitter.use_regex else []
    if not isinstance(splitter, split.Split):
        return [None]
    finder, is_isolated = splitter.finder, splitter.behavior == "Isolated"
    if isinstance(finder, Characters) and (is_isolated or splitter.behavior == "Contiguous"):
        return [f"[{members(finder.name)}]{'' if is_isolated else '+'}"]
    if isinstance(finder, LiteralText) and is_isolated:
        return [re.escape(finder.text)]
    return [finder.pretokenizer.pat_str if isinstance(finder, OnigPattern) and is_isolated else None]


def newer_numbers() -> Ranges:
    """Return the digits that Hugging Face's library knows and our patterns do not (they came with Unicode 17)."""
    return minus(ranges_of("NUMERIC"), unicode16_ranges("N") or ())
