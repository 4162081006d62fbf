"""The steps by which a `TokenizerSpec` changes text before it is cut into pieces."""

from __future__ import annotations

from typing import Literal, NamedTuple, TypeAlias

from tokcli.engine.spec.patterns import CharacterClass, Pattern

Form = Literal["NFC", "NFD", "NFKC", "NFKD"]


class UnicodeForm(NamedTuple):
    """Brings text into one of Unicode's normalization forms."""

    form: Form


class Lowercase(NamedTuple):
    """Turns every character into lower case."""


class Without(NamedTuple):
    """Drops the characters of a class."""

    name: CharacterClass


class Strip(NamedTuple):
    """Drops white space at the ends."""

    left: bool
    right: bool


class Prepend(NamedTuple):
    """Puts a text before any text that is not empty."""

    text: str


class Replace(NamedTuple):
    """Replaces what a pattern finds."""

    pattern: Pattern
    content: str


class ByteLevelNormalizer(NamedTuple):
    """Turns each byte into its character of GPT-2's alphabet."""


class Nmt(NamedTuple):
    """Drops control characters and turns unusual spaces into spaces (the rules of SentencePiece's nmt_nfkc)."""


class Precompiled(NamedTuple):
    """Applies the charsmap of a SentencePiece model to grapheme clusters, or to their characters."""

    charsmap: bytes


class Bert(NamedTuple):
    """Does what BERT's normalizer does; where `strip_accents` is None, accents are stripped if `lowercase` is set."""

    clean_text: bool
    handle_chinese_chars: bool
    strip_accents: bool | None
    lowercase: bool


class SentencePieceNormalizer(NamedTuple):
    """Replaces text by the rules of a charsmap, if there are any, and puts, removes and shows spaces (SentencePiece).

    `kept` are the user-defined symbols, which no rule changes.
    """

    charsmap: bytes = b""
    add_dummy_prefix: bool = True
    remove_extra_whitespaces: bool = True
    escape_whitespaces: bool = True
    whitespace_as_suffix: bool = False
    kept: frozenset[str] = frozenset()


Normalizer: TypeAlias = (
    UnicodeForm
    | Lowercase
    | Without
    | Strip
    | Prepend
    | Replace
    | ByteLevelNormalizer
    | Nmt
    | Precompiled
    | Bert
    | SentencePieceNormalizer
)
