"""`RankVocabulary`: mergeable_ranks, the pattern that splits text for them, and special tokens, as tiktoken has them.

Everything is made when it is first needed: counting needs no decoder, native code needs no dictionary of ranks. What
ranks do in Python is in reference.py.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cached_property
from typing import TYPE_CHECKING, Any

from tokcli.engine.base.arguments import NONE, token_ids
from tokcli.engine.bpe.image import image_of
from tokcli.engine.native_models.rank_models import twin_of_ranks
from tokcli.engine.native_models.text_model import Refused
from tokcli.engine.pretokenizers.pretokenizer import PreTokenizer
from tokcli.engine.stream import special_tokens as special
from tokcli.engine.stream.chunks import Chunk, ReadOptions, pieces_of, read_chunks, split_chunk
from tokcli.engine.stream.utf8 import SplitText, plain_text, special_finder
from tokcli.engine.text_tokenizer import PieceTokenizer
from tokcli.engine.tiktoken.native_encoder import (
    InvalidRecords,
    NativePieces,
    NativeTokens,
    native_splitter,
    open_vocabulary,
    parents_in,
    split_text,
)
from tokcli.engine.tokens import joined_ids
from tokcli.errors import UnknownTokenError, VocabularyError

if TYPE_CHECKING:
    from typing_extensions import Buffer

    from tokcli.engine import _native
    from tokcli.engine.bpe.bpe import MergeOrder, MergeStep, PieceCache
    from tokcli.engine.bpe.merges import ParentTable
    from tokcli.engine.native_models.text_model import TwinFor
    from tokcli.engine.stream.utf8 import TextOrUtf8
    from tokcli.engine.tiktoken.reference import RankReference


class RankVocabulary(PieceTokenizer):
    """A vocabulary of ranks, the pattern that splits text for it, and its special tokens.

    `load_ranks` gives the mergeable_ranks, token to rank, when they are first needed; `load_image` gives a native image
    of them (a buffer). `max_rank` is the largest rank. `image_comes_first`: reading the ranks takes longer than opening
    the image, which has the tokens too.

    >>> tiny = RankVocabulary.of("tiny", r"[a-z]+|[^a-z]+", {b"a": 0, b"b": 1, b" ": 2, b"ab": 3}, {"<end>": 4})
    >>> tiny.encode("ab ba<end>", frozenset(["<end>"]))
    [3, 2, 1, 0, 4]
    """

    special_tokens: dict[str, int]
    max_id: int
    is_byte_level = True
    decodes_context_free = True
    ignore_merges = True

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
        self.load_ranks, self.load_image = load_ranks, load_image
        self._image_comes_first = image_comes_first

    @classmethod
    def of(
        cls, name: str, pat_str: str, mergeable_ranks: dict[bytes, int], special_tokens: dict[str, int]
    ) -> RankVocabulary:
        """Return the vocabulary of ranks that are in memory already; the mapping is kept, not copied."""
        return cls(
            name,
            pat_str=pat_str,
            special_tokens=special_tokens,
            max_rank=max(mergeable_ranks.values()),
            load_ranks=lambda: mergeable_ranks,
            load_image=lambda: image_of(mergeable_ranks),
            image_comes_first=False,
        )

    def __reduce__(self) -> tuple[Any, ...]:
        return RankVocabulary.of, (self.name, self.pretokenizer.pat_str, self.mergeable_ranks, self.special_tokens)

    @cached_property
    def mergeable_ranks(self) -> dict[bytes, int]:
        """The rank of each token that is not special."""
        return self.load_ranks()

    @cached_property
    def opened(self) -> _native.Vocabulary | None:
        """The image, opened, if there is one."""
        return open_vocabulary(self.load_image)

    @cached_property
    def twins(self) -> TwinFor | None:
        """The native twins, which split and merge, where the pattern and the ranks have native forms."""
        splitter = native_splitter(self.pretokenizer)
        return twin_of_ranks(self.opened, splitter, self.special_tokens, self.special_tokens)

    @cached_property
    def native_tokens(self) -> NativeTokens | None:
        """The native tokens, which decode, where there is an image."""
        return None if self.opened is None else NativeTokens(self.opened)

    @cached_property
    def pieces(self) -> NativePieces | None:
        """The native code that merges pieces, where there is an image."""
        return NativePieces(self.opened) if self.opened is not None else None

    @property
    def is_native(self) -> bool:
        """Whether native code splits and merges."""
        return self.twins is not None

    @cached_property
    def reference(self) -> RankReference:
        """The counterpart of the native twin in Python."""
        from tokcli.engine.tiktoken.reference import RankReference  # 1.2 ms that the native twin saves

        return RankReference(lambda: self.mergeable_ranks, lambda: self.decoder)

    @cached_property
    def _cache(self) -> PieceCache:
        # with a known pattern, this is reached only where native code is not used at all: then Python merges, too
        if self.pretokenizer.is_known or self.opened is None:
            return self.reference.cache
        return type(self.reference.cache)(self.encode_piece)

    # --- text to ids -------------------------------------------------------------------------------------------------

    def count(self, text: TextOrUtf8, allowed: frozenset[str] = NONE) -> int:
        """Return the number of ids of a text."""
        if allowed:
            return len(self.encode(plain_text(text), allowed))
        return self._cache.count_of(self.pretokenizer.split(plain_text(text)))

    def split(self, text: str) -> list[str]:
        """Return the pieces that the pattern cuts a text into; joined, they are the text."""
        return self.pretokenizer.split(text)

    def encode_unstable(
        self, text: str, allowed: frozenset[str], encode: Callable[[str], list[int]]
    ) -> tuple[list[int], list[list[int]]]:
        """Return the ids that no following text changes, and all ways to encode the rest of the text.

        `encode` gives the ids of the texts that the rest may become.
        """
        ids, last = self._encode_with_last(text, allowed)
        return self.reference.unstable(ids, last, encode) if last else (ids, [])

    def encode_with_tail(self, text: str, tail: bytes) -> list[int]:
        """Return the ids of a text and of bytes after it that are not UTF-8 and belong to its last piece."""
        ids, last = self._encode_with_last(text, NONE)
        return self.reference.with_tail(ids, list(map(self.token_bytes().__getitem__, ids)), last, tail)

    def _encode_with_last(self, text: str, allowed: frozenset[str]) -> tuple[list[int], int]:
        """Return the ids of a text, and how many of them belong to its last piece: 0 where a special token is last."""
        ids: list[int] = []
        last = 0
        for segment, is_special in special.segments(text, allowed):
            if is_special:
                ids.append(self.special_tokens[segment])
                last = 0
            elif pieces := self.pretokenizer.split(segment):
                ids += self._cache.ids_of(pieces)
                last = len(self._cache[pieces[-1]])
        return ids, last

    # --- parts of streams whose pieces are known ---------------------------------------------------------------------

    def encode_known(self, part: SplitText | Chunk) -> memoryview:
        """Return the ids (uint32) of a special token, of bytes that are not UTF-8, or of pieces that are known."""
        return self._encode_split(part) if isinstance(part, SplitText) else self._encode_chunk(part)

    def _encode_split(self, part: SplitText) -> memoryview:
        if self.pieces is not None:
            with suppress(Refused):
                return self.pieces.merge(part)
        if part.is_invalid:
            chunks = read_chunks([bytes(part.data)], self.pretokenizer, ReadOptions("bytes"))
            return joined_ids(list(map(self._encode_chunk, chunks)))
        return memoryview(array("I", self._cache.ids_of(part.pieces)))

    def _encode_chunk(self, chunk: Chunk) -> memoryview:
        if chunk.special:
            ids = [self.special_tokens[chunk.text]]
        elif chunk.tail:
            ids = self.encode_with_tail(chunk.text, chunk.tail)
        elif chunk.pieces is not None and self.pieces is not None:
            return self._encode_split(SplitText.of(list(map(str.encode, chunk.pieces))))
        else:
            ids = self._cache.ids_of(pieces_of(chunk, self.pretokenizer))
        return memoryview(array("I", ids))

    def count_known(self, part: SplitText | Chunk) -> int:
        """Return the number of ids that `encode_known` gives."""
        if isinstance(part, SplitText) and self.pieces is not None:
            with suppress(Refused):
                return self.pieces.count(part)
        return len(self.encode_known(part))

    def split_chunk(self, chunk: Chunk) -> list[bytes]:
        """Return the pieces of a chunk as bytes; a special token is one piece."""
        if not (chunk.special or chunk.tail or chunk.pieces):
            with suppress(Refused):
                return split_text(self.pretokenizer.pat_str, chunk.text)
        return split_chunk(chunk, self.pretokenizer)

    def for_invalid(self, data: bytes, options: ReadOptions) -> InvalidRecords | None:
        """Return the native code that encodes records with bytes that are not UTF-8, if no special token is in them."""
        splitter = native_splitter(self.pretokenizer)
        if self.opened is None or splitter is None or special_finder(options.allowed).is_in(data):
            return None
        return InvalidRecords(self.opened, splitter)

    def encode_piece(self, piece: bytes) -> list[int]:
        """Return the ids of one piece, which is not split again; UnknownTokenError for a byte that is no token."""
        if self.pieces is not None:
            with suppress(Refused):
                return self.pieces.merge_piece(piece)
        return self.reference.encode_piece(piece)  # names the byte that is no token

    def count_pieces(self, pieces: list[bytes]) -> list[int]:
        """Return the number of ids of each piece; UnknownTokenError for a byte that is no token."""
        if self.pieces is not None and all(pieces):
            with suppress(Refused):
                return self.pieces.count_pieces(pieces)
        return [len(self.encode_piece(piece)) for piece in pieces]

    # --- ids to text -------------------------------------------------------------------------------------------------

    def decode(self, ids: Sequence[int]) -> bytes:
        """Return the bytes of ids; UnknownTokenError, a KeyError, for an id that the vocabulary lacks."""
        if self.native_tokens is not None:
            try:
                return self.native_tokens.decode(ids)
            except Refused:
                pass  # special tokens, or what is named below
        numbers = token_ids(ids)
        try:
            return b"".join(map(self.token_bytes().__getitem__, numbers))
        except KeyError as error:
            raise unknown_id(error.args[0], self.name) from None

    @cached_property
    def native_decoder(self) -> _native.Decoder | None:
        """The decoder of the image for buffers of ids, special tokens included, if there is an image."""
        return self.native_tokens.decoder(self.special_tokens) if self.native_tokens is not None else None

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
        if self.native_tokens is not None:
            try:
                return self.native_tokens.decode_str(ids)
            except Refused:
                pass
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
            return {id: token for id, token in enumerate(image.tokens()) if token is not None}
        decoder = {rank: token for token, rank in self.mergeable_ranks.items()}
        if len(decoder) != len(self.mergeable_ranks):
            raise VocabularyError(f"encoding {self.name!r}: two tokens have the same rank")
        return decoder

    @cached_property
    def _all_decoder(self) -> Mapping[int, bytes]:
        # an id that a special token shares with another token means the other one, as in tiktoken
        return {id: token.encode() for token, id in self.special_tokens.items()} | dict(self.decoder)

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

    def is_special(self, id: int) -> bool:
        """Return whether an id is that of a special token, and of no other token."""
        return id in self._special_ids and id not in self.decoder

    def parents(self, id: int) -> tuple[int, int] | None:
        """Return the two ids that merge into an id; None for single bytes and special tokens."""
        token = self.decoder.get(id)
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


def unknown_id(id: int, name: str) -> UnknownTokenError:
    """Return the error for a number that is not an id of a vocabulary."""
    return UnknownTokenError(f"Invalid token for decoding: {id} is not an id of {name}")
