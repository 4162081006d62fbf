"""`RankVocabulary`: mergeable_ranks and special tokens, for ids to bytes, pieces to ids, and what is known of tokens.

Everything is made when it is first needed: counting needs no decoder, native code needs no dictionary of ranks.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

from tokcli.engine.base.arguments import token_ids
from tokcli.engine.native_models.rank_models import TwinFor, twin_of_ranks
from tokcli.engine.pretokenizers.pretokenizer import PreTokenizer
from tokcli.engine.tiktoken.native_encoder import (
    NativePieces,
    NativeTokens,
    native_splitter,
    open_vocabulary,
    parents_in,
)
from tokcli.engine.token_vocabulary import TokenVocabulary
from tokcli.errors import UnknownTokenError, VocabularyError

if TYPE_CHECKING:
    from typing_extensions import Buffer

    from tokcli.engine import _native
    from tokcli.engine.bpe.bpe import MergeOrder, MergeStep
    from tokcli.engine.bpe.merges import ParentTable
    from tokcli.engine.tiktoken.reference import RankReference


class RankVocabulary(TokenVocabulary):
    """A vocabulary of ranks, the pattern that splits text for it, and its special tokens.

    `load_ranks` gives the mergeable_ranks, token to rank, when they are first needed; `load_image` gives a native image
    of them (a buffer). `max_rank` is the largest rank. `image_comes_first`: reading the ranks takes longer than opening
    the image, which has the tokens too.
    """

    special_tokens: dict[str, int]
    max_id: int
    decodes_context_free = True
    finds_whole = True

    def __init__(
        self,
        name: str,
        *,
        pat_str: str,
        special_tokens: Mapping[str, int],
        max_rank: int,
        load_ranks: Callable[[], dict[bytes, int]],
        load_image: Callable[[], Buffer],
        image_comes_first: bool = True,
    ) -> None:
        self.name = name
        self.special_tokens = dict(special_tokens)
        self.max_id = max(max_rank, max(special_tokens.values(), default=0))
        self.pretokenizer = PreTokenizer(pat_str)
        self._special_ids = frozenset(special_tokens.values())
        self._load_ranks, self._load_image = load_ranks, load_image
        self._image_comes_first = image_comes_first

    @cached_property
    def mergeable_ranks(self) -> dict[bytes, int]:
        """The rank of each token that is not special."""
        return self._load_ranks()

    @cached_property
    def opened(self) -> _native.Vocabulary | None:
        """The image as native code opened it; None where there is no native code, or no image."""
        return open_vocabulary(self._load_image)

    @cached_property
    def twin(self) -> TwinFor | None:
        """The native twins, which split and merge; None where there are none for the pattern or the ranks."""
        splitter = native_splitter(self.pretokenizer)
        return twin_of_ranks(self.opened, splitter, self.special_tokens, self.special_tokens)

    @cached_property
    def native(self) -> NativeTokens | None:
        """The native tokens, which decode; None where there is no native code, or no image."""
        return None if self.opened is None else NativeTokens(self.opened)

    @cached_property
    def pieces(self) -> NativePieces | None:
        """The native twin for pieces that are known, which only merges; None where there is none for the ranks."""
        return None if self.opened is None else NativePieces(self.opened)

    @property
    def is_native(self) -> bool:
        """Whether native code splits and merges."""
        return self.twin is not None

    @cached_property
    def reference(self) -> RankReference:
        """The counterpart of the native twin in Python."""
        from tokcli.engine.tiktoken.reference import RankReference  # 1.2 ms that the native twin saves

        return RankReference(lambda: self.mergeable_ranks, lambda: self.decoder)

    def encode_piece(self, piece: bytes) -> list[int]:
        """Return the ids of one piece, which is not split again; UnknownTokenError for a byte that is no token."""
        ids = None if self.pieces is None else self.pieces.encode_piece(piece)
        return self.reference.encode_piece(piece) if ids is None else ids  # Python says which byte is no token

    def count_pieces(self, pieces: list[bytes]) -> list[int]:
        """Return the number of ids of each piece; UnknownTokenError for a byte that is no token."""
        counts = self.pieces.count_pieces(pieces) if self.pieces is not None and all(pieces) else None
        return [len(self.encode_piece(piece)) for piece in pieces] if counts is None else counts

    # --- ids to text -------------------------------------------------------------------------------------------------

    def decode(self, ids: Sequence[int]) -> bytes:
        """Return the bytes of ids; UnknownTokenError, a KeyError, for an id that the vocabulary lacks."""
        if self.native is not None and (data := self.native.decode(ids)) is not None:
            return data
        numbers = token_ids(ids)
        try:
            return b"".join(map(self.token_bytes().__getitem__, numbers))
        except KeyError as error:
            raise unknown_id(error.args[0], self.name) from None

    @cached_property
    def native_decoder(self) -> _native.Decoder | None:
        """The native decoder for buffers of ids, special tokens included; None where there is no native code."""
        return None if self.native is None else self.native.decoder(self.special_tokens)

    def decode_array(self, ids: memoryview) -> bytes:
        """Return the bytes of an array of ids (uint32 or uint16); UnknownTokenError as in `decode`."""
        if self.native_decoder is not None:
            try:
                return self.native_decoder.decode(ids, ids.itemsize)
            except KeyError:
                pass  # an id that the vocabulary lacks: named below
        return self.decode(ids.tolist())

    def joined_tokens(self, ids: Sequence[int]) -> bytes:
        """Return the bytes of each id, one after the other; UnknownTokenError as in `decode`."""
        return self.decode_array(ids) if isinstance(ids, memoryview) else self.decode(ids)

    def token_spans(self, ids: Sequence[int], start: int = 0, *, in_chars: bool = True) -> array[int]:
        """Return the first and the past-the-end character (or byte) of each id's bytes; see `TokenVocabulary`."""
        if self.native_decoder is not None and isinstance(ids, memoryview):
            return array("Q", self.native_decoder.spans(ids, start, in_chars))
        return super().token_spans(ids, start, in_chars=in_chars)

    def decode_text(self, ids: Sequence[int]) -> str:
        """Return the text of ids, with U+FFFD for bytes that are not UTF-8; UnknownTokenError as in `decode`."""
        if self.native is not None and (text := self.native.decode_str(ids)) is not None:
            return text
        return self.decode(ids).decode("utf-8", "replace")

    # --- tokens ------------------------------------------------------------------------------------------------------

    @property
    def _near_image(self) -> _native.Vocabulary | None:
        """The image, if its tokens can be read sooner than the ranks; else None."""
        return self.opened if self._image_comes_first and "mergeable_ranks" not in self.__dict__ else None

    @cached_property
    def decoder(self) -> Mapping[int, bytes]:
        """The bytes of each id that is not special; VocabularyError where two tokens have the same rank."""
        if (image := self._near_image) is not None:
            return {number: token for number, token in enumerate(image.tokens()) if token is not None}
        decoder = {rank: token for token, rank in self.mergeable_ranks.items()}
        if len(decoder) != len(self.mergeable_ranks):
            raise VocabularyError(f"encoding {self.name!r}: two tokens have the same rank")
        return decoder

    @cached_property
    def _all_decoder(self) -> Mapping[int, bytes]:
        # an id that a special token shares with another token means the other one, as in tiktoken
        return {number: token.encode() for token, number in self.special_tokens.items()} | dict(self.decoder)

    def token_bytes(self) -> Mapping[int, bytes]:
        """Return the bytes of every id, special tokens included."""
        return self._all_decoder

    def ranks(self) -> dict[bytes, int]:
        """Return the rank of each token that is not special."""
        return self.mergeable_ranks

    def id_of(self, token: bytes) -> int | None:
        """Return the id of a token, special or not; None where there is none."""
        rank = self.mergeable_ranks.get(token)
        return self.special_tokens.get(token.decode("utf-8", "surrogateescape")) if rank is None else rank

    def is_special(self, number: int) -> bool:
        """Return whether an id is that of a special token, and of no other token."""
        return number in self._special_ids and number not in self.decoder

    def parents(self, number: int) -> tuple[int, int] | None:
        """Return the two ids that merge into an id; None for single bytes and special tokens."""
        token = self.decoder.get(number)
        return None if token is None else self.reference.parents(token)

    def all_parents(self) -> ParentTable:
        """Return the parents of every id; VocabularyError where ids are too large for a table."""
        known = None if self.opened is None else parents_in(self.opened)
        return self.reference.parent_table(self.max_id + 1, known)

    def merge_order(self) -> MergeOrder:
        """Return the function that gives the rank of a merge: the id that the merge makes."""
        return lambda _left, _right, made: made

    def merge_steps(self, piece: bytes) -> Iterator[MergeStep]:
        """Yield every merge of a piece, from its bytes to its tokens."""
        return self.reference.merge_steps(piece)


def unknown_id(number: int, name: str) -> UnknownTokenError:
    """Return the error for a number that is not an id of a vocabulary."""
    return UnknownTokenError(f"Invalid token for decoding: {number} is not an id of {name}")
