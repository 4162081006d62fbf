"""The steps by which a `TokenizerSpec` cuts text into pieces, each of which the model sees by itself."""

from __future__ import annotations

from typing import NamedTuple

WORD_ENDS = r"[0-9A-Za-z][ \n]"


class PatStr(NamedTuple):
    """Cuts text into the matches of a pattern, which leave nothing of it out."""

    pattern: str


class PatternsInTurn(NamedTuple):
    """Cuts text by llama.cpp's patterns, each of which cuts the words that the one before left.

    Between two characters that `word_ends` matches, any word ends.
    """

    patterns: tuple[str, ...]
    word_ends: str = WORD_ENDS
