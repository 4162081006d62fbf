"""The steps by which a `TokenizerSpec` changes text before it is cut into pieces."""

from __future__ import annotations

from typing import NamedTuple


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


class LlamaLetters(NamedTuple):
    """Brings text into lower case and leaves accents out where that is asked for, as llama.cpp does for words."""

    lowercase: bool = True
    strip_accents: bool = True
