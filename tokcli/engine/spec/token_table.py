"""The bytes of ids, in one block from which they are taken only when asked for.

    u32 count, u32 size of all bytes | u32 start of each id's bytes, and the end of the last | u8 is it an id | bytes

Numbers have the machine's byte order: such a block is kept in a cache only.
"""

from __future__ import annotations

import struct
from array import array
from collections.abc import ItemsView, Iterator, Mapping, ValuesView
from functools import cached_property
from itertools import accumulate, pairwise

_HEAD = struct.Struct("=II")
MAX_BYTES = 1 << 31
_SPREAD = 4  # ids are kept if those from 0 to the largest are at most so many times as many as there are
_SPREAD_OF_FEW = 1 << 16  # plus this number
_FEW = 512  # tokens that are kept beside a table


def pack_table(tokens: Mapping[int, bytes]) -> bytes:
    """Return the block of the bytes of ids; b"" if it would be too large, or most ids are missing."""
    count = max(tokens, default=-1) + 1
    size = sum(map(len, tokens.values()))
    if count > _SPREAD * len(tokens) + _SPREAD_OF_FEW or size > MAX_BYTES:
        return b""
    rows = [tokens.get(id, b"") for id in range(count)]
    starts = array("I", accumulate(map(len, rows), initial=0))
    are_ids = bytes(id in tokens for id in range(count))
    return b"".join((_HEAD.pack(count, size), starts.tobytes(), are_ids, *rows))


def few_others(tokens: Mapping[int, bytes], table: Mapping[int, bytes]) -> dict[int, bytes] | None:
    """Return those tokens whose bytes are others in a table; None where there are many, or where it has other ids.

    >>> few_others({0: b"<s>", 1: b"a"}, {0: b"", 1: b"a"})
    {0: b'<s>'}
    """
    found = {id: data for id, data in tokens.items() if table.get(id) != data}
    return found if tokens.keys() == table.keys() and len(found) <= _FEW else None


class TokenTable(Mapping[int, bytes]):
    """The bytes of each id, in a block that `pack_table` wrote; ValueError if the block is damaged."""

    def __init__(self, block: memoryview) -> None:
        if block.nbytes < _HEAD.size:
            raise ValueError("no table")
        self._count, size = _HEAD.unpack_from(block)
        are_ids = _HEAD.size + 4 * (self._count + 1)
        if block.nbytes != are_ids + self._count + size:
            raise ValueError("a table whose columns do not fit")
        self._starts, self._are_ids = block[_HEAD.size : are_ids].cast("I"), block[are_ids : are_ids + self._count]
        self._bytes = block[are_ids + self._count :]

    def __getitem__(self, id: int) -> bytes:
        if not 0 <= id < self._count or not self._are_ids[id]:
            raise KeyError(id)
        return bytes(self._bytes[self._starts[id] : self._starts[id + 1]])

    def __iter__(self) -> Iterator[int]:
        return (id for id, is_id in enumerate(self._are_ids) if is_id)

    def __len__(self) -> int:
        return sum(map(bool, self._are_ids))

    def everything(self) -> dict[int, bytes]:
        """Return the bytes of all ids, for which this is faster than to ask for each."""
        data = self._bytes.tobytes()
        spans = pairwise(self._starts.tolist())
        return {id: data[begin:end] for id, (begin, end) in enumerate(spans) if self._are_ids[id]}


class TokenBytes(Mapping[int, bytes]):
    """The bytes of each id: those of a table, but for some `others`. All are taken only when all are asked for.

    >>> tokens = TokenBytes(TokenTable(memoryview(pack_table({0: b"", 1: b"a"}))), {0: b"<s>"})
    >>> tokens[1], dict(tokens)
    (b'a', {0: b'<s>', 1: b'a'})
    """

    def __init__(self, table: TokenTable, others: Mapping[int, bytes]) -> None:
        self._table, self._others = table, others
        self._known = dict(others)

    @cached_property
    def _all(self) -> dict[int, bytes]:
        return self._table.everything() | dict(self._others)

    def __getitem__(self, id: int) -> bytes:
        try:
            return self._known[id]
        except KeyError:
            data = self._known[id] = self._table[id]
            return data

    def __iter__(self) -> Iterator[int]:
        return iter(self._all)

    def __len__(self) -> int:
        return len(self._all)

    def items(self) -> ItemsView[int, bytes]:
        return self._all.items()

    def values(self) -> ValuesView[bytes]:
        return self._all.values()
