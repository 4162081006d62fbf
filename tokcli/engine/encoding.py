"""`Encoding`: text to ids and back, with the public API of tiktoken 0.14, its defaults and its kinds of exceptions.

It ties the parts together (special tokens, pre-tokenizer, merging) and owns none of their rules; ids to text, and what
a vocabulary is, stand in vocabulary.py.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet
from itertools import chain
from typing import TYPE_CHECKING, Any, Literal

from tokcli.engine import special_tokens as special
from tokcli.engine import stream, utf8_stream
from tokcli.engine.bpe import encode_piece
from tokcli.engine.native_encoder import image_of, split_natively
from tokcli.engine.text import without_surrogates
from tokcli.engine.utf8_stream import Part
from tokcli.engine.vocabulary import Vocabulary
from tokcli.errors import VocabularyError

if TYPE_CHECKING:
    from pathlib import Path

    import numpy as np
    import numpy.typing as npt
    from typing_extensions import Buffer


class VocabularySizeError(VocabularyError, AssertionError):
    """`explicit_n_vocab` does not agree with the ranks and the special tokens (AssertionError in tiktoken)."""


class Encoding(Vocabulary):
    """A vocabulary, the pattern that splits text for it, and its special tokens.

    `mergeable_ranks` maps the bytes of each token to its rank, which is both its id and its place in the order of
    merging; `special_tokens` maps text to ids. `explicit_n_vocab`, where given, is checked: how many ids there are in
    all, without gaps at the end. The mappings are kept, not copied, and must not change afterwards.

    >>> enc = Encoding("tiny", pat_str=r"[a-z]+|[^a-z]+", mergeable_ranks={b"a": 0, b"b": 1, b" ": 2, b"ab": 3},
    ...                special_tokens={"<end>": 4})
    >>> enc.encode("ab ba<end>", allowed_special="all")
    [3, 2, 1, 0, 4]
    """

    is_pipeline = False  # whether whole texts go through a tokenizer with rules of its own
    has_template = False  # whether special tokens may be added around a text
    decodes_apart = True  # whether ids stand for the same bytes whatever stands beside them

    def __init__(
        self,
        name: str,
        *,
        pat_str: str,
        mergeable_ranks: dict[bytes, int],
        special_tokens: dict[str, int],
        explicit_n_vocab: int | None = None,
    ) -> None:
        if not mergeable_ranks:
            raise VocabularyError(f"encoding {name!r}: no tokens")
        max_rank = max(mergeable_ranks.values())
        self._set_up(
            name, pat_str, special_tokens, max_rank, lambda: mergeable_ranks, lambda: image_of(mergeable_ranks)
        )
        if explicit_n_vocab:
            tokens = len(mergeable_ranks) + len(special_tokens)
            if tokens != explicit_n_vocab or self.max_token_value != explicit_n_vocab - 1:
                raise VocabularySizeError(
                    f"encoding {name!r}: {tokens} tokens, the largest id {self.max_token_value}, "
                    f"but explicit_n_vocab is {explicit_n_vocab}"
                )

    # --- encoding ----------------------------------------------------------------------------------------------------

    def encode_ordinary(self, text: str) -> list[int]:
        """The ids of a text, in which special tokens are ordinary text."""
        ids: list[int] | None = self._natively("encode", text)
        return self._encode_in_python(text) if ids is None else ids

    def _encode_in_python(self, text: str) -> list[int]:
        return self._cache.encode(self._pretokenizer.split(without_surrogates(text)))

    def encode(
        self,
        text: str,
        *,
        allowed_special: Literal["all"] | AbstractSet[str] = frozenset(),
        disallowed_special: special.Which = "all",
    ) -> list[int]:
        """The ids of a text.

        Special tokens in `allowed_special` get their id; those in `disallowed_special` (by default all others) raise
        DisallowedSpecialTokenError, a ValueError; what is in neither is ordinary text.
        """
        allowed = self._check_special(text, allowed_special, disallowed_special)
        return self._encode_allowing(without_surrogates(text), allowed)

    def _check_special(
        self, text: str, allowed_special: special.Which, disallowed_special: special.Which
    ) -> frozenset[str]:
        allowed, disallowed = special.resolve(allowed_special, disallowed_special, self.special_tokens_set)
        special.refuse(text, disallowed)
        return allowed & self.special_tokens_set

    def _encode_allowing(self, text: str, allowed: frozenset[str]) -> list[int]:
        ids: list[int] = []
        for segment, is_special in special.segments(text, allowed):
            if is_special:
                ids.append(self._special_tokens[segment])
            else:
                ids += self.encode_ordinary(segment)
        return ids

    def encode_to_numpy(
        self,
        text: str,
        *,
        allowed_special: Literal["all"] | AbstractSet[str] = frozenset(),
        disallowed_special: special.Which = "all",
    ) -> npt.NDArray[np.uint32]:
        """`encode` as a numpy array; like tiktoken's, it raises UnicodeEncodeError for a lone surrogate."""
        import numpy as np

        allowed = self._check_special(text, allowed_special, disallowed_special)
        text.encode()
        return np.array(self._encode_allowing(text, allowed), dtype=np.uint32)

    def encode_ordinary_batch(self, text: list[str], *, num_threads: int = 8) -> list[list[int]]:
        """`encode_ordinary` of each text."""
        ids: list[list[int]] | None = self._natively("encode_batch_lists", text, num_threads)
        return [self.encode_ordinary(t) for t in text] if ids is None else ids

    def encode_batch(
        self,
        text: list[str],
        *,
        num_threads: int = 8,
        allowed_special: Literal["all"] | AbstractSet[str] = frozenset(),
        disallowed_special: special.Which = "all",
    ) -> list[list[int]]:
        """`encode` of each text."""
        allowed, disallowed = special.resolve(allowed_special, disallowed_special, self.special_tokens_set)
        for one in text:
            special.refuse(one, disallowed)
        if not allowed:
            return self.encode_ordinary_batch(text, num_threads=num_threads)
        return [self._encode_allowing(without_surrogates(one), allowed & self.special_tokens_set) for one in text]

    def encode_with_unstable(
        self,
        text: str,
        *,
        allowed_special: Literal["all"] | AbstractSet[str] = frozenset(),
        disallowed_special: special.Which = "all",
    ) -> tuple[list[int], list[list[int]]]:
        """The ids that stand whatever follows the text, and the ways in which the rest of it could come out.

        The second is in no particular order. For every way `way`, the bytes of the stable ids and `way` together begin
        with the text.
        """
        from tokcli.engine import unstable

        allowed = self._check_special(text, allowed_special, disallowed_special)
        text.encode()  # UnicodeEncodeError for a lone surrogate, as tiktoken
        ids, last = self._encode_with_last(text, allowed)
        if last == 0:
            return ids, []
        stable = len(ids) - unstable.unstable_tail(self._token_bytes_or_special(ids), last)
        rest = self.decode_bytes(ids[stable:])
        ways = unstable.completions(
            rest, self._mergeable_ranks, self._decoder, self._sorted_token_bytes, self.encode_ordinary
        )
        return ids[:stable], [list(way) for way in ways]

    def _encode_with_last(self, text: str, allowed: frozenset[str]) -> tuple[list[int], int]:
        """The ids of a text, and how many of them are of its last piece (0 after a special token)."""
        ids: list[int] = []
        last = 0
        for segment, is_special in special.segments(text, allowed):
            if is_special:
                ids.append(self._special_tokens[segment])
                last = 0
            else:
                pieces = self._pretokenizer.split(segment)
                ids += self._cache.encode(pieces)
                last = len(self._cache[pieces[-1]])
        return ids, last

    def _token_bytes_or_special(self, ids: Sequence[int]) -> list[bytes]:
        """The bytes of ids for `unstable_tail`, to which a special token is no white space."""
        return [self._decoder.get(i, b"<special>") for i in ids]

    def _encode_single_piece(self, text_or_bytes: str | bytes) -> list[int]:
        data = text_or_bytes.encode() if isinstance(text_or_bytes, str) else text_or_bytes
        return encode_piece(self._mergeable_ranks, data)

    def _encode_only_native_bpe(self, text: str) -> list[int]:
        return self.encode_ordinary(text)

    def _encode_bytes(self, text: bytes) -> list[int]:
        """tiktoken's rule for bytes that may not be UTF-8: one piece from the last one before the first bad byte on."""
        try:
            return self.encode_ordinary(text.decode())
        except UnicodeDecodeError as error:
            return self._encode_with_tail(text[: error.start].decode(), text[error.start :])

    def _encode_with_tail(self, text: str, tail: bytes) -> list[int]:
        """The ids of text followed by bytes that are no text and belong to its last piece."""
        from tokcli.engine import unstable

        ids, last = self._encode_with_last(text, frozenset())
        keep = len(ids) - unstable.unstable_tail(self.decode_tokens_bytes(ids), last)
        return ids[:keep] + encode_piece(self._mergeable_ranks, self.decode_bytes(ids[keep:]) + tail)

    # --- beyond tiktoken ---------------------------------------------------------------------------------------------

    def count(self, text: str) -> int:
        """How many tokens `encode_ordinary` makes of a text."""
        count: int | None = self._natively("count", text)
        return self._cache.count(self._pretokenizer.split(without_surrogates(text))) if count is None else count

    def count_batch(self, texts: Sequence[str]) -> list[int]:
        """`count` of each text."""
        return [self.count(text) for text in texts]

    def count_file(self, path: str | Path) -> int:
        """How many tokens a file has, special tokens taken as text; InputError where it is not UTF-8.

        It is read in blocks, so its size does not matter.
        """
        with open(path, "rb", buffering=0) as file:
            blocks = iter(lambda: file.read(stream.BLOCK_BYTES), b"")
            return sum(map(self.count_part, self.read_parts(blocks)))

    def split(self, text: str) -> list[str]:
        """The pieces that the pattern cuts a text into; joined, they are the text."""
        return self._pretokenizer.split(without_surrogates(text))

    def encode_array(self, text_or_bytes: str | bytes) -> memoryview:
        """The ids as a buffer of uint32 (format "I", without numpy). Bytes need not be UTF-8."""
        if isinstance(text_or_bytes, str):
            ids: memoryview | None = self._natively("encode_array", text_or_bytes)
            return memoryview(array("I", self._encode_in_python(text_or_bytes))) if ids is None else ids
        data = bytes(text_or_bytes)
        if self._native is not None and utf8_stream.valid_utf8(data) == len(data):
            return self.encode_part(memoryview(data))
        try:
            return self.encode_array(data.decode())
        except UnicodeDecodeError:
            chunks = self.read_chunks([data], errors="bytes")
            return memoryview(array("I", chain.from_iterable(map(self.encode_chunk, chunks))))

    def encode_array_batch(self, texts: Sequence[str], *, num_threads: int = 8) -> tuple[memoryview, memoryview]:
        """All ids of some texts as one buffer of uint32, and where each text's begin in it: len(texts) + 1 uint64."""
        made: tuple[memoryview, memoryview] | None = self._natively("encode_batch", list(texts), num_threads)
        if made is not None:
            return made
        ids, offsets = array("I"), array("Q", [0])
        for text in texts:
            ids.extend(self.encode_ordinary(text))
            offsets.append(len(ids))
        return memoryview(ids), memoryview(offsets)

    # --- streams -----------------------------------------------------------------------------------------------------

    def read_chunks(
        self,
        blocks: stream.Blocks,
        *,
        errors: stream.Errors = "strict",
        allowed: frozenset[str] = frozenset(),
        refused: frozenset[str] = frozenset(),
    ) -> Iterator[stream.Chunk]:
        """Blocks of bytes as chunks that can be encoded one by one: see `stream.read_chunks`."""
        return stream.read_chunks(blocks, self._pretokenizer, errors=errors, allowed=allowed, refused=refused)

    def read_parts(
        self,
        blocks: stream.Blocks,
        *,
        errors: stream.Errors = "strict",
        allowed: frozenset[str] = frozenset(),
        refused: frozenset[str] = frozenset(),
    ) -> Iterator[Part]:
        """The same as parts, text as UTF-8 where native code takes it so: see `utf8_stream.read_parts`."""
        if self._native is None:
            return self.read_chunks(blocks, errors=errors, allowed=allowed, refused=refused)
        return utf8_stream.read_parts(blocks, self._pretokenizer, errors=errors, allowed=allowed, refused=refused)

    def encode_part(self, part: Part) -> memoryview:
        """The ids of one part of a stream (uint32)."""
        if isinstance(part, stream.Chunk):
            if not part.special and not part.tail and (made := self._natively("encode_array", part.text)) is not None:
                return memoryview(made)
            return memoryview(array("I", self.encode_chunk(part)))
        ids: memoryview | None = self._natively("encode_utf8", part)
        return memoryview(array("I", self._encode_in_python(str(part, "utf-8")))) if ids is None else ids

    def count_part(self, part: Part) -> int:
        """How many ids one part of a stream has."""
        if isinstance(part, stream.Chunk):
            return self.count_chunk(part)
        count: int | None = self._natively("count_utf8", part)
        return len(self._encode_in_python(str(part, "utf-8"))) if count is None else count

    def encode_records(
        self, data: bytes, ends: Buffer, separator_size: int, special_tokens: frozenset[str] = frozenset()
    ) -> tuple[memoryview, memoryview] | None:
        """All ids (uint32) of records in one buffer, and where each record's begin (uint64, one more than records).

        They end at `ends` (uint64), `separator_size` bytes of which are none of the record. None where they have to be
        taken one by one: without native code, where one of the special tokens may be in them, or not all is UTF-8.
        """
        made: tuple[memoryview, memoryview] | None = None
        if self._is_plain(data, special_tokens):
            made = self._natively("encode_records", data, ends, separator_size)
        return made

    def count_records(
        self, data: bytes, ends: Buffer, separator_size: int, special_tokens: frozenset[str] = frozenset()
    ) -> memoryview | None:
        """How many ids each record has (uint32); None as in `encode_records`."""
        counts: memoryview | None = None
        if self._is_plain(data, special_tokens):
            counts = self._natively("count_records", data, ends, separator_size)
        return counts

    def _is_plain(self, data: bytes, special_tokens: frozenset[str]) -> bool:
        return (
            self._native is not None
            and not utf8_stream.special_finder(special_tokens).may_be_in(data)
            and utf8_stream.valid_utf8(data) == len(data)
        )

    def encode_chunk(self, chunk: stream.Chunk) -> list[int]:
        """The ids of one chunk of a stream."""
        if chunk.special:
            return [self._special_tokens[chunk.text]]
        if chunk.tail:
            return self._encode_with_tail(chunk.text, chunk.tail)
        ids: list[int] | None = self._natively("encode", chunk.text)
        return self._cache.encode(self._pieces(chunk)) if ids is None else ids

    def count_chunk(self, chunk: stream.Chunk, threads: int = 1) -> int:
        """How many ids one chunk of a stream has; a large one is shared by threads, where there is native code."""
        if chunk.special or chunk.tail:
            return len(self.encode_chunk(chunk))
        count: int | None = self._natively("count", chunk.text, threads)
        return self._cache.count(self._pieces(chunk)) if count is None else count

    def split_chunk(self, chunk: stream.Chunk) -> list[bytes]:
        """The pieces of one chunk of a stream, as bytes; a special token is one."""
        if not (chunk.special or chunk.tail or chunk.pieces):
            pieces = split_natively(self._pat_str, chunk.text)
            if pieces is not None:
                return pieces
        return stream.split_chunk(chunk, self._pretokenizer)

    def _pieces(self, chunk: stream.Chunk) -> Sequence[str]:
        return stream.pieces_of(chunk, self._pretokenizer)

    # --- pickling ----------------------------------------------------------------------------------------------------

    def __reduce__(self) -> tuple[Any, ...]:
        if self._made_by is not None:
            return self._made_by  # a few bytes instead of the whole vocabulary
        return _restore, (self.name, self._pat_str, self._mergeable_ranks, self._special_tokens)


def _restore(name: str, pat_str: str, ranks: dict[bytes, int], special_tokens: dict[str, int]) -> Encoding:
    return Encoding(name, pat_str=pat_str, mergeable_ranks=ranks, special_tokens=special_tokens)
