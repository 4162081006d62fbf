"""`Window`: the part of a stream that passages are being cut from, with its tokens and their places in the stream."""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from tokcli.engine.base.arguments import MAX_CHARACTER
from tokcli.engine.chunking import boundaries

if TYPE_CHECKING:
    from typing_extensions import Buffer

    from tokcli.engine.tokens import Spans

NO_IDS = memoryview(b"").cast("I")
_LOOK_BEHIND = 2 * MAX_CHARACTER  # bytes before a passage that tell whether a cut is there


class Located(NamedTuple):
    """A part of a stream with its ids (uint32), and the span of each token: bytes from the beginning of the stream.

    `is_covered`: the bytes of the tokens are those of the part, so that their spans are certain.
    """

    data: Buffer
    ids: memoryview
    spans: Spans
    is_covered: bool = False


class Window:
    """The text that passages are cut from, with its tokens; all places in it are bytes from the stream's beginning."""

    def __init__(self) -> None:
        self.data = b""
        self.base = self.end = 0  # where the data begins and ends in the stream
        self.is_covered = True  # whether the tokens cover all parts so far
        self._ids = NO_IDS
        self._spans: Spans = array("Q")
        self._ends: Sequence[int] = self._spans

    def filled(self, parts: Iterable[Located], tokens: int) -> Iterator[bool]:
        """Add parts; whenever there are more than `tokens` tokens, and at the end, yield whether that is all."""
        waiting: list[Located] = []
        count = 0
        for part in parts:
            waiting.append(part)
            count += len(part.ids)
            if count + len(self._ids) > tokens:
                self._add(waiting)
                yield False
                waiting, count = [], 0
        self._add(waiting)
        yield True

    def _add(self, parts: list[Located]) -> None:
        self.data = b"".join([self.data, *(part.data for part in parts)])
        self._ids = memoryview(b"".join([self._ids, *(part.ids for part in parts)])).cast("I")
        self._spans = array("Q", b"".join([self._spans, *(part.spans for part in parts)]))
        self._ends = memoryview(self._spans)[1::2]
        self.end = self.base + len(self.data)
        self.is_covered = self.is_covered and all(part.is_covered for part in parts)

    def forget(self, place: int) -> None:
        """Drop what is before a place, except a few bytes that tell whether it is a cut."""
        gone = self.tokens_before(place)
        self._ids, self._spans = self._ids[gone:], self._spans[2 * gone :]
        self._ends = memoryview(self._spans)[1::2]
        bytes_gone = max(0, place - _LOOK_BEHIND - self.base)
        self.data, self.base = self.data[bytes_gone:], self.base + bytes_gone

    def forget_all_but(self, tokens: int) -> None:
        """Drop all but the last tokens and their text."""
        if len(self._ids) > tokens:
            self.forget(self._ends[len(self._ends) - tokens - 1])

    @property
    def tokens(self) -> int:
        """The number of tokens in the window."""
        return len(self._ends)

    def slice(self, start: int, end: int) -> bytes:
        """Return the text between two places."""
        return self.data[start - self.base : end - self.base]

    def tokens_before(self, place: int) -> int:
        """Return the number of tokens that end at a place or before it."""
        return bisect_right(self._ends, place)

    def tokens_after(self, place: int) -> int:
        """Return the number of tokens that end after a place."""
        return len(self._ends) - self.tokens_before(place)

    def end_of(self, tokens: int) -> int:
        """Return where the first `tokens` tokens of the window end; with 0, where it begins; with too many, its end."""
        if tokens > len(self._ends):
            return self.end
        return self._ends[tokens - 1] if tokens > 0 else self.base

    def place(self, tokens: int, has_all: bool) -> int:
        """Return where the first `tokens` tokens end, or as many of them as end between two characters."""
        if tokens >= len(self._ends) and has_all:
            return self.end
        tokens = min(tokens, len(self._ends))
        while tokens > 0 and not boundaries.is_between_characters(self.data, self._ends[tokens - 1] - self.base):
            tokens -= 1
        return self.end_of(tokens)

    def ids_between(self, start: int, end: int) -> memoryview:
        """Return the ids of the tokens that end after `start` and up to `end`."""
        return self._ids[self.tokens_before(start) : self.tokens_before(end)]
