"""`TextTokenizer`: the interface of the rules of a tokenizer, which turn whole texts into ids in Python.

The families (ranks; by a spec: tokenizer.json, SentencePiece, llama.cpp, minbpe) derive from it, and inherit its
default implementations. Streams, batches and native code are left to `Tokenizer`.
"""

from __future__ import annotations

import re
from array import array
from contextlib import suppress
from functools import cached_property
from typing import TYPE_CHECKING, Any, cast

from tokcli.engine import Protocol, backend
from tokcli.engine.base.arguments import NONE
from tokcli.engine.stream.special_tokens import segments
from tokcli.engine.stream.utf8 import plain_text
from tokcli.engine.token_vocabulary import TokenVocabulary
from tokcli.engine.tokens import Tokens, enclosed, joined

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from tokcli.engine.bpe.bpe import PieceCache
    from tokcli.engine.native_models.cut_text import CutText
    from tokcli.engine.native_models.text_model import NativeText, TwinFor
    from tokcli.engine.spec.added_token import AddedToken
    from tokcli.engine.spec.spec import TokenizerSpec
    from tokcli.engine.spec.templates import Around
    from tokcli.engine.stream.decoding_facts import DecodingFacts
    from tokcli.engine.stream.utf8 import TextOrUtf8

Pairs = list[tuple[int, int]]
NextTokens = tuple[Tokens, float]


def words_at_spaces(text: str) -> list[str]:
    """Return the words of a text, each with one space before it, and runs of spaces; joined, they are the text.

    >>> words_at_spaces("one two   three")
    ['one', ' two', '   ', 'three']
    """
    return re.findall(r" ?[^ ]+| +", text)


class TextTokenizer(TokenVocabulary, Protocol):
    """A tokenizer of whole texts. Special tokens in `allowed` become their id; all others are ordinary text."""

    if TYPE_CHECKING:  # as in TokenVocabulary

        @property
        def is_byte_level(self) -> bool:
            """Whether any bytes can be encoded."""

    @property
    def in_python(self) -> TextTokenizer | CutText:
        """The rules that encode texts in Python for those that do not do so themselves."""
        return self.whole

    def encode(self, text: str, allowed: frozenset[str]) -> list[int]:
        """Return the ids of a text."""
        return self.in_python.encode(text, allowed)

    def encode_array(self, text: TextOrUtf8, allowed: frozenset[str]) -> memoryview:
        """Return the ids of a text as an array (uint32)."""
        return memoryview(array("I", self.encode(plain_text(text), allowed)))

    def count(self, text: TextOrUtf8, allowed: frozenset[str]) -> int:
        """Return the number of ids of a text."""
        return len(self.encode(plain_text(text), allowed))

    def encode_next(
        self, text: TextOrUtf8, allowed: frozenset[str], before: str, total: float, *, places: bool
    ) -> NextTokens:
        """Return the tokens of a text that continues another, and the sum of all scores after it.

        It is for tokenizers whose ids depend on the sum of the scores before them, which is `total`; their families
        override it. `before` is a letter that stands for the text before, "" at the beginning. With `places` the tokens
        have their places in the text; InputError where these are not known.
        """
        return self.in_python.encode_next(text, allowed, before, total, places=places)

    def encode_spans(self, text: str, allowed: frozenset[str]) -> Tokens:
        """Return the tokens of a text with their places; InputError where these are not known."""
        return self.in_python.encode_spans(text, allowed)

    @property
    def trims_spans(self) -> bool:
        """Whether `finish` takes the spaces at the ends of tokens out of their spans, and so needs `Tokens.blanks`."""
        return False

    def decoding_facts(self) -> DecodingFacts | None:
        """Return the bytes of each id, and how they are joined; None where decoding needs more than these."""
        return None

    def added_tokens(self) -> Sequence[AddedToken]:
        """Return the tokens that are found in text before a model sees it."""
        return ()

    @property
    def text_ranks(self) -> Any:
        """The `TextRanks` that give the same ids faster, if there are such; these are rules themselves."""
        return None

    @property
    def native(self) -> NativeText | None:
        """The native twin of `encode` for whole texts; None where there is none."""
        return None

    @property
    def twins(self) -> TwinFor | None:
        """The function that gives the native twin for the special tokens that become their id, if there is a twin."""
        if (native := self.native) is None:
            return None
        return lambda _allowed: native

    @property
    def is_native(self) -> bool:
        """Whether native code does the work on whole texts."""
        return self.native is not None

    @property
    def whole(self) -> TextTokenizer:
        """The tokenizer with everything that its file says; one that comes from the cache reads the file for it."""
        return self

    @property
    def single_pattern(self) -> str | None:
        """The regex that alone cuts text into pieces; None where there is none, or other parts cut text too."""
        return None

    @property
    def splits_at_spaces(self) -> bool:
        """Whether `split` gives words, as `words_at_spaces` does: the model itself sees a text whole."""
        return False

    @property
    def is_tokenizer_json(self) -> bool:
        """Whether the file is a tokenizer.json."""
        return False

    def as_ranks(self) -> tuple[dict[bytes, int], Pairs] | None:
        """Return mergeable_ranks and the pairs that merge, if these give the ids of any text; else None."""
        return None

    def why_no_ranks(self) -> list[str]:
        """Return what ranks and a pattern cannot express about the tokenizer, in words that follow "would lose"."""
        return ["its rules"]

    def notes_on_ranks(self) -> list[str]:
        """Return sentences that say for which texts ranks and a pattern may give other ids in another program."""
        return []

    def own_text(self, id: int) -> str | None:
        """Return the text that an id stands for by itself; None for others, such as control tokens and bytes."""
        try:
            return self.decode([id]).decode()
        except UnicodeDecodeError:
            return None

    @property
    def is_own_text_normalized(self) -> bool:
        """Whether a text that `own_text` gave is normalized already: then `encode_own_text` encodes it."""
        return False

    def encode_own_text(self, text: str) -> list[int]:
        """Return the ids of a text that `own_text` gave, without what the tokenizer puts before other texts."""
        return self.encode(text, NONE)


