"""Texts, scores and kinds of tokens by id in one block of bytes, each made an object only when it is asked for.

    u32 count, u32 bytes of the texts | float64 scores | u32 where each text begins, and the end | u8 kinds | texts

The texts are UTF-8, with lone surrogates as they are. Numbers are the machine's: such a block is kept in a cache only.
"""

from __future__ import annotations

import struct
from array import array
from collections.abc import Callable, Iterator, Sequence
from itertools import accumulate
from typing import Any, TypeVar, overload

Item = TypeVar("Item")
_HEAD = struct.Struct("=II")
MAX_BYTES = 1 << 31


def pack(texts: Sequence[str], scores: Sequence[float], kinds: Sequence[int]) -> bytes:
    """The block of a table; ValueError where it would be too large."""
    try:
        encoded = list(map(str.encode, texts))
    except UnicodeEncodeError:
        encoded = [text.encode("utf-8", "surrogatepass") for text in texts]
    joined = b"".join(encoded)
    if len(joined) > MAX_BYTES:
        raise ValueError("too many bytes for a table")
    starts = array("I", accumulate(map(len, encoded), initial=0))
    parts = (array("d", scores).tobytes(), starts.tobytes(), bytes(kinds), joined)
    return b"".join((_HEAD.pack(len(texts), len(joined)), *parts))


class TokenTable:
    """The table in a block that is known to be as `pack` wrote it; ValueError where its parts do not fit."""

    def __init__(self, block: memoryview) -> None:
        if block.nbytes < _HEAD.size:
            raise ValueError("no table")
        self.count, size = _HEAD.unpack_from(block)
        behind = _HEAD.size + 8 * self.count
        kinds = behind + 4 * (self.count + 1)
        if block.nbytes != kinds + self.count + size:
            raise ValueError("a table whose parts do not fit")
        self.scores = block[_HEAD.size : behind].cast("d")
        self.kinds = block[kinds : kinds + self.count]
        self._starts = block[behind:kinds].cast("I")
        self._texts = block[kinds + self.count :]

    def text(self, number: int) -> str:
        """The text of an id."""
        return str(self._texts[self._starts[number] : self._starts[number + 1]], "utf-8", "surrogatepass")


class Rows(Sequence[Item]):
    """What a function makes of each number up to a count, as a sequence."""

    def __init__(self, count: int, make: Callable[[int], Item]) -> None:
        self._count, self._make = count, make

    def __len__(self) -> int:
        return self._count

    @overload
    def __getitem__(self, at: int) -> Item: ...
    @overload
    def __getitem__(self, at: slice) -> list[Item]: ...
    def __getitem__(self, at: int | slice) -> Item | list[Item]:
        if isinstance(at, slice):
            return [self._make(number) for number in range(*at.indices(self._count))]
        number = at + self._count if at < 0 else at
        if not 0 <= number < self._count:
            raise IndexError(at)
        return self._make(number)

    def __iter__(self) -> Iterator[Item]:
        return map(self._make, range(self._count))

    def __reduce__(self) -> tuple[Any, ...]:
        return list, (list(self),)
