"""What the steps of a `TokenizerSpec` look for in text."""

# (no `from __future__ import annotations`: json_form.py checks values by the types of the fields)
from typing import Literal, NamedTuple, TypeAlias

CharacterClass = Literal[
    "MARK", "BERT_MARK", "BERT_CONTROL", "PUNCTUATION", "NUMERIC", "WORD", "SPACE", "EXTEND", "PREPEND"
]  # members are those of engine/unicode/classes.py


class LiteralText(NamedTuple):
    """Finds a text that is not empty."""

    text: str


class Characters(NamedTuple):
    """Finds the single characters of a class."""

    name: CharacterClass


class OnigPattern(NamedTuple):
    """Finds the matches of a pattern in Oniguruma's language."""

    pattern: str


Pattern: TypeAlias = LiteralText | Characters | OnigPattern
