"""The steps by which a `TokenizerSpec` turns the texts of tokens into others, which joined are the decoded text."""

# (no `from __future__ import annotations`: json_form.py checks values by the types of the fields)
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from tokcli.engine.spec.patterns import Pattern

if TYPE_CHECKING:
    from tokcli.engine.spec.normalizers import SentencePieceNormalizer


class ByteLevelDecoder(NamedTuple):
    """Turns characters of GPT-2's alphabet into bytes; a token with any other character is its own text."""


class ByteFallback(NamedTuple):
    """Turns tokens such as <0x0A> into bytes; a run of them is decoded as UTF-8 together."""


class Fuse(NamedTuple):
    """Joins all tokens into one."""


class StripDecoder(NamedTuple):
    """Drops a character up to `start` times at the beginning of each token, and up to `stop` times at its end."""

    content: str
    start: int
    stop: int


class ReplaceDecoder(NamedTuple):
    """Replaces what a pattern finds in each token."""

    pattern: Pattern
    content: str


class WordPieceDecoder(NamedTuple):
    """Puts a space before each token but the first; one that continues a word loses its prefix instead."""

    prefix: str
    cleanup: bool


class MetaspaceDecoder(NamedTuple):
    """Turns visible spaces into spaces, and drops those of the first token if encoding puts one there."""

    replacement: str
    is_prepended: bool


class BpeSuffix(NamedTuple):
    """Turns the suffix that ends a word into a space, and drops it from the last token."""

    suffix: str


class Ctc(NamedTuple):
    """Drops repeated tokens and padding, and turns the delimiter of words into a space."""

    pad_token: str
    word_delimiter_token: str
    cleanup: bool


class Spaced(NamedTuple):
    """Joins tokens with spaces, as the library does where a file has no decoder."""


Decoder: TypeAlias = (
    ByteLevelDecoder
    | ByteFallback
    | Fuse
    | StripDecoder
    | ReplaceDecoder
    | WordPieceDecoder
    | MetaspaceDecoder
    | BpeSuffix
    | Ctc
    | Spaced
)


class SentencePieceDecoder(NamedTuple):
    """Joins the texts of pieces, without the spaces that the normalizer puts or removes at the beginning of a text.

    Unknown pieces are `unknown_surface`, and control pieces have no text. The denormalizer, if there is one, changes
    the text in the end.
    """

    unknown_surface: str = " \u2047 "
    denormalizer: "SentencePieceNormalizer | None" = None
