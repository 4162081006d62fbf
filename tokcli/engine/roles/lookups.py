"""`Lookups`: ids to text, and what a `Tokenizer` knows about its tokens."""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

from tokcli.engine.tiktoken.rank_vocabulary import RankVocabulary
from tokcli.engine.token_vocabulary import TokenVocabulary

if TYPE_CHECKING:
    from tokcli.engine.bpe.bpe import MergeOrder, MergeStep, ModelKind
    from tokcli.engine.bpe.merges import ParentTable
    from tokcli.engine.stream.decoding import ByteDecoder
    from tokcli.engine.text_tokenizer import TextTokenizer
    from tokcli.engine.tiktoken.text_ranks import TextRanks
    from tokcli.engine.tokens import Tokens


class Lookups(TokenVocabulary):
    """The tokens of `inner`, the rules of a tokenizer, which know less than their file where they were compiled.

    `ranked` are the ranks by which texts are encoded, if ranks give the tokenizer's ids: `inner` itself, or others.
    """

    inner: TextTokenizer
    ranked: RankVocabulary | None
    text_ranks: TextRanks | None
    special_tokens: dict[str, int]
    max_id: int

    @property
    def _plain_ranks(self) -> RankVocabulary | None:
        return self.inner if isinstance(self.inner, RankVocabulary) else None

    # --- ids to text -------------------------------------------------------------------------------------------------

    @property
    def decodes_context_free(self) -> bool:
        """Whether an id decodes to the same bytes whatever ids are beside it."""
        return self.inner.decodes_context_free

    def decode(self, ids: Sequence[int]) -> bytes:
        """Return the bytes of ids; UnknownTokenError, a KeyError, for an id that the vocabulary lacks."""
        return self.inner.decode(ids)

    def decode_stream(self) -> ByteDecoder | None:
        """Return a decoder of ids that come a few at a time; None where each id decodes by itself."""
        return self.inner.decode_stream()

    def decode_array(self, ids: memoryview) -> bytes:
        """Return the bytes of an array of ids (uint32 or uint16); UnknownTokenError as in `decode`."""
        return self.inner.decode_array(ids)

    def decode_text(self, ids: Sequence[int]) -> str:
        """Return the text of ids, with U+FFFD for bytes that are not UTF-8; UnknownTokenError as in `decode`."""
        return self.inner.decode_text(ids)

    def joined_tokens(self, ids: Sequence[int]) -> bytes:
        """Return the bytes of ids, each as `token_bytes` gives them, joined."""
        ranks = self._plain_ranks
        return super().joined_tokens(ids) if ranks is None else ranks.joined_tokens(ids)

    def token_spans(self, ids: Sequence[int], start: int = 0, *, in_chars: bool = True) -> array[int]:
        """Return the first and the past-the-end character (or byte) of each id's bytes; see `TokenVocabulary`."""
        if self.ranked is not None:
            return self.ranked.token_spans(ids, start, in_chars=in_chars)
        return super().token_spans(ids, start, in_chars=in_chars)

    def finish(self, texts: list[Tokens], add: bool) -> Tokens:
        """Return one text or a pair of texts after the post-processor, which adds its special tokens if `add`."""
        return self.inner.finish(texts, add)

    @property
    def has_template(self) -> bool:
        """Whether `finish` can add special tokens."""
        return self.inner.has_template

    @property
    def file_notes(self) -> Sequence[str]:
        """Notes on what the file asks for that is not done unasked; each continues a sentence with the file's name."""
        return self.inner.file_notes

    # --- tokens ------------------------------------------------------------------------------------------------------

    @cached_property
    def _token_bytes(self) -> Mapping[int, bytes]:
        return self.inner.token_bytes()

    def token_bytes(self) -> Mapping[int, bytes]:
        """Return the bytes of every id, special tokens included."""
        return self._token_bytes

    @cached_property
    def _special_ids(self) -> frozenset[int]:
        return frozenset(self.special_tokens.values())

    @cached_property
    def _ranks(self) -> dict[bytes, int]:
        return {token: id for id, token in self._token_bytes.items() if id not in self._special_ids}

    def ranks(self) -> dict[bytes, int]:
        """Return the id of each token that is not special, by its bytes; of ids with the same bytes, the last."""
        ranks = self._plain_ranks
        return self._ranks if ranks is None else ranks.mergeable_ranks

    @cached_property
    def _ids_by_token(self) -> dict[bytes, int]:
        return self.ids_by_token()

    def id_of(self, token: bytes) -> int | None:
        """Return the id of a token, special or not; None where there is none."""
        ranks = self._plain_ranks
        return self._ids_by_token.get(token) if ranks is None else ranks.id_of(token)

    def is_special(self, id: int) -> bool:
        """Return whether an id is that of a special token, and of no other token."""
        ranks = self._plain_ranks
        return id in self._special_ids if ranks is None else ranks.is_special(id)

    def scores(self) -> Sequence[float]:
        """Return the score of each id; an empty sequence where the model does not choose by scores."""
        return () if self.ranked is not None else self.inner.whole.scores()

    def token_kinds(self) -> dict[int, str]:
        """Return the kind, such as control or byte, of each token that is not normal, by id."""
        if self.text_ranks is None:
            return self.inner.whole.token_kinds()
        special, added = self.special_tokens, self.text_ranks.special_tokens
        return {id: "special" if text in special else "added" for text, id in added.items()}

    @property
    def model_kind(self) -> ModelKind:
        """The way in which the model finds tokens: by merges, on the best path, or as the pieces that fit."""
        return self.inner.whole.model_kind

    @property
    def ignore_merges(self) -> bool:
        """Whether a piece that is a token becomes that token without merging."""
        return self.inner.whole.ignore_merges

    def merge_order(self) -> MergeOrder | None:
        """Return the function that gives the rank of a merge; None for a model that does not merge."""
        return self.inner.whole.merge_order()

    def parents(self, id: int) -> tuple[int, int] | None:
        """Return the two ids that merge into an id; None where none do, or the model does not merge."""
        return self.inner.parents(id)

    def all_parents(self) -> ParentTable:
        """Return the parents of every id; VocabularyError where ids are too large for a table."""
        from tokcli.engine.bpe.merges import for_ids, one_by_one

        if self.ranked is not None:
            return for_ids(self.ranked.all_parents(), self.max_id + 1)
        return one_by_one(self.max_id + 1, self._token_bytes, self.inner.parents)

    def merge_steps(self, piece: bytes) -> Iterator[MergeStep] | None:
        """Yield each merge of a piece, from bytes to tokens; None where only the parents of its ids tell the merges."""
        ranks = self._plain_ranks
        return None if ranks is None else ranks.merge_steps(piece)

    def cutting_parts(self) -> list[tuple[str, object]]:
        """Return (name, object) of each part of the tokenizer that cuts text, in order."""
        return self.inner.whole.cutting_parts()
