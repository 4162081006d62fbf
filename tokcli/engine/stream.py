"""Bytes of any length as chunks that can be encoded one by one, so that memory does not grow with the input.

UTF-8, special tokens and the places where text may be cut meet here; what becomes of a chunk is `Encoding`'s task.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Literal, NamedTuple, TypeVar

from tokcli.engine import special_tokens
from tokcli.engine.pretokenizer import LOOK_AROUND, PreTokenizer
from tokcli.errors import DisallowedSpecialTokenError, InputError, PatternError

Blocks = Iterable[bytes]
Errors = Literal["strict", "replace", "bytes"]
Made = TypeVar("Made")

BLOCK_BYTES = 1 << 18  # read at a time: large enough for the system calls, small enough for 250,000 pieces in memory
CHUNK_CHARS = 1 << 16  # text is cut when so much is pending: short inputs are one chunk, and refused before any output
MAX_PIECE_BYTES = 64 << 20  # the largest piece: merging needs some 100 bytes of memory for each

# errors="bytes" decodes a byte that is not UTF-8 as U+DC80 to U+DCFF (PEP 383), which UTF-8 itself never gives.
_BAD_BYTES = "[\udc80-\udcff]+"


class Chunk(NamedTuple):
    """A part of the input that encodes on its own.

    `offset` is where it begins, in bytes. `text` is a special token if `special`. `pieces`, where given, are the pieces
    of `text`. `tail` are bytes after it that are not UTF-8 and belong to its last piece.
    """

    text: str
    offset: int
    special: bool = False
    pieces: tuple[str, ...] | None = None
    tail: bytes = b""

    @property
    def data(self) -> bytes:
        """The bytes of the chunk."""
        return self.text.encode() + self.tail


def read_chunks(
    blocks: Blocks,
    pretokenizer: PreTokenizer,
    *,
    errors: Errors = "strict",
    allowed: frozenset[str] = frozenset(),
    refused: frozenset[str] = frozenset(),
    offset: int = 0,
) -> Iterator[Chunk]:
    """Blocks of bytes, cut anywhere, as chunks; the ids of the chunks are the ids of the whole.

    `offset` is where the first block begins in the input.

    Special tokens in `allowed` become chunks of their own; one in `refused` raises DisallowedSpecialTokenError with its
    byte offset. Bytes that are not UTF-8 are an InputError ("strict"), U+FFFD ("replace"), or the `tail` of the chunk
    before them ("bytes"). InputError also for a piece above MAX_PIECE_BYTES.
    """
    chunker = _Chunker(pretokenizer, errors, allowed, refused, offset)
    # each block's chunks at once: what is wrong with a block is said before anything of it is encoded
    for block in blocks:
        yield from list(chunker.feed(block, final=False))
    yield from list(chunker.feed(b"", final=True))


def placed(split: Callable[[str], Made], chunk: Chunk) -> Made:
    """`split(chunk.text)`; what goes wrong names its place in the input, in bytes."""
    try:
        return split(chunk.text)
    except PatternError as error:
        raise _placed_error(error, chunk.text, chunk.offset) from None


def pieces_of(chunk: Chunk, pretokenizer: PreTokenizer) -> Sequence[str]:
    """The pieces of a chunk's text."""
    return chunk.pieces if chunk.pieces is not None else placed(pretokenizer.split, chunk)


def split_chunk(chunk: Chunk, pretokenizer: PreTokenizer) -> list[bytes]:
    """The pieces of a chunk, as bytes; a special token is one, and the tail belongs to the last."""
    if chunk.special:
        return [chunk.data]
    pieces = [piece.encode() for piece in pieces_of(chunk, pretokenizer)]
    if chunk.tail:
        pieces[-1:] = [b"".join(pieces[-1:]) + chunk.tail]
    return pieces


def refusal(token: str, offset: int) -> DisallowedSpecialTokenError:
    """The error for a special token that was not allowed."""
    return DisallowedSpecialTokenError(
        f"special token {token!r} stands in the text at byte {offset}",
        "Use --special text (as ordinary text), --special allow (as the special token) "
        f"or --allow-special {token!r} (only this one).",
        token=token,
        offset=offset,
    )


def _placed_error(error: PatternError, text: str, offset: int) -> PatternError:
    def to_bytes(match: re.Match[str]) -> str:
        return f"at byte {offset + len(text[: int(match[1])].encode('utf-8', 'surrogateescape'))}"

    return PatternError(re.sub(r"\bat character (\d+)", to_bytes, error.what, count=1), error.hint)


