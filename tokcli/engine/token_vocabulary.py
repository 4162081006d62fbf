"""`TokenVocabulary`: what any tokenizer knows about its tokens, with default implementations."""

from __future__ import annotations

from array import array
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from tokcli.engine import Protocol
from tokcli.engine.tokens import Tokens, joined, spans_of

if TYPE_CHECKING:
    from tokcli.engine.bpe.bpe import MergeOrder, ModelKind
    from tokcli.engine.stream.decoding import ByteDecoder


class TokenVocabulary(Protocol):
    """The tokens of a tokenizer and what is known about them; ids are integers from 0 to 2**32 - 1.

    A class that derives from this overrides the answers that do not hold for it.
    """

    if TYPE_CHECKING:  # at run time a property here would keep instances and dataclasses from having the attribute

        @property
        def special_tokens(self) -> Mapping[str, int]:
            """The id of each special token, by its text, which becomes that id only where the caller allows it."""

        @property
        def max_id(self) -> int:
            """The largest id."""

        @property
        def decodes_context_free(self) -> bool:
            """Whether an id decodes to the same bytes whatever ids are beside it."""

    def token_bytes(self) -> Mapping[int, bytes]:
        """Return the bytes of every id, special tokens included."""

    def ids_by_token(self) -> dict[bytes, int]:
        """Return the ids of all tokens, special ones too; of ids with the same bytes, the first."""
        tokens = self.token_bytes()
        return {tokens[id]: id for id in sorted(tokens, reverse=True)}

    def parents(self, id: int) -> tuple[int, int] | None:
        """Return the two ids that merge into an id; None where no two do."""

    def split(self, text: str) -> list[str]:
        """Return the pieces of a text as they occur in it; joined, they are the text."""

    def decode(self, ids: Sequence[int]) -> bytes:
        """Return the bytes of ids; UnknownTokenError for an id that the vocabulary lacks."""

    def decode_array(self, ids: memoryview) -> bytes:
        """Return the bytes of an array of ids (uint32 or uint16); UnknownTokenError as in `decode`."""
        return self.decode(ids.tolist())

    def decode_text(self, ids: Sequence[int]) -> str:
        """Return the text of ids, with U+FFFD for bytes that are not UTF-8; UnknownTokenError as in `decode`."""
        return self.decode(ids).decode("utf-8", "replace")

    def decode_stream(self) -> ByteDecoder | None:
        """Return a decoder of ids that come a few at a time; None where `decode` does, since each decodes by itself."""
        return None

    def joined_tokens(self, ids: Sequence[int]) -> bytes:
        """Return the bytes of ids, each as `token_bytes` gives them, joined."""
        return b"".join(map(self.token_bytes().__getitem__, ids))

    def token_spans(self, ids: Sequence[int], start: int = 0, *, in_chars: bool = True) -> array[int]:
        """Return the spans of ids in their joined bytes: two numbers for each id, in one array of uint64.

        These are its first and its past-the-end character, or byte. `start` characters (or bytes) are before the first
        id.
        """
        return spans_of(map(self.token_bytes().__getitem__, ids), start, in_chars=in_chars)

    def merge_order(self) -> MergeOrder | None:
        """Return the order of merging; None for a model that does not merge."""
        return None

    def scores(self) -> Sequence[float]:
        """Return the score of each id; empty where the model does not choose by scores."""
        return ()

    def token_kinds(self) -> dict[int, str]:
        """Return the kind of each unusual token by id: special, added, control, unknown, user-defined, unused, byte."""
        return {}

    @property
    def model_kind(self) -> ModelKind:
        """The way to find tokens: by merging, on the best path, or by looking pieces up."""
        return "merges"

    @property
    def ignore_merges(self) -> bool:
        """Whether a piece that is a token becomes that token without merging."""
        return False

    @property
    def has_template(self) -> bool:
        """Whether `finish` can add special tokens."""
        return False

    @property
    def file_notes(self) -> Sequence[str]:
        """Notes on what the file asks for that is not done unasked; each continues a sentence with the file's name."""
        return ()

    def finish(self, texts: list[Tokens], add: bool) -> Tokens:
        """Return one text or a pair of texts after the post-processor, with its special tokens if `add` is true."""
        del add
        return joined(texts)

    def cutting_parts(self) -> list[tuple[str, object]]:
        """Return the name and the object of each part that cuts text, in order; empty where no part does."""
        return []
