"""Text kept as UTF-8, which native code takes without decoding: its pieces, its special tokens, and its validity."""

from __future__ import annotations

import codecs
from abc import ABC, abstractmethod
from array import array
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from functools import cached_property, lru_cache
from itertools import accumulate, chain, pairwise
from typing import TYPE_CHECKING

from tokcli.engine import backend
from tokcli.engine.base.arguments import MAX_CHARACTER
from tokcli.engine.stream import special_tokens
from tokcli.engine.stream.chunks import Chunk

if TYPE_CHECKING:
    from typing_extensions import Buffer

    from tokcli.engine import _native
    from tokcli.engine.tokens import Tokens

TextOrUtf8 = str | memoryview
"""A text, or its UTF-8, which native code takes without a copy."""


class SplitText:
    """A part of a stream: plain text as UTF-8, and the bytes at which its pieces end (uint64).

    Ends may be given as a callable that finds them: then whoever asks first does that work. With `is_invalid` the part
    has bytes that are not UTF-8, too; each run of them belongs to the last piece before it. Where a known pattern
    splits such a part, `family` is the number of its scanner: native code then needs no ends.
    """

    def __init__(
        self,
        data: memoryview,
        ends: bytes | Callable[[], bytes],
        is_invalid: bool = False,
        family: int | None = None,
    ) -> None:
        self.data, self._ends, self.is_invalid, self.family = data, ends, is_invalid, family

    @property  # a cached one would hold a lock that all parts share, up to Python 3.11
    def ends(self) -> bytes:
        """The bytes at which the pieces end."""
        if not isinstance(self._ends, bytes):
            self._ends = self._ends()
        return self._ends

    @classmethod
    def of(cls, pieces: Collection[bytes]) -> SplitText:
        """Return the part that has these pieces, given as UTF-8."""
        return cls(memoryview(b"".join(pieces)), array("Q", accumulate(map(len, pieces))).tobytes())

    @property
    def nbytes(self) -> int:
        """The size of the text in bytes."""
        return self.data.nbytes

    @property
    def pieces(self) -> list[str]:
        """The pieces as text."""
        ends = memoryview(self.ends).cast("Q").tolist()
        return [str(self.data[begin:end], "utf-8") for begin, end in pairwise([0, *ends])]


class PartOfText(SplitText, ABC):
    """A part of a long text that knows how to encode itself (long_texts/); its pieces are not known."""

    @abstractmethod
    def ids(self) -> memoryview:
        """Return the ids of the part (uint32)."""

    @abstractmethod
    def count(self) -> int:
        """Return the number of ids of the part."""

    @abstractmethod
    def tokens(self) -> Tokens:
        """Return the tokens of the part with their places in its characters; InputError where these are not known."""


StreamPart = memoryview | SplitText | Chunk
"""A part of a stream that is encoded by itself: its UTF-8, its UTF-8 and where its pieces end, or a decoded `Chunk`."""

INVALID_UTF8_COST = 6  # times as much as text: no piece of it was seen before, and none is a token


def work_of(part: StreamPart) -> int:
    r"""Return how much work a part is for native code, in bytes of text: nothing where Python does it.

    >>> work_of(memoryview(b"text")), work_of(SplitText(memoryview(b"\xff\xfe"), b"", is_invalid=True))
    (4, 12)
    """
    if isinstance(part, Chunk):
        return 0
    return part.nbytes * (INVALID_UTF8_COST if isinstance(part, SplitText) and part.is_invalid else 1)


FIRST_CHUNK_BYTES = 1 << 16  # a short input is one chunk: its errors come before any output
MAX_CHUNK_BYTES = 1 << 18  # chunks grow up to this: enough work for a thread, and small enough for a processor's caches
LONG_TEXT = 1 << 12  # bytes; from here on, `bytes.find` does not find special tokens faster than native code does


def utf8_of(part: memoryview | SplitText) -> memoryview:
    """Return the UTF-8 of a part that is plain text, with or without its pieces."""
    return part.data if isinstance(part, SplitText) else part


