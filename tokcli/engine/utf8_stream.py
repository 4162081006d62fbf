"""Bytes of any length as parts that native code can take as they are: UTF-8 that was checked, cut where text may be.

What it cannot do (bytes that are not UTF-8, text without a place to cut) it leaves to stream.py, from there on.
"""

from __future__ import annotations

import codecs
from collections.abc import Iterable, Iterator
from functools import lru_cache
from itertools import chain

from tokcli.engine import backend, special_tokens, stream
from tokcli.engine.pretokenizer import PreTokenizer
from tokcli.engine.stream import Blocks, Chunk, Errors

Part = memoryview | Chunk  # text as UTF-8, or anything else that a stream holds

FIRST_PART = 1 << 16  # short inputs are one part, and refused before any output
MAX_PART = 1 << 18  # then parts grow with what was read, up to here: threads have enough to do, and caches hold it
MAX_UNCUT = 1 << 21  # text without a place to cut that is looked at as bytes
_WINDOWS = (1 << 9, 1 << 13, 1 << 17)  # bytes at the end in which a place to cut is looked for
_MAX_CHARACTER = 4  # bytes


def read_parts(
    blocks: Blocks,
    pretokenizer: PreTokenizer,
    *,
    errors: Errors = "strict",
    allowed: frozenset[str] = frozenset(),
    refused: frozenset[str] = frozenset(),
) -> Iterator[Part]:
    """As `stream.read_chunks`, for a known pattern; text is a memoryview of UTF-8 where nothing is wrong with it."""
    finder = special_finder(allowed | refused)
    source, offset, held = iter(blocks), 0, b""
    for data, is_last in _joined(source):
        data = held + data if held else data
        size = valid_utf8(data)
        if size < len(data) and (is_last or len(data) - size >= _MAX_CHARACTER):
            break
        parts: list[Part] = []
        at = 0
        limit = size if is_last else size - max(finder.longest - 1, 0)  # a longer token may begin behind it
        for start, token in finder.find(data, size):
            if start >= limit and not is_last:
                break
            if token in refused:
                raise stream.refusal(token, offset + start)
            parts += [memoryview(data)[at:start], Chunk(token, offset + start, special=True)]
            at = start + len(token.encode())
        cut = size if is_last else max(at, _last_cut(data, at, max(limit, at), pretokenizer))
        parts.append(memoryview(data)[at:cut])
        yield from (part for part in parts if isinstance(part, Chunk) or part.nbytes)
        held, offset = data[cut:], offset + cut
        if len(held) > MAX_UNCUT:
            data = held
            break
    else:
        return
    rest = chain([data], source)
    yield from stream.read_chunks(rest, pretokenizer, errors=errors, allowed=allowed, refused=refused, offset=offset)


def valid_utf8(data: bytes) -> int:
    """How many bytes from the beginning are whole characters of UTF-8.

    >>> valid_utf8(b"ab\\xc3"), valid_utf8(b"a\\xffb")
    (2, 1)
    """
    native = backend.native()
    if native is not None:
        size: int = native.valid_utf8(data)
        return size
    try:
        return codecs.utf_8_decode(data, "strict", False)[1]
    except UnicodeDecodeError as error:
        return error.start


def _joined(blocks: Iterator[bytes]) -> Iterator[tuple[bytes, bool]]:
    """Blocks put together to the size of a part, and whether it is the last (which may be empty)."""
    waiting: list[bytes] = []
    size, wanted = 0, FIRST_PART
    for block in blocks:
        waiting.append(block)
        size += len(block)
        if size >= wanted:
            yield b"".join(waiting), False
            waiting, size, wanted = [], 0, min(2 * wanted, MAX_PART)
    yield b"".join(waiting), True


class SpecialFinder:
    """Finds special tokens in UTF-8. They begin alike, and hardly any text begins so: that is searched for first."""

    def __init__(self, tokens: Iterable[str]) -> None:
        self._names = frozenset(token for token in tokens if token)
        self.longest = max((len(name.encode()) for name in self._names), default=0)
        first, last = min(self._names, default=""), max(self._names, default="")
        same = next(
            (i for i, (a, b) in enumerate(zip(first, last, strict=False)) if a != b), min(len(first), len(last))
        )
        self._beginning = first[:same].encode()

    def find(self, data: bytes, size: int) -> Iterator[tuple[int, str]]:
        """(offset, token) of each one that begins and ends before `size`, the longest where several begin."""
        if not self._names or data.find(self._beginning, 0, size) < 0:
            return
        pattern = special_tokens.byte_finder(self._names)
        for match in pattern.finditer(data, 0, size):
            yield match.start(), match[0].decode()

    def may_be_in(self, data: bytes) -> bool:
        """False is certain."""
        return bool(self._names) and self._beginning in data


@lru_cache(maxsize=8)
def special_finder(tokens: frozenset[str]) -> SpecialFinder:
    """The finder for some special tokens."""
    return SpecialFinder(tokens)


def _last_cut(data: bytes, start: int, end: int, pretokenizer: PreTokenizer) -> int:
    """The last place in data[start:end] where text may be cut; `start` where none is seen."""
    for window in (*_WINDOWS, MAX_UNCUT):
        first = max(start, end - window)
        text = data[first:end].decode("utf-8", "ignore")  # of characters that are cut in two
        if cut := pretokenizer.last_stop(text):
            return end - len(text[cut:].encode()) - _cut_short(data, end)
        if first == start:
            break
    return start


def _cut_short(data: bytes, end: int) -> int:
    """How many bytes before `end` belong to a character that goes on behind it."""
    if end == len(data) or not 0x80 <= data[end] < 0xC0:
        return 0
    size = 1
    while 0x80 <= data[end - size] < 0xC0:
        size += 1
    return size
