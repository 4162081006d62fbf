"""Cuts bytes into parts that native code encodes as they are: text in UTF-8, and text whose pieces are known.

Bytes that are not UTF-8 are replaced here, or belong to the last piece before them. `chunks.py` takes over where bytes
that are not UTF-8 are an error, where a text has no place to cut, and where the pattern does not split it.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from itertools import chain
from typing import TYPE_CHECKING

from tokcli.engine import backend
from tokcli.engine.base.arguments import MAX_CHARACTER
from tokcli.engine.pretokenizers.pretokenizer import ALL
from tokcli.engine.stream.chunks import PLAIN, Chunk, ReadOptions, read_chunks
from tokcli.engine.stream.special_tokens import together
from tokcli.engine.stream.utf8 import SplitText, StreamPart, cut_at_end, joined, special_finder, valid_utf8
from tokcli.errors import DisallowedSpecialTokenError

if TYPE_CHECKING:
    from tokcli.engine import _native
    from tokcli.engine.pretokenizers.pretokenizer import PreTokenizer
    from tokcli.engine.stream.chunks import Blocks

MAX_UNCUT_BYTES = 1 << 26  # before `chunks.py` takes over: the limit of a piece
_WINDOWS = (1 << 9, 1 << 13, 1 << 17)  # bytes at the end to search for a place to cut: each size in turn
_WHITE = b" \n\t"  # bytes that are not UTF-8 may make a piece of these join those before it (tiktoken/reference.py)


def read_parts(
    blocks: Blocks,
    pretokenizer: PreTokenizer,
    splitter: int | _native.Pattern,
    options: ReadOptions = PLAIN,
) -> Iterator[StreamPart]:
    """Yield the parts of blocks of bytes: memoryviews of UTF-8 for a known pattern, else text with its pieces.

    Special tokens are `Chunk`s. `splitter` is what native code splits by: the number of the known pattern's scanner, or
    a pattern. The other arguments and the errors are those of `chunks.read_chunks`.
    """
    source = iter(blocks)
    reader = _Reader(pretokenizer, splitter, options)
    for data, is_last in joined(source, options.chunk_bytes):
        parts = reader.feed(data, is_last)
        if parts is None:
            rest = chain([reader.pending], source)
            yield from read_chunks(rest, pretokenizer, options, reader.offset, reader.context)
            return
        yield from parts


class _Reader:
    """Holds the text that is not in a part yet, from byte `_at` of `_text` on, and before it what a pattern may see.

    The pending text begins at byte `offset` of the input.
    """

    def __init__(self, pretokenizer: PreTokenizer, splitter: int | _native.Pattern, options: ReadOptions) -> None:
        self._pretokenizer, self._splitter, self._options = pretokenizer, splitter, options
        self._finder = special_finder(together(options.allowed, options.refused))
        self._native = backend.code()
        self._text = b""
        self._at = self.offset = 0
        self._is_invalid = False  # whether `_text` has bytes that are not UTF-8
        self._unread: list[bytes] = []
        self._unread_bytes = 0

    @property
    def pending(self) -> bytes:
        """The text that is not in a part yet."""
        return self._text[self._at :]

    @property
    def context(self) -> str:
        """The end of the text before `pending`, which the pattern may look back at."""
        return self._text[: self._at].decode("utf-8", "replace")

    def feed(self, block: bytes, is_last: bool) -> list[StreamPart] | None:
        """Return the parts that one more block makes certain; None where `chunks.py` has to take over."""
        self._unread.append(block)
        self._unread_bytes += len(block)
        held = len(self._text) - self._at
        # a long piece is read again only when it has grown by half, so a few times in all, or is too long
        if self._unread_bytes <= held // 2 and held + self._unread_bytes <= MAX_UNCUT_BYTES and not is_last:
            return []
        self._text = data = b"".join([self._text, *self._unread])
        self._unread, self._unread_bytes = [], 0
        size = valid_utf8(data)
        self._is_invalid = size < len(data) and (is_last or len(data) - size >= MAX_CHARACTER)
        if self._is_invalid and self._options.errors == "strict":
            return None
        if self._is_invalid:
            size = len(data) if is_last else len(data) - cut_at_end(data)
        return self._parts(data, size, is_last)

    def _parts(self, data: bytes, size: int, is_last: bool) -> list[StreamPart] | None:
        limit = size if is_last else size - max(self._finder.longest - 1, 0)  # after it a longer token may begin
        begin, at = 0, self._at  # where the text that the pattern sees begins, and the text still to be split
        found: list[StreamPart] = []
        for start, token in self._finder.find(data, size):
            if start < at:
                continue
            if start >= limit and not is_last:
                break
            place = self.offset + start - self._at
            if token in self._options.refused:
                raise DisallowedSpecialTokenError.found(token, place, "byte")
            if self._take(found, begin, at, start, is_whole=True) is None:
                return None
            found.append(Chunk(token, place, special=True))
            begin = at = start + len(token.encode())
        limit = max(at, limit - _bytes_of_cut_character(data, limit))
        if is_last and limit - at > MAX_UNCUT_BYTES and self._is_too_long(at, limit):
            return None
        taken = self._take(found, begin, at, limit, is_whole=is_last)
        if taken is None or len(data) - taken[1] > MAX_UNCUT_BYTES:
            return None
        begin, end = taken
        self.offset += end - self._at
        before = end
        while not self._pretokenizer.is_known and before > max(begin, end - MAX_CHARACTER):
            before -= 1
            if not 0x80 <= data[before] < 0xC0:
                break
        self._text, self._at = data[before:], end - before
        return [part for part in found if isinstance(part, Chunk) or part.nbytes]

    def _take(
        self, found: list[StreamPart], begin: int, at: int, end: int, *, is_whole: bool
    ) -> tuple[int, int] | None:
        """Append the parts of data[at:end] to `found`; the pattern sees data[begin:end].

        Return where the text that the pattern sees next begins, and where the parts end; None where the pattern leaves
        text out.
        """
        data = self._text
        if self._is_invalid and self._options.errors == "bytes":
            invalid = self._invalid(memoryview(data)[begin:end], at - begin, is_whole)
            if invalid is None:
                return None
            if invalid.nbytes:
                found.append(invalid)
                begin = at = at + invalid.nbytes
            end = at + valid_utf8(memoryview(data)[at:end])
        if self._pretokenizer.is_known:
            cut = end if is_whole else _last_cut(data, at, end, self._pretokenizer)
            found.append(self._replaced(at, cut) if self._is_invalid else memoryview(data)[at:cut])
            return begin, cut
        assert not isinstance(self._splitter, int)
        if self._pretokenizer.pat_str == ALL and not is_whole:
            return begin, at  # all of a text is one piece
        text, start = memoryview(data)[begin:end], at - begin
        if self._is_invalid:
            before = self._replaced(begin, at)
            text, start = memoryview(b"".join([before, self._replaced(at, end)])), len(before)
        ends, _, is_split = self._splitter.split(text, start, is_whole)
        if not is_split:
            return None
        if self._options.errors == "bytes" and not is_whole:
            ends = _before_last(ends, text[start:])  # bytes that are not UTF-8 may still come and join the last piece
        size = _last_end(ends)
        found.append(SplitText(text[start : start + size], ends))
        return begin, at + (
            self._native.replace_invalid(memoryview(data)[at:end], size)[1] if self._is_invalid else size
        )

    def _invalid(self, data: memoryview, start: int, is_whole: bool) -> SplitText | None:
        """Return the text among bytes that are not UTF-8, from byte `start` on, as `split_invalid` has it; or None."""
        split_invalid, by = self._native.split_invalid, self._splitter
        if isinstance(by, int):  # which splits any text, and never looks back
            text = data[start:]
            text = text[: self._native.invalid_size(text, is_whole)]

            def find_ends() -> bytes:
                ends: bytes | None = split_invalid(text, 0, by, True)
                assert ends is not None
                return ends

            return SplitText(text, find_ends, is_invalid=True, family=by)
        ends = split_invalid(data, start, by, is_whole)
        if ends is None:
            return None
        return SplitText(data[start : start + _last_end(ends)], ends, is_invalid=True)

    def _is_too_long(self, begin: int, end: int) -> bool:
        """Return whether the last piece of data[begin:end] is certainly longer than a piece may be."""
        is_known = self._pretokenizer.is_known
        return is_known and end - _last_cut(self._text, begin, end, self._pretokenizer) > MAX_UNCUT_BYTES

    def _replaced(self, begin: int, end: int) -> memoryview:
        return memoryview(self._native.replace_invalid(memoryview(self._text)[begin:end])[0])


def _last_end(ends: bytes) -> int:
    return int.from_bytes(ends[-8:], sys.byteorder)


def _before_last(ends: bytes, text: memoryview) -> bytes:
    """Return the ends of the pieces without the last one and without those before it that end in white space."""
    size = max(len(ends) - 8, 0)
    while size and text[_last_end(ends[:size]) - 1] in _WHITE:
        size -= 8
    return ends[:size]


def _last_cut(data: bytes, start: int, end: int, pretokenizer: PreTokenizer) -> int:
    """Return the last place in data[start:end] where text may be cut; `start` if none is found.

    data[start:end] is whole characters.
    """
    for window in (*_WINDOWS, MAX_UNCUT_BYTES):
        is_all = end - window <= start
        first = start if is_all else end - window + _bytes_after_cut(data, end - window)
        text = data[first:end].decode("utf-8", "surrogateescape")
        if cut := pretokenizer.last_stop(text):
            return end - len(text[cut:].encode("utf-8", "surrogateescape"))
        if is_all:
            break
    # a piece begins at `start`, so the pieces of digits can be told from there
    if is_all and data[end - 1 : end].isdigit() and (cut := pretokenizer.cut_in_digits(text)):
        return end - (len(text) - cut)  # only digits follow
    return start


def _bytes_of_cut_character(data: bytes, end: int) -> int:
    """Return how many bytes before `end` belong to a character that continues after it."""
    before = range(end, max(end - MAX_CHARACTER, 0), -1) if end < len(data) else ()
    return next((end - at for at in before if not 0x80 <= data[at] < 0xC0), 0)


def _bytes_after_cut(data: bytes, begin: int) -> int:
    """Return how many bytes from `begin` on belong to a character that begins before it."""
    return next((i for i in range(MAX_CHARACTER) if not 0x80 <= data[begin + i] < 0xC0), 0)
