"""`TextTokenizer`: what a family of tokenizers answers that turns whole texts into ids by rules of its own.

The families (tokenizer.json, SentencePiece, llama.cpp, minbpe) derive from it, and take from it what holds for most of
them. Streams, arrays and batches are left to the adapters in adapters/.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from tokcli.engine.shortcut.shortcut import DecodingFacts, Shortcut
from tokcli.engine.token_vocabulary import TokenVocabulary
from tokcli.engine.tokens import Tokens
from tokcli.engine.twins import TextTwin

Pairs = list[tuple[int, int]]


class TextTokenizer(TokenVocabulary, Protocol):
    """A tokenizer of whole texts. Special tokens become their id where they are in `allowed`, else they are text."""

    if TYPE_CHECKING:  # as in TokenVocabulary

        @property
        def is_byte_level(self) -> bool:
            """Whether any bytes can be encoded."""

    def encode(self, text: str, allowed: frozenset[str]) -> list[int]:
        """Return the ids of a text."""

    def encode_spans(self, text: str, allowed: frozenset[str]) -> Tokens:
        """Return the tokens of a text with their places; InputError where these are not known."""

    @property
    def family(self) -> str:
        """The family of the tokenizer, by which the registry keeps it in its cache; "" where nothing is kept."""
        return ""

    @property
    def trims_spans(self) -> bool:
        """Whether `finish` takes the spaces at the ends of tokens out of their spans, so that it needs their blanks."""
        return False

    def decoding_facts(self) -> DecodingFacts | None:
        """Return how ids are decoded, where the bytes of each id tell that; else None."""
        return None

    @property
    def shortcut(self) -> Shortcut | None:
        """Ranks and a pattern that give the same ids faster; None where there are none."""
        return None

    @property
    def native(self) -> TextTwin | None:
        """The native twin of `encode` for whole texts; None where there is none."""
        return None

    @property
    def is_native(self) -> bool:
        """Whether native code does the work on whole texts."""
        return self.native is not None

    @property
    def whole(self) -> TextTokenizer:
        """The tokenizer with everything that its file says; a compiled one reads the file for it."""
        return self

    @property
    def single_pattern(self) -> str | None:
        """The regex that alone cuts text into pieces; None where there is none, or other parts have a say."""
        return None

    def cut(self, text: str) -> list[str] | None:
        """Return the pieces of any text that `shortcut`'s ranks merge; None where only `encode` has its ids."""
        del text
        return None

    @property
    def is_tokenizer_json(self) -> bool:
        """Whether the file is a tokenizer.json."""
        return False

    def as_ranks(self) -> tuple[dict[bytes, int], Pairs] | None:
        """Return mergeable_ranks and the pairs that merge, where these give the ids without a shortcut; else None."""
        return None

    def why_no_ranks(self) -> list[str]:
        """Return what ranks and a pattern do not say of the tokenizer, in words that follow "would lose"."""
        return ["its rules"]

    def notes_on_ranks(self) -> list[str]:
        """Return in which texts ranks and a pattern may give other ids elsewhere, a sentence each."""
        return []

    def own_text(self, number: int) -> str | None:
        """Return the text that an id stands for by itself; None where it has none, as a control token or a byte."""
        try:
            return self.decode([number]).decode()
        except UnicodeDecodeError:
            return None

    def encode_own_text(self, text: str) -> list[int]:
        """Return the ids of a text that `own_text` gave, without anything that is put before a text."""
        return self.encode(text, frozenset())