def text_or_utf8(part: StreamPart) -> str | memoryview:
    """Return the text of a part of a stream: a str if it was decoded before, else UTF-8."""
    return part.text if isinstance(part, Chunk) else utf8_of(part)


def text_of(part: StreamPart) -> str:
    """Return the text of a part of a stream."""
    return part.text if isinstance(part, Chunk) else str(utf8_of(part), "utf-8")


def char_count(part: StreamPart) -> int:
    """Return the number of characters of a part of a stream.

    >>> char_count(memoryview("a\u4e2d".encode()))
    2
    """
    if isinstance(part, Chunk):
        return len(part.text)
    count: int = backend.code().count_chars(utf8_of(part))
    return count


def allowed_in(part: StreamPart) -> frozenset[str]:
    """Return the special tokens allowed in a part of a stream: none where they have been cut out before."""
    return (isinstance(part, Chunk) and part.allowed) or frozenset()


def valid_utf8(data: Buffer) -> int:
    """Return how many bytes at the beginning are whole characters of UTF-8.

    >>> valid_utf8(b"ab\\xc3"), valid_utf8(b"a\\xffb")
    (2, 1)
    """
    size: int = backend.code().valid_utf8(data)
    return size


def cut_at_end(data: bytes) -> int:
    r"""Return how many bytes at the end are the beginning of a character that is cut off.

    >>> cut_at_end("a\u4e2d".encode()), cut_at_end("a\u4e2d".encode()[:-1]), cut_at_end(b"\xff")
    (0, 2, 0)
    """
    end = data[1 - MAX_CHARACTER :]
    return len(end) - codecs.utf_8_decode(end, "replace", False)[1]


class WholeCharacters:
    r"""Holds back the beginning of a character of UTF-8 until its other bytes come, or the end.

    >>> whole = WholeCharacters()
    >>> whole.add(b"a\xe4\xb8"), whole.add(b"\xad!"), whole.finish()
    (b'a', b'\xe4\xb8\xad!', b'')
    """

    def __init__(self) -> None:
        self._held = b""

    def add(self, data: bytes) -> bytes:
        """Return what was held and `data`, without a character at the end that is cut off."""
        data = self._held + data if self._held else data
        at = len(data) - cut_at_end(data)
        self._held = data[at:]
        return data[:at]

    def finish(self) -> bytes:
        """Return what is held: a character that nothing completes."""
        held, self._held = self._held, b""
        return held


def without_surrogates(text: str) -> str:
    """Return a text with pairs of surrogates as the character they encode, and lone ones as U+FFFD, as tiktoken does.

    TypeError for anything but a str.
    """
    if not isinstance(text, str):
        raise TypeError(f"expected str, not {type(text).__name__}")
    if text.isascii():
        return text
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def plain_text(text: TextOrUtf8) -> str:
    """Return a text as a str without lone surrogates."""
    return str(text, "utf-8") if isinstance(text, memoryview) else without_surrogates(text)


def joined(blocks: Iterator[bytes], most: int | None = None) -> Iterator[tuple[bytes, bool]]:
    """Yield (block, whether it is the last), with blocks joined to the size of a chunk; the last one may be empty.

    Blocks are joined until they have `most` bytes, or MAX_CHUNK_BYTES.
    """
    waiting: list[bytes] = []
    largest = most or MAX_CHUNK_BYTES
    size, wanted = 0, min(FIRST_CHUNK_BYTES, largest)
    for block in blocks:
        waiting.append(block)
        size += len(block)
        if size >= wanted:
            yield b"".join(waiting), False
            waiting, size, wanted = [], 0, min(2 * wanted, largest)
    yield b"".join(waiting), True


def begun(blocks: Iterable[bytes], most: int) -> tuple[Iterable[bytes], bool]:
    """Return the blocks of a stream, and whether they have more than `most` bytes, for which they have been read."""
    source, held, size = iter(blocks), [], 0
    for block in source:
        held.append(block)
        size += len(block)
        if size > most:
            return chain(held, source), True
    return held, False


