"""Readers of streams for tokenizers: they cut bytes into parts whose ids, in a row, are those of the whole input.

`PatternReader` cuts where a pattern allows it, so that memory does not grow with the input. `WholeReader` is for
tokenizers that see a text whole: what a normalizer and a model make of the end of a text depends on what follows.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from tokcli.engine import Protocol
from tokcli.engine.stream import chunks as stream
from tokcli.engine.stream import special_tokens as special
from tokcli.engine.stream.chunks import Chunk, ReadOptions
from tokcli.engine.stream.parts import read_parts
from tokcli.engine.stream.utf8 import SplitText, StreamPart, begun, special_finder, utf8_of, valid_utf8
from tokcli.engine.tiktoken.native_encoder import native_splitter, split_plain
from tokcli.errors import DisallowedSpecialTokenError, InputError, NotUtf8Error

if TYPE_CHECKING:
    from tokcli.engine.executor import Executor
    from tokcli.engine.stream.chunks import Blocks, Utf8Errors
    from tokcli.engine.tiktoken.rank_vocabulary import RankVocabulary

LONG_TEXT_BYTES = 1 << 23  # a text above is cut into parts, where it may be: memory does not grow with it


class Reader(Protocol):
    """Cuts streams for one tokenizer; `Tokenizer` says what each method returns."""

    def read_chunks(self, blocks: Blocks, options: ReadOptions) -> Iterator[Chunk]:
        """Yield blocks of bytes as chunks of text."""

    def read_parts(self, blocks: Blocks, options: ReadOptions) -> Iterator[StreamPart]:
        """Yield blocks of bytes in the form that is encoded fastest."""

    def read_split(self, blocks: Blocks, options: ReadOptions) -> Iterator[SplitText | Chunk]:
        """Yield blocks of bytes as text with its pieces, or as chunks to be split."""

    def read_whole(self, blocks: Blocks, options: ReadOptions) -> Chunk | None:
        """Return blocks of bytes as one chunk, if there are any."""

    def cuts_at(self, data: bytes, at: int) -> bool:
        """Return whether streams may be cut at byte `at` of UTF-8."""

    def cut_out(self, options: ReadOptions) -> ReadOptions:
        """Return options with all tokens that are cut out of text as allowed ones."""
        return options


class WholeReader(Reader):
    """Reads a stream as one text, or a long one as parts where its family knows places to cut it.

    `name` is that of the tokenizer in messages; without `cuts_long_texts`, long ones are read whole, too.
    """

    def __init__(self, name: str, executor: Executor, *, cuts_long_texts: bool) -> None:
        self._name, self._executor, self._cuts_long_texts = name, executor, cuts_long_texts

    def read_chunks(self, blocks: Blocks, options: ReadOptions) -> Iterator[Chunk]:
        """Yield a stream as one chunk, or nothing if it is empty; InputError above stream.MAX_PIECE_BYTES."""
        whole = self.read_whole(blocks, options)
        if whole is not None:
            yield whole

    def read_split(self, blocks: Blocks, options: ReadOptions) -> Iterator[SplitText | Chunk]:
        """Yield a stream as one chunk, as `read_chunks` does: its text is split whole."""
        return self.read_chunks(blocks, options)

    def read_parts(self, blocks: Blocks, options: ReadOptions) -> Iterator[StreamPart]:
        """Yield a stream as one part, or nothing if it is empty; above LONG_TEXT_BYTES, as parts where it may be cut.

        InputError where what has to be seen whole is above stream.MAX_PIECE_BYTES.
        """
        blocks, is_long = begun(blocks, LONG_TEXT_BYTES)
        inner = self._executor.inner
        if is_long and self._cuts_long_texts:
            from tokcli.engine.long_texts.text_parts import cuts_of, read_text_parts  # all families: for long texts

            if (cuts := cuts_of(inner.whole, places=options.places)) is not None:
                yield from read_text_parts(self._name, self._executor, cuts, blocks, options)
                return
        data = self._joined(blocks)
        is_plain = not options.allowed and not special_finder(options.refused).is_in(data) and inner.is_native
        if is_plain and valid_utf8(data) == len(data):
            if data:
                yield memoryview(data)
            return
        yield from self.read_chunks([data], options)

    def read_whole(self, blocks: Blocks, options: ReadOptions) -> Chunk | None:
        """Return a stream as one chunk, or None if it is empty; InputError above stream.MAX_PIECE_BYTES."""
        text = _decoded(self._joined(blocks), options.errors)
        for begin, end in special.finder(options.refused).find(text):
            raise DisallowedSpecialTokenError.found(text[begin:end], len(text[:begin].encode()), "byte")
        return Chunk(text, 0, allowed=options.allowed) if text else None

    def _joined(self, blocks: Blocks) -> bytes:
        """Return all bytes of a stream; InputError above stream.MAX_PIECE_BYTES."""
        held, size = [], 0
        for block in blocks:
            held.append(block)
            size += len(block)
            if size > stream.MAX_PIECE_BYTES:
                raise InputError(
                    f"a text above {stream.MAX_PIECE_BYTES >> 20} MiB",
                    f"{self._name} has to see a text whole; cut it into records.",
                )
        return b"".join(held)

    def cuts_at(self, data: bytes, at: int) -> bool:
        """Return False: what a text becomes depends on all of it."""
        del data, at
        return False


def _decoded(data: bytes, errors: Utf8Errors) -> str:
    try:
        return data.decode("utf-8", "replace" if errors == "replace" else "strict")
    except UnicodeDecodeError as error:
        raise NotUtf8Error.of(error, takes_bytes=False) from None


class PatternReader(Reader):
    """Cuts streams by the pattern of ranks."""

    def __init__(self, ranks: RankVocabulary) -> None:
        self._ranks, self._pretokenizer = ranks, ranks.pretokenizer
        self.is_known = ranks.pretokenizer.is_known  # whether the pattern is one of known_patterns.py

    def read_chunks(self, blocks: Blocks, options: ReadOptions) -> Iterator[Chunk]:
        """Yield the chunks of a stream, which are encoded one by one; `stream.chunks.read_chunks` has the rules."""
        return stream.read_chunks(blocks, self._pretokenizer, options)

    def read_parts(self, blocks: Blocks, options: ReadOptions) -> Iterator[StreamPart]:
        """Yield the parts of a stream: UTF-8 where native code takes it, else chunks; `stream.parts` has the rules."""
        splitter = native_splitter(self._pretokenizer) if self._ranks.is_native else None
        if splitter is None:
            return self.read_chunks(blocks, options)
        return read_parts(blocks, self._pretokenizer, splitter, options)

    def read_split(self, blocks: Blocks, options: ReadOptions) -> Iterator[SplitText | Chunk]:
        """Yield the parts of a stream: text with its pieces where native code splits it, else chunks."""
        for part in self.read_parts(blocks, options):
            yield split_plain(self._pretokenizer.pat_str, part) if isinstance(part, memoryview) else part

    def read_whole(self, blocks: Blocks, options: ReadOptions) -> Chunk | None:
        """Return the first chunk of a stream, None if it is empty: ranks never need to see a text whole."""
        return next(self.read_chunks(blocks, options), None)

    def cuts_at(self, data: bytes, at: int) -> bool:
        """Return whether a stream may be cut at byte `at` of UTF-8, which only known patterns tell."""
        return self._pretokenizer.is_stop(data, at)


class RanksReader(Reader):
    """Cuts streams by the pattern of the ranks that give a tokenizer's ids, and at the added tokens found in any text.

    `always_found` are these tokens. With `splits_all`, the pattern splits every text as the tokenizer does.
    """

    def __init__(self, ranks: RankVocabulary, whole: WholeReader, found: frozenset[str], *, splits_all: bool) -> None:
        self._ranks, self._whole = PatternReader(ranks), whole
        self._always_found, self._splits_all = found, splits_all

    def cut_out(self, options: ReadOptions) -> ReadOptions:
        """Return options in which the tokens that are always found are allowed, too."""
        found = special.together(options.allowed, self._always_found)
        return ReadOptions(options.errors, found, special.without(options.refused, found), options.chunk_bytes)

    def read_chunks(self, blocks: Blocks, options: ReadOptions) -> Iterator[Chunk]:
        """Yield the chunks of a stream."""
        return self._ranks.read_chunks(blocks, self.cut_out(options))

    def read_parts(self, blocks: Blocks, options: ReadOptions) -> Iterator[StreamPart]:
        """Yield the parts of a stream: UTF-8 where native code takes it, else chunks."""
        return self._ranks.read_parts(blocks, self.cut_out(options))

    def read_split(self, blocks: Blocks, options: ReadOptions) -> Iterator[SplitText | Chunk]:
        """Yield the parts of a stream: text with its pieces if the pattern splits any text, else chunks."""
        if not self._splits_all:
            return self.read_chunks(blocks, options)
        return self._ranks.read_split(blocks, self.cut_out(options))

    def read_whole(self, blocks: Blocks, options: ReadOptions) -> Chunk | None:
        """Return a stream as one chunk, or None if it is empty; InputError above stream.MAX_PIECE_BYTES."""
        return self._whole.read_whole(blocks, options)

    def cuts_at(self, data: bytes, at: int) -> bool:
        """Return whether a stream may be cut at byte `at` of UTF-8."""
        return self._ranks.cuts_at(data, at)


class PrefixReader(RanksReader):
    """Cuts streams of a tokenizer that puts a space before each text between special tokens that lacks one.

    The parts have that space.
    """

    def read_chunks(self, blocks: Blocks, options: ReadOptions) -> Iterator[Chunk]:
        """Yield the whole stream as one chunk."""
        return self._whole.read_chunks(blocks, options)

    def read_split(self, blocks: Blocks, options: ReadOptions) -> Iterator[SplitText | Chunk]:
        """Yield the whole stream as one chunk."""
        return self._whole.read_chunks(blocks, options)

    def read_parts(self, blocks: Blocks, options: ReadOptions) -> Iterator[StreamPart]:
        """Yield the parts of a stream, as UTF-8 where the pattern is known and all is UTF-8."""
        is_plain = self._ranks.is_known and options.errors != "bytes"
        read = self._ranks.read_parts if is_plain else self._ranks.read_chunks
        return _with_prefix(read(blocks, self.cut_out(options)))

    def cuts_at(self, data: bytes, at: int) -> bool:
        """Return False: a space may be put before the text."""
        del data, at
        return False


def _with_prefix(parts: Iterator[StreamPart]) -> Iterator[StreamPart]:
    """Yield the parts of a stream, with a space put before each text between special tokens that lacks one."""
    begins = True
    for part in parts:
        if isinstance(part, Chunk):
            if begins and part.text and not part.special and not part.text.startswith(" "):
                part = Chunk(" " + part.text, part.offset, tail=part.tail, allowed=part.allowed)
            begins = part.special or (begins and not part.text)
        else:
            data = utf8_of(part)
            if begins and data.nbytes and data[0] != 0x20:
                part = memoryview(b" " + data)
            begins = begins and not part.nbytes
        yield part
