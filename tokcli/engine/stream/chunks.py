"""Cuts bytes of any length into chunks of text that encode one by one, so that memory does not grow with the input.

This module decodes UTF-8, finds special tokens and asks a pre-tokenizer where text may be cut; encoding a chunk is left
to the tokenizers. `parts.py` does the same, faster, for native code.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from tokcli.engine.pretokenizers.cuts import LOOK_AROUND
from tokcli.engine.stream import special_tokens
from tokcli.errors import DisallowedSpecialTokenError, LongPieceError, NotUtf8Error, PatternError

if TYPE_CHECKING:
    from typing import Literal, TypeAlias, TypeVar

    from tokcli.engine.base.longest_match import LongestMatch
    from tokcli.engine.pretokenizers.pretokenizer import PreTokenizer

    Blocks: TypeAlias = Iterable[bytes]
    Utf8Errors: TypeAlias = Literal["strict", "replace", "bytes"]  # what to do about bytes that are not UTF-8
    Result = TypeVar("Result")

BLOCK_BYTES = 1 << 18  # read at a time: few system calls, and at most 250,000 pieces in memory
CHUNK_CHARS = 1 << 16  # pending before text is cut: a short input is one chunk, and its errors come before any output
MAX_PIECE_BYTES = 64 << 20  # of the largest piece: merging needs about 100 bytes of memory for each byte

# errors="bytes" decodes a byte that is not UTF-8 as U+DC80 to U+DCFF (PEP 383), which UTF-8 itself never gives;
# "replace" decodes a sequence of N bytes that becomes one U+FFFD as U+DC00 + N, which keeps its size.
_BAD_BYTES = "[\udc80-\udcff]+"
_REPLACED = "[\udc01-\udc04]"
_DECODING = {"strict": "strict", "replace": "tokcli.sizes", "bytes": "surrogateescape"}


# Every run of the program makes these two classes: as named tuples, they take 0.5 ms, a hundredth of a run.
class ReadOptions:
    """The way an input is read: bytes that are not UTF-8 are an error, become U+FFFD, or are kept as bytes (`errors`).

    Special tokens in `allowed` become their id; one in `refused` raises DisallowedSpecialTokenError. Of the blocks that
    come, native code gets up to `chunk_bytes` at once; None means as many as are read fastest. `places`
    says that the places of tokens will be asked for.
    """

    def __init__(
        self,
        errors: Utf8Errors = "strict",
        allowed: frozenset[str] = frozenset(),
        refused: frozenset[str] = frozenset(),
        chunk_bytes: int | None = None,
        places: bool = False,
    ) -> None:
        self.errors, self.allowed, self.refused, self.chunk_bytes = errors, allowed, refused, chunk_bytes
        self.places = places


PLAIN = ReadOptions()


class Chunk:
    """A section of the input that encodes on its own.

    `offset` is the byte of the input at which it begins. `text` is a special token if `special` is true. `pieces`,
    where given, are the pieces of `text`. `tail` holds the bytes after the text that are not UTF-8 and belong to its
    last piece. Where `allowed` is given, the text is a whole input, in which these special tokens become their id.
    """

    def __init__(
        self,
        text: str,
        offset: int,
        *,
        special: bool = False,
        pieces: tuple[str, ...] | None = None,
        tail: bytes = b"",
        allowed: frozenset[str] | None = None,
    ) -> None:
        self.text = text
        self.offset = offset
        self.special = special
        self.pieces = pieces
        self.tail = tail
        self.allowed = allowed

    @property
    def data(self) -> bytes:
        """The bytes of the chunk."""
        return self.text.encode() + self.tail


def read_chunks(
    blocks: Blocks,
    pretokenizer: PreTokenizer,
    options: ReadOptions = PLAIN,
    offset: int = 0,
    context: str = "",
) -> Iterator[Chunk]:
    """Yield blocks of bytes, which may end anywhere, as chunks whose ids, in a row, are those of the whole input.

    `offset` is the byte of the input at which the first block begins, `context` the text before it that a pattern may
    look back at. Special tokens that `options` allow become chunks of their own; a refused one raises
    DisallowedSpecialTokenError with its byte offset. Bytes that are not UTF-8 raise NotUtf8Error ("strict"), become
    U+FFFD ("replace") or the `tail` of the chunk before them ("bytes"). A piece above MAX_PIECE_BYTES raises
    InputError.
    """
    chunker = _Chunker(pretokenizer, options, offset, context)
    # all chunks of a block at once: an error in a block is raised before anything of the block is encoded
    for block in blocks:
        yield from list(chunker.feed(block, final=False))
    yield from list(chunker.feed(b"", final=True))


def placed(split: Callable[[str], Result], chunk: Chunk) -> Result:
    """Return `split(chunk.text)`; a PatternError that it raises is given its place in the input, in bytes."""
    try:
        return split(chunk.text)
    except PatternError as error:
        if error.offset is not None and error.unit == "character":
            error.offset, error.unit = chunk.offset + len(chunk.text[: error.offset].encode()), "byte"
        raise


def pieces_of(chunk: Chunk, pretokenizer: PreTokenizer) -> Sequence[str]:
    """Return the pieces of a chunk's text."""
    return chunk.pieces if chunk.pieces is not None else placed(pretokenizer.split, chunk)