class SpecialFinder:
    """Finds special tokens in UTF-8.

    In short text their common beginning is searched for first, which hardly any text has.
    """

    def __init__(self, tokens: frozenset[str]) -> None:
        self._names = tokens - {""} if "" in tokens else tokens
        first, last = min(self._names, default=""), max(self._names, default="")
        same = next(
            (i for i, (a, b) in enumerate(zip(first, last, strict=False)) if a != b), min(len(first), len(last))
        )
        self._beginning = first[:same].encode()
        self._numbers: tuple[Mapping[str, int] | None, array[int]] = None, array("Q")  # ids, and those of `_listed`

    @cached_property
    def longest(self) -> int:
        """The size of the longest token in bytes; 0 for none."""
        return max(map(len, map(str.encode, self._names)), default=0)

    @cached_property
    def _listed(self) -> list[str]:
        return list(self._names)

    @cached_property
    def _match(self) -> _native.LongestMatch:
        match: _native.LongestMatch = backend.code().LongestMatch(list(map(str.encode, self._listed)))
        return match

    def _places(self, data: bytes, size: int, most: int) -> Iterable[tuple[int, int]]:
        flat = memoryview(self._match.find(data, size, most)).cast("Q").tolist()
        return zip(flat[::2], flat[1::2], strict=True)

    def _may_be_in(self, data: bytes, size: int) -> bool:
        return size > LONG_TEXT or data.find(self._beginning, 0, size) >= 0

    def find(self, data: bytes, size: int) -> Iterator[tuple[int, str]]:
        """Yield (offset, token) of each token that ends before byte `size`, the longest where several begin."""
        if not self._names or not self._may_be_in(data, size):
            return
        for begin, end in self._places(data, size, len(data)):
            yield begin, data[begin:end].decode()

    def is_in(self, data: bytes) -> bool:
        """Return whether any of the tokens is in the data."""
        is_likely = bool(self._names) and self._may_be_in(data, len(data))
        return is_likely and any(True for _ in self._places(data, len(data), 1))

    def found_in(self, data: bytes, ids: Mapping[str, int]) -> array[int]:
        """Return the first and the past-the-end byte and the id of each token in the data: three numbers (uint64)."""
        if not self.is_in(data):
            return array("Q")
        known, numbers = self._numbers
        if known is not ids:
            numbers = array("Q", map(ids.__getitem__, self._listed))
            self._numbers = ids, numbers
        return array("Q", self._match.find_numbered(data, numbers))


class SpecialCounter:
    """Counts special tokens in UTF-8 as it is read, but those in `allowed`; `found` is called with each number.

    >>> counter = SpecialCounter(frozenset({"<|end|>"}), frozenset(), print)
    >>> b"".join(counter.watched([b"a<|end|>b<|e", b"nd|>"]))
    1
    1
    b'a<|end|>b<|end|>'
    """

    def __init__(self, tokens: frozenset[str], allowed: frozenset[str], found: Callable[[int], None]) -> None:
        self._finder = special_finder(special_tokens.together(tokens, allowed))
        self._allowed, self._found = allowed, found

    def watched(self, blocks: Iterable[bytes]) -> Iterator[bytes]:
        """Yield the blocks of a text; before each, the tokens that end in it are counted."""
        held = b""  # the end of the text so far, in which a token may begin
        for block in blocks:
            data, number, end = held + block if held else block, 0, 0
            for begin, token in self._finder.find(data, len(data)):
                end = begin + len(token.encode())
                number += token not in self._allowed
            if number:
                self._found(number)
            held = data[max(end, len(data) - self._finder.longest + 1) :]
            yield block

    def count_records(self, data: bytes, ends: memoryview) -> None:
        """Count the tokens in texts in one buffer, each of which ends with one of `ends` (uint64), if not before."""
        number = place = 0  # of the text in which a token begins: both are in order
        for begin, token in self._finder.find(data, len(data)):
            while ends[place] <= begin:
                place += 1
            end = begin + len(token.encode())  # a token is not in two texts
            number += token not in self._allowed and end <= ends[place]
        if number:
            self._found(number)


@lru_cache(maxsize=8)
def special_finder(tokens: frozenset[str]) -> SpecialFinder:
    """Return the finder for some special tokens."""
    return SpecialFinder(tokens)