def special_tokens_of(spec: TokenizerSpec) -> dict[str, int]:
    """Return the id of each special token, by its text."""
    return {token.content: token.id for token in spec.added if token.special}


class SpecTokenizer(TextTokenizer, Protocol):
    """Rules that do what a spec says, without any other state: what they make of it, they can make again.

    `build_twin` builds their native twin, if their tables have native forms; ValueError or OverflowError where native
    code refuses a table, or a number or a text does not fit into one.
    """

    spec: TokenizerSpec
    build_twin: Callable[[Any], NativeText | None] | None

    def __init__(self, spec: TokenizerSpec, build_twin: Callable[[Any], NativeText | None] | None = None) -> None:
        self.spec, self.build_twin = spec, build_twin

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.spec, self.build_twin)

    @cached_property
    def native(self) -> NativeText | None:
        """The native twin, if there is one; it is built on first use."""
        if self.build_twin is not None and backend.is_native():
            with suppress(ValueError, OverflowError):
                return self.build_twin(self)
        return None

    @cached_property
    def special_tokens(self) -> Mapping[str, int]:
        """The ids of the special tokens."""
        return special_tokens_of(self.spec)

    def added_tokens(self) -> Sequence[AddedToken]:
        """Return the added tokens."""
        return self.spec.added

    @property
    def file_notes(self) -> Sequence[str]:
        """Notes on what the file asks for that is not done unasked."""
        return self.spec.file_notes

    @property
    def has_template(self) -> bool:
        """Whether `finish` may add special tokens."""
        return self.spec.template is not None

    def finish(self, texts: list[Tokens], add: bool) -> Tokens:
        """Return one text or a pair of texts, with the ids of the template around them if `add` is true."""
        template = cast("Around | None", self.spec.template)
        if not add or template is None:
            return joined(texts)
        for number, tokens in enumerate(texts):
            tokens.set_type(number * template.types)
        return joined(enclosed(texts, template))

    def decode(self, ids: Sequence[int]) -> bytes:
        """Return the bytes of ids; UnknownTokenError for an id that the vocabulary lacks."""
        decoder = self.decode_stream()
        assert decoder is not None
        return decoder.add(ids) + decoder.finish()

    def decode_array(self, ids: memoryview) -> bytes:
        """Return the bytes of an array of ids (uint32 or uint16); UnknownTokenError as in `decode`."""
        return self.decode(ids)


class PieceTokenizer(TextTokenizer, Protocol):
    """Rules that cut the text between special tokens into pieces, and merge each piece by itself."""

    if TYPE_CHECKING:

        @property
        def _cache(self) -> PieceCache:
            """The ids of pieces."""

    def found(self, allowed: frozenset[str]) -> frozenset[str]:
        """Return those of the allowed special tokens that are found in texts."""
        return allowed

    def encode(self, text: str, allowed: frozenset[str] = NONE) -> list[int]:
        """Return the ids of a text."""
        ids: list[int] = []
        for segment, is_special in segments(text, self.found(allowed)):
            if is_special:
                ids.append(self.special_tokens[segment])
            else:
                ids += self._cache.ids_of(self.split(segment))
        return ids

    def encode_spans(self, text: str, allowed: frozenset[str] = NONE) -> Tokens:
        """Return the tokens of a text with their places, as tiktoken's `decode_with_offsets` counts characters."""
        ids = self.encode(text, allowed)
        return Tokens(ids, spans=self.token_spans(ids))
