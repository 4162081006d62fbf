"""The texts, scores and kinds of tokens by id, in one block of bytes from which objects are made only when asked for.

    u32 count, u32 bytes of the texts | f64 scores | u32 start of each text, and the end of the last | u8 kinds | texts

The texts are UTF-8, in which lone surrogates are allowed. Numbers have the machine's byte order: such a block is kept
in a cache only.
"""

from __future__ import annotations

import struct
from array import array
from collections.abc import Callable, Iterator, Sequence
from itertools import accumulate
from typing import Any, TypeVar, overload

Item = TypeVar("Item")
_HEAD = struct.Struct("=II")
MAX_BYTES = 1 << 31  # of the texts
# a container's flags of an added token, from the lowest bit on: whether it is a single word, and so on
ADDED_FLAGS = ("single_word", "lstrip", "rstrip", "normalized", "special", "was_normalized")


def pack_columns(texts: Sequence[str], scores: Sequence[float], kinds: Sequence[int]) -> bytes:
    """Return the block of the tokens' texts, scores and kinds (0 to 255); raise ValueError if it would be too large."""
    try:
        encoded = list(map(str.encode, texts))
    except UnicodeEncodeError:
        encoded = [text.encode("utf-8", "surrogatepass") for text in texts]
    joined = b"".join(encoded)
    if len(joined) > MAX_BYTES:
        raise ValueError("too many bytes for a table")
    starts = array("I", accumulate(map(len, encoded), initial=0))
    columns = (array("d", scores).tobytes(), starts.tobytes(), bytes(kinds), joined)
    return b"".join((_HEAD.pack(len(texts), len(joined)), *columns))


class TokenColumns:
    """The columns in a block that `pack_columns` wrote; making one raises ValueError if they do not fit the block.

    `count` is the number of ids; `scores` and `kinds` have an item for each id.
    """

    def __init__(self, block: memoryview) -> None:
        if block.nbytes < _HEAD.size:
            raise ValueError("no table")
        self.count, size = _HEAD.unpack_from(block)
        starts = _HEAD.size + 8 * self.count
        kinds = starts + 4 * (self.count + 1)
        if block.nbytes != kinds + self.count + size:
            raise ValueError("a table whose columns do not fit")
        self.scores = block[_HEAD.size : starts].cast("d")
        self.kinds = block[kinds : kinds + self.count]
        self._starts = block[starts:kinds].cast("I")
        self._texts = block[kinds + self.count :]

    def text(self, number: int) -> str:
        """Return the text of an id."""
        return str(self._texts[self._starts[number] : self._starts[number + 1]], "utf-8", "surrogatepass")


class LazySequence(Sequence[Item]):
    """A sequence of `count` items, each of which `make` makes of its index whenever it is asked for.

    It is pickled as a list.
    """

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
