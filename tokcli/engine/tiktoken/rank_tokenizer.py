"""`RankTokenizer`: text to ids by mergeable_ranks and a pattern, natively where possible, else in Python."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

from tokcli.engine.base.arguments import NONE
from tokcli.engine.bpe.image import image_of
from tokcli.engine.stream import chunks as stream
from tokcli.engine.stream import special_tokens as special
from tokcli.engine.stream import utf8
from tokcli.engine.stream.chunks import PLAIN, ReadOptions
from tokcli.engine.stream.parts import read_parts
from tokcli.engine.stream.utf8 import without_surrogates
from tokcli.engine.tiktoken.native_encoder import (
    NoiseRecords,
    native_splitter,
    split_natively,
    split_plain,
)
from tokcli.engine.tiktoken.rank_vocabulary import RankVocabulary
from tokcli.engine.tokens import Tokens
from tokcli.errors import TokcliError

if TYPE_CHECKING:
    from typing_extensions import Buffer

    from tokcli.engine.bpe.bpe import PieceCache
    from tokcli.engine.native_models.twins import RecordEncoder
    from tokcli.engine.stream.utf8 import AnyChunk


class RankTokenizer(RankVocabulary):
    """A vocabulary of ranks with all ways from text to ids.

    >>> tiny = RankTokenizer.of("tiny", r"[a-z]+|[^a-z]+", {b"a": 0, b"b": 1, b" ": 2, b"ab": 3}, {"<end>": 4})
    >>> tiny.encode("ab ba<end>", frozenset(["<end>"]))
    [3, 2, 1, 0, 4]
    """

    rules: None = None
    sees_whole_texts = False
    changes_text = False
    puts_space_first = False

    @classmethod
    def of(
        cls, name: str, pat_str: str, mergeable_ranks: dict[bytes, int], special_tokens: dict[str, int]
    ) -> RankTokenizer:
        """Return the tokenizer of ranks that are in memory already; the mapping is kept, not copied."""
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
        return RankTokenizer.of, (self.name, self.pretokenizer.pat_str, self.mergeable_ranks, self.special_tokens)

    @cached_property
    def _cache(self) -> PieceCache:
        # with a known pattern, this is reached only where native code is not used at all: then Python merges, too
        if self.pretokenizer.is_known or self.opened is None:
            return self.reference.cache
        return type(self.reference.cache)(self.encode_piece)

    # --- text to ids -------------------------------------------------------------------------------------------------

    def encode(self, text: str, allowed: frozenset[str] = NONE) -> list[int]:
        """Return the ids of a text."""
        if self.twin is not None and (ids := self.twin(allowed).encode(text, allowed)) is not None:
            return ids
        return self._encode_allowing(without_surrogates(text), allowed) if allowed else self.encode_in_python(text)

    def encode_in_python(self, text: str) -> list[int]:
        """Return the ids of a text, all special tokens taken as text, without native splitting."""
        return self._cache.encode(self.pretokenizer.split(without_surrogates(text)))

    def _encode_allowing(self, text: str, allowed: frozenset[str]) -> list[int]:
        ids: list[int] = []
        for segment, is_special in special.segments(text, allowed):
            ids += (self.special_tokens[segment],) if is_special else self.encode(segment)
        return ids

    def count(self, text: str) -> int:
        """Return the number of ids of a text."""
        if self.twin is not None and (count := self.twin(NONE).count(text, NONE)) is not None:
            return count
        return self._cache.count(self.pretokenizer.split(without_surrogates(text)))

    def encode_array(self, text: str) -> memoryview:
        """Return the ids of a text as an array (uint32)."""
        if self.twin is not None and (ids := self.twin(NONE).encode_array(text, NONE)) is not None:
            return ids
        return memoryview(array("I", self.encode_in_python(text)))

    def encode_bytes(self, data: bytes) -> memoryview:
        """Return the ids of bytes as an array; bytes that are not UTF-8 are encoded as --errors bytes does."""
        if self.is_native and utf8.valid_utf8(data) == len(data):
            return self.encode_part(memoryview(data))
        try:
            return self.encode_array(data.decode())
        except UnicodeDecodeError:
            arrays = map(self.encode_part, self.read_parts([data], ReadOptions("bytes")))
            return memoryview(b"".join(arrays)).cast("I")

    def encode_batch(self, texts: Sequence[str], threads: int) -> list[list[int]]:
        """Return the ids of each text."""
        made: list[list[int] | None] = [None] * len(texts)
        if self.twin is not None:
            made = self.twin(NONE).encode_batch(list(texts), threads)
        return [self.encode(text) if ids is None else ids for text, ids in zip(texts, made, strict=True)]

    def encode_array_batch(self, texts: Sequence[str], threads: int) -> tuple[memoryview, memoryview]:
        """Return all texts' ids in one array, and len(texts) + 1 offsets (uint64) at which each text's ids begin."""
        if self.twin is not None and (made := self.twin(NONE).encode_array_batch(list(texts), threads)) is not None:
            return made
        ids, offsets = array("I"), array("Q", [0])
        for text in texts:
            ids.extend(self.encode(text))
            offsets.append(len(ids))
        return memoryview(ids), memoryview(offsets)

    def encode_own_texts(self, ids: Iterable[int]) -> Iterator[tuple[int, Sequence[int]]]:
        """Yield (id, ids of its bytes); bytes that are not UTF-8 are encoded as one piece."""
        data_of = self.token_bytes()
        texts: dict[int, str] = {}
        for number in ids:
            data = data_of[number]
            try:
                texts[number] = data.decode()
            except UnicodeDecodeError:
                yield number, self.encode_piece(data)
        try:
            found, offsets = self.encode_array_batch(list(texts.values()), 1)
        except TokcliError:  # the pattern leaves some text out
            yield from ((number, self._ids_or_none(text)) for number, text in texts.items())
            return
        places = offsets.tolist()
        for number, begin, end in zip(texts, places, places[1:], strict=False):
            yield number, found[begin:end]

    def _ids_or_none(self, text: str) -> list[int]:
        try:
            return self.encode(text)
        except TokcliError:
            return []

    # --- the unstable end of a text ----------------------------------------------------------------------------------

    def encode_unstable(self, text: str, allowed: frozenset[str]) -> tuple[list[int], list[list[int]]]:
        """Return the ids that no following text changes, and all ways to encode the rest of the text."""
        ids, last = self._encode_with_last(text, allowed)
        return self.reference.unstable(ids, last, self.encode) if last else (ids, [])

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
            else:
                pieces = self.pretokenizer.split(segment)
                ids += self._cache.encode(pieces)
                last = len(self._cache[pieces[-1]])
        return ids, last

    # --- streams -----------------------------------------------------------------------------------------------------

    def split(self, text: str) -> list[str]:
        """Return the pieces that the pattern cuts a text into; joined, they are the text."""
        return self.pretokenizer.split(without_surrogates(text))

    def read_chunks(self, blocks: stream.Blocks, options: ReadOptions = PLAIN) -> Iterator[stream.Chunk]:
        """Yield the chunks of a stream, which are encoded one by one; `stream.chunks.read_chunks` has the rules."""
        return stream.read_chunks(blocks, self.pretokenizer, options)

    def read_parts(self, blocks: stream.Blocks, options: ReadOptions = PLAIN) -> Iterator[AnyChunk]:
        """Yield the parts of a stream: UTF-8 where native code takes it, else chunks; `stream.parts` has the rules."""
        splitter = native_splitter(self.pretokenizer) if self.is_native else None
        if splitter is None:
            return self.read_chunks(blocks, options)
        return read_parts(blocks, self.pretokenizer, splitter, options)

    def cuts_at(self, data: bytes, at: int) -> bool:
        """Return whether a stream may be cut at byte `at` of UTF-8, which only known patterns tell."""
        return self.pretokenizer.is_stop(data, at)

    def read_split(
        self, blocks: stream.Blocks, options: ReadOptions = PLAIN
    ) -> Iterator[utf8.SplitText | stream.Chunk]:
        """Yield the parts of a stream: text with its pieces where native code splits it, else chunks."""
        for part in self.read_parts(blocks, options):
            yield split_plain(self.pretokenizer.pat_str, part) if isinstance(part, memoryview) else part

    def read_whole(self, blocks: stream.Blocks, options: ReadOptions = PLAIN) -> stream.Chunk | None:
        """Return the first chunk of a stream, None if it is empty: ranks never need to see a text whole."""
        return next(self.read_chunks(blocks, options), None)

    def encode_part(self, part: AnyChunk) -> memoryview:
        """Return the ids of a part of a stream as an array (uint32)."""
        if isinstance(part, stream.Chunk):
            return self._encode_chunk(part)
        if isinstance(part, utf8.SplitText):
            ids = None if self.pieces is None else self.pieces.encode(part)
            return self._encode_split_in_python(part) if ids is None else ids
        if self.twin is not None and (ids := self.twin(NONE).encode_array(part, NONE)) is not None:
            return ids
        return memoryview(array("I", self.encode_in_python(str(part, "utf-8"))))

    def _encode_split_in_python(self, part: utf8.SplitText) -> memoryview:
        if part.is_noise:
            chunks = self.read_chunks([bytes(part.data)], ReadOptions("bytes"))
            return memoryview(b"".join(map(self._encode_chunk, chunks))).cast("I")
        return memoryview(array("I", self._cache.encode(part.pieces)))

    def _encode_chunk(self, chunk: stream.Chunk) -> memoryview:
        if chunk.special:
            return memoryview(array("I", [self.special_tokens[chunk.text]]))
        if chunk.tail:
            return memoryview(array("I", self.encode_with_tail(chunk.text, chunk.tail)))
        if chunk.pieces is not None and self.pieces is not None:
            return self.encode_part(utf8.SplitText.of(chunk.pieces))
        if self.twin is not None and (ids := self.twin(NONE).encode_array(chunk.text, NONE)) is not None:
            return ids
        return memoryview(array("I", self._cache.encode(stream.pieces_of(chunk, self.pretokenizer))))

    def encode_each(self, part: utf8.SplitText) -> tuple[Buffer, bytes] | None:
        """Return the ids of a part, and the number of ids of each piece (uint32); None where Python has to do it."""
        return None if self.pieces is None else self.pieces.encode_each(part)

    def count_part(self, part: AnyChunk) -> int:
        """Return the number of ids of a part of a stream."""
        if isinstance(part, stream.Chunk):
            if part.special or part.tail:
                return len(self._encode_chunk(part))
            if part.pieces is not None and self.pieces is not None:
                return self.count_part(utf8.SplitText.of(part.pieces))
            if self.twin is not None and (count := self.twin(NONE).count(part.text, NONE)) is not None:
                return count
            return self._cache.count(stream.pieces_of(part, self.pretokenizer))
        if isinstance(part, utf8.SplitText):
            count = None if self.pieces is None else self.pieces.count(part)
            return len(self._encode_split_in_python(part)) if count is None else count
        if self.twin is not None and (count := self.twin(NONE).count(part, NONE)) is not None:
            return count
        return len(self.encode_in_python(str(part, "utf-8")))

    def for_records(self, data: bytes, options: ReadOptions = PLAIN, *, is_utf8: bool = False) -> RecordEncoder | None:
        """Return the native code that takes all records in a buffer at once; see `Tokenizer`."""
        if self.twin is None or utf8.special_finder(options.refused).is_in(data):
            return None
        if is_utf8 or utf8.valid_utf8(data) == len(data):
            return self.twin(options.allowed).for_records(options.allowed)
        if options.errors != "bytes" or utf8.special_finder(options.allowed).is_in(data):
            return None
        splitter = native_splitter(self.pretokenizer)
        return None if self.opened is None or splitter is None else NoiseRecords(self.opened, splitter)

    def split_chunk(self, chunk: stream.Chunk) -> list[bytes]:
        """Return the pieces of a chunk as bytes; a special token is one piece."""
        if not (chunk.special or chunk.tail or chunk.pieces):
            pieces = split_natively(self.pretokenizer.pat_str, chunk.text)
            if pieces is not None:
                return pieces
        return stream.split_chunk(chunk, self.pretokenizer)

    def part_ends(self, part: AnyChunk, size: int) -> Sequence[int]:
        """Return nothing: parts of a stream are short already."""
        del part, size
        return ()

    def encode_part_spans(self, part: memoryview, *, begins: bool, ends: bool) -> None:
        """Return None: `encode_spans` takes each part."""
        del part, begins, ends

    def encode_spans(self, part: AnyChunk) -> Tokens:
        """Return the tokens of a part with their places in characters, as tiktoken's `decode_with_offsets` counts."""
        allowed = utf8.allowed_in(part)
        ids = Tokens(self.encode(utf8.text_of(part), allowed)).ids if allowed else self.encode_part(part)
        return Tokens(ids, spans=self.token_spans(memoryview(ids)))
