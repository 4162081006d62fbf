"""The steps by which a `TokenizerSpec` cuts text into pieces, each of which the model sees by itself.

Each cuts the pieces that the one before it left, and may change them.
"""

from __future__ import annotations

from typing import Literal, NamedTuple, TypeAlias

from tokcli.engine.spec.patterns import Pattern

Behavior = Literal["Removed", "Isolated", "Contiguous", "MergedWithPrevious", "MergedWithNext"]
PrependScheme = Literal["always", "first", "never"]
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


class Split(NamedTuple):
    """Cuts at the matches of a pattern or, with `invert`, at the text between them."""

    pattern: Pattern
    behavior: Behavior
    invert: bool = False


class Words(NamedTuple):
    """Cuts into runs of word characters and runs of others, without white space (Rust's `\\w+|[^\\w\\s]+`)."""


class ByteLevel(NamedTuple):
    """Cuts by GPT-2's pattern, unless `use_regex` is off, and turns bytes into the characters of GPT-2's alphabet."""

    add_prefix_space: bool
    use_regex: bool


class Metaspace(NamedTuple):
    """Makes spaces visible, puts one before the text, and cuts before each of them, as SentencePiece does."""

    replacement: str
    prepend_scheme: PrependScheme
    split: bool


class FixedLength(NamedTuple):
    """Cuts into pieces of `length` characters."""

    length: int


class UnicodeScripts(NamedTuple):
    """Cuts where the script changes; Han and the kana are one script, and a space never changes the script."""


Splitter: TypeAlias = PatStr | PatternsInTurn | Split | Words | ByteLevel | Metaspace | FixedLength | UnicodeScripts