class _Chunker:
    """The text that has been read and not yet become a chunk.

    `_text` holds `_context` characters that are in chunks already, kept for patterns that look back, and then the
    pending ones, which begin at byte `_offset` of the input. Bad bytes stand in it as surrogates until they are taken.
    """

    def __init__(
        self,
        pretokenizer: PreTokenizer,
        errors: Errors,
        allowed: frozenset[str],
        refused: frozenset[str],
        offset: int,
    ) -> None:
        self._pretokenizer = pretokenizer
        self._errors = errors
        self._decoder = codecs.getincrementaldecoder("utf-8")("strict" if errors == "strict" else "surrogateescape")
        self._refused = refused
        self._longest_special = special_tokens.longest(allowed | refused)
        self._events = _event_finder(allowed | refused, errors)
        self._bytes_read = offset
        self._unread: list[str] = []  # decoded, and not yet part of _text
        self._unread_chars = 0
        self._text = ""
        self._context = 0
        self._offset = offset
        self._event_free = 0  # no special token and no bad byte begins before this index
        self._cut_free = 0  # and there is no place to cut before this one

    def feed(self, block: bytes, *, final: bool) -> Iterator[Chunk]:
        """The chunks that become certain with one more block of the input."""
        self._unread.append(self._decode(block, final))
        self._unread_chars += len(self._unread[-1])
        # a piece that does not end grows by half of itself at a time: in all it is copied and searched but a few times
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
            at = self._bytes_read - held_back + error.start
            raise InputError(
                f"not UTF-8 at byte {at} (0x{error.object[error.start]:02x}: {error.reason})",
                "Use --errors replace (U+FFFD for what is not UTF-8) or --errors bytes (lossless).",
            ) from None
        self._bytes_read += len(block)
        return text

    def _take_events(self, final: bool) -> Iterator[Chunk]:
        """Special tokens, and runs of bad bytes with the text before them."""
        if self._events is None:
            return
        while match := self._events.search(self._text, max(self._context, self._event_free)):
            is_bad = bool(match["bad"])
            # a run may go on, and a longer token begin here, in text not yet read
            is_whole = (
                match.end() < len(self._text) if is_bad else match.start() + self._longest_special <= len(self._text)
            )
            if not (final or is_whole):
                self._event_free = match.start()
                return
            if is_bad:
                yield self._take(match.start(), tail=match[0])
                continue
            if match[0] in self._refused:
                before = self._text[self._context : match.start()]
                raise refusal(match[0], self._offset + _size(before))
            if match.start() > self._context:
                yield self._take(match.start())
            yield Chunk(match[0], self._offset, special=True)
            self._drop(len(match[0]), keep_context=False)
        self._event_free = max(self._context, len(self._text) - max(self._longest_special - 1, 0))

    def _take_settled(self) -> Iterator[Chunk]:
        """As much as no later text can change."""
        text = self._text if self._events is None else self._text[: self._event_free]
        if self._pretokenizer.is_known:
            cut = self._pretokenizer.safe_cut(text, self._cut_free)
            if cut:
                yield self._take(cut)
            else:
                self._cut_free = len(text)
        elif len(text) - self._context > 2 * LOOK_AROUND:
            end = self._pretokenizer.settled(text, self._context)
            if end > self._context:
                yield self._take(end)

    def _take(self, end: int, tail: str = "") -> Chunk:
        """The pending text up to `end` as a chunk, with the bad bytes after it."""
        text = self._text[self._context : end]
        pieces = None
        if not self._pretokenizer.is_known and text:
            try:
                pieces = tuple(self._pretokenizer.split_from(self._text[:end], self._context))
            except PatternError as error:
                raise _placed_error(
                    error, self._text[:end], self._offset - _size(self._text[: self._context])
                ) from None
        if self._errors == "replace":
            text = re.sub(_BAD_BYTES, _replaced, text)
            pieces = pieces and tuple(re.sub(_BAD_BYTES, _replaced, piece) for piece in pieces)
        chunk = Chunk(text, self._offset, pieces=pieces, tail=tail.encode("utf-8", "surrogateescape"))
        self._drop(end - self._context + len(tail), keep_context=not tail)
        return chunk

    def _drop(self, chars: int, *, keep_context: bool) -> None:
        """Forgets pending characters, but for the context that a pattern of one's own may look back at."""
        end = self._context + chars
        self._offset += _size(self._text[self._context : end])
        self._context = 0 if self._pretokenizer.is_known or not keep_context else min(LOOK_AROUND, end)
        self._text = self._text[end - self._context :]
        self._event_free = self._cut_free = 0

    def _take_beyond_limit(self) -> Iterator[Chunk]:
        """What is pending above the limit: pieces between which there is no cut to see; InputError if it is one."""
        while (pending := len(self._text) - self._context) > MAX_PIECE_BYTES // 4:  # characters have up to four bytes
            if pending <= MAX_PIECE_BYTES and _size(self._text[self._context :]) <= MAX_PIECE_BYTES:
                return
            end = self._pretokenizer.settled(self._text, self._context)
            if end == self._context:
                raise InputError(
                    f"a piece above {MAX_PIECE_BYTES >> 20} MiB begins at byte {self._offset}",
                    "The pattern finds no end in it: is this text, and the right pattern for it?",
                )
            yield self._take(end)


def _event_finder(tokens: frozenset[str], errors: Errors) -> re.Pattern[str] | None:
    special = special_tokens.finder(tokens)
    if special is None and errors != "bytes":
        return None
    bad = _BAD_BYTES if errors == "bytes" else "(?!)"
    return re.compile(f"(?P<bad>{bad})" + (f"|{special.pattern}" if special else ""))


def _size(text: str) -> int:
    """Bytes of the input that a text was decoded from."""
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogateescape"))


def _replaced(bad: re.Match[str]) -> str:
    return bad[0].encode("utf-8", "surrogateescape").decode("utf-8", "replace")