def split_chunk(chunk: Chunk, pretokenizer: PreTokenizer) -> list[bytes]:
    """Return the pieces of a chunk as bytes; a special token is one piece, and the tail belongs to the last piece."""
    if chunk.special:
        return [chunk.data]
    pieces = [piece.encode() for piece in pieces_of(chunk, pretokenizer)]
    if chunk.tail:
        pieces[-1:] = [b"".join(pieces[-1:]) + chunk.tail]
    return pieces


def _sizes(error: UnicodeError) -> tuple[str | bytes, int]:
    """Decode N bytes that are not UTF-8 as U+DC00 + N, and encode such a character as N bytes."""
    if isinstance(error, UnicodeDecodeError):
        return chr(0xDC00 + error.end - error.start), error.end
    assert isinstance(error, UnicodeEncodeError)
    return b"?" * sum(ord(char) - 0xDC00 for char in error.object[error.start : error.end]), error.end


codecs.register_error("tokcli.sizes", _sizes)


class _Chunker:
    """Holds the text that has been read and is not in a chunk yet.

    `_text` begins with `_context` characters that are in chunks already, kept for patterns that look back; the pending
    characters after them begin at byte `_offset` of the input. Bytes that are not UTF-8 are surrogates in `_text`.
    """

    def __init__(self, pretokenizer: PreTokenizer, options: ReadOptions, offset: int, context: str) -> None:
        errors, allowed, refused = options.errors, options.allowed, options.refused
        self._pretokenizer = pretokenizer
        self._errors = errors
        self._decoder = codecs.getincrementaldecoder("utf-8")(_DECODING[errors])
        self._refused = refused
        self._special = special_tokens.finder(special_tokens.together(allowed, refused))
        self._longest_special = self._special.longest
        self._events = _event_finder(self._special, errors)
        self._bytes_read = offset
        self._unread: list[str] = []  # decoded, and not yet part of _text
        self._unread_chars = 0
        self._text = context
        self._context = len(context)
        self._offset = offset
        self._event_free = 0  # no special token and no bad byte begins before this index of _text
        self._cut_free = 0  # no place to cut is before this index of _text

    def feed(self, block: bytes, *, final: bool) -> Iterator[Chunk]:
        """Yield the chunks that one more block makes certain; after the `final` block, all that are left."""
        self._unread.append(self._decode(block, final))
        self._unread_chars += len(self._unread[-1])
        # wait until a long piece has grown by half: so in all it is copied and searched only a few times
        if self._unread_chars <= len(self._text) // 2 and not final:
            return
        self._text += "".join(self._unread)
        self._unread, self._unread_chars = [], 0
        yield from self._take_events(final)
        if not final and len(self._text) - self._context >= CHUNK_CHARS:
            yield from self._take_settled()
        yield from self._take_beyond_limit()
        if final and len(self._text) > self._context:
            yield self._take(len(self._text))

    def _decode(self, block: bytes, final: bool) -> str:
        held_back = len(self._decoder.getstate()[0])
        try:
            text = self._decoder.decode(block, final)
        except UnicodeDecodeError as error:
            raise NotUtf8Error.of(error, start=self._bytes_read - held_back) from None
        self._bytes_read += len(block)
        return text

    def _take_events(self, final: bool) -> Iterator[Chunk]:
        """Yield special tokens, and runs of bytes that are not UTF-8 with the text before them."""
        if self._events is None:
            return
        while match := self._events.search(self._text, max(self._context, self._event_free)):
            begin, is_bad = match.start(), bool(match["bad"])
            # text that is not read yet may continue a run, or show that this is the beginning of a longer token
            is_whole = match.end() < len(self._text) if is_bad else begin + self._longest_special <= len(self._text)
            if not (final or is_whole):
                self._event_free = begin
                return
            if is_bad:
                yield self._take(begin, tail=match[0])
                continue
            token = self._text[begin : self._special.end(self._text, begin)]
            if not token:  # only the first character of one
                self._event_free = begin + 1
                continue
            if token in self._refused:
                before = self._text[self._context : begin]
                raise DisallowedSpecialTokenError.found(token, self._offset + self._size(before), "byte")
            if begin > self._context:
                yield self._take(begin)
            yield Chunk(token, self._offset, special=True)
            self._drop(len(token), keep_context=False)
        self._event_free = max(self._context, len(self._text) - max(self._longest_special - 1, 0))

    def _take_settled(self) -> Iterator[Chunk]:
        """Yield a chunk of the text whose pieces no later text can change."""
        text = self._readable(self._text if self._events is None else self._text[: self._event_free])
        if self._pretokenizer.is_known:
            cut = self._pretokenizer.safe_cut(text, self._cut_free)
            if cut:
                yield self._take(cut)
            else:
                self._cut_free = len(text)
        elif len(text) - self._context > 2 * LOOK_AROUND:
            end = self._within(text, self._pretokenizer.settled)
            if end > self._context:
                yield self._take(end)

    def _take(self, end: int, tail: str = "") -> Chunk:
        """Make a chunk of the pending text up to `end`, and of the bytes after it that are not UTF-8."""
        text = self._readable(self._text[:end])
        pieces = None
        if not self._pretokenizer.is_known and end > self._context:
            pieces = tuple(self._within(text, self._pretokenizer.split_from))
        tail_bytes = tail.encode("utf-8", "surrogateescape")
        chunk = Chunk(text[self._context :], self._offset, pieces=pieces, tail=tail_bytes)
        self._drop(end - self._context + len(tail), keep_context=not tail)
        return chunk

    def _drop(self, chars: int, *, keep_context: bool) -> None:
        """Drop pending characters; keep as context what a pattern that is not known may look back at."""
        end = self._context + chars
        self._offset += self._size(self._text[self._context : end])
        self._context = 0 if self._pretokenizer.is_known or not keep_context else min(LOOK_AROUND, end)
        self._text = self._text[end - self._context :]
        self._event_free = self._cut_free = 0

    def _readable(self, text: str) -> str:
        """Return text as the pattern sees it: bytes that errors="replace" replaces are U+FFFD."""
        return re.sub(_REPLACED, "\ufffd", text) if self._errors == "replace" and not text.isascii() else text

    def _size(self, text: str) -> int:
        """Return the number of bytes of the input that a text was decoded from."""
        return len(text) if text.isascii() else len(text.encode("utf-8", _DECODING[self._errors]))

    def _within(self, text: str, split: Callable[[str, int], Result]) -> Result:
        """Return `split(text, start)` for the pending text; a PatternError is given its byte of the input."""
        try:
            return split(text, self._context)
        except PatternError as error:
            if error.offset is not None and error.unit == "character":
                before = self._offset - self._size(self._text[: self._context])
                error.offset, error.unit = before + self._size(self._text[: error.offset]), "byte"
            raise

    def _take_beyond_limit(self) -> Iterator[Chunk]:
        """Yield pending text above the limit for a piece, cut between pieces; InputError if all of it is one piece.

        The characters alone showed no place to cut it.
        """
        while (pending := len(self._text) - self._context) > MAX_PIECE_BYTES // 4:  # characters have up to four bytes
            if pending <= MAX_PIECE_BYTES and self._size(self._text[self._context :]) <= MAX_PIECE_BYTES:
                return
            end = self._within(self._readable(self._text), self._pretokenizer.settled)
            if end == self._context:
                raise LongPieceError(
                    f"a piece above {MAX_PIECE_BYTES >> 20} MiB begins",
                    "The pattern finds no end in it: is this text, and the right pattern for it?",
                    offset=self._offset,
                    unit="byte",
                )
            yield self._take(end)


def _event_finder(special: LongestMatch[str], errors: Utf8Errors) -> re.Pattern[str] | None:
    if special.begin is None and errors != "bytes":
        return None
    bad = _BAD_BYTES if errors == "bytes" else "(?!)"
    return re.compile(f"(?P<bad>{bad})" + (f"|{special.begin.pattern}" if special.begin else ""))
