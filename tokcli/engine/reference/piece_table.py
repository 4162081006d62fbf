"""Tables of how often each piece occurs, in Python."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import TYPE_CHECKING

from tokcli.engine.base.count_rows import MAX_COUNT, rows_of, take_block

if TYPE_CHECKING:
    from typing_extensions import Buffer

ROW_BYTES = 160  # of memory that a row of the readable table takes: an entry of a dictionary and a list, bytes, an int


class PieceTable:
    """Distinct pieces and their counts, in the order in which they came.

    The native one also has `count`, for text that native code splits. OverflowError is raised for a count above 2**62,
    ValueError for a damaged block.

    >>> table = PieceTable()
    >>> table.add(b"low", 5)
    >>> table.add(b"lower", 2)
    >>> table.sort()
    >>> block = table.next_block(1000)
    >>> list(rows_of(block)), table.next_block(1000)
    ([(b'low', 5), (b'lower', 2)], b'')
    """

    has_overflown = False  # `add` raises OverflowError instead

    def __init__(self) -> None:
        self._pieces: list[bytes] = []
        self._counts: dict[bytes, int] = {}
        self._sorted: Iterator[tuple[bytes, int]] = iter(())
        self.piece_bytes = 0  # of the distinct pieces

    def __len__(self) -> int:
        return len(self._pieces)

    def add(self, piece: bytes, count: int, /) -> None:
        """Add to the count of a piece."""
        if not piece or not count:
            return
        before = self._counts.get(piece, 0)
        if before + count > MAX_COUNT:
            raise OverflowError("counts beyond 2**62")
        if not before:
            self._pieces.append(piece)
            self.piece_bytes += len(piece)
        self._counts[piece] = before + count

    def count_split(self, data: Buffer, ends: Buffer, /) -> None:
        """Count the pieces of a text that end at some bytes (uint64)."""
        text = bytes(data)
        for begin, end in pairwise([0, *memoryview(ends).cast("B").cast("Q")]):
            self.add(text[begin:end], 1)

    def update(self, other: PieceTable, /) -> None:
        """Add the counts of another table."""
        for piece, count in other._counts.items():
            self.add(piece, count)

    def add_block(self, block: bytes, /) -> None:
        """Add the rows of a block."""
        for piece, count in rows_of(block):
            self.add(piece, count)

    @property
    def memory(self) -> int:
        """The approximate size of the table in bytes of memory."""
        return len(self) * ROW_BYTES + self.piece_bytes

    def sort(self) -> None:
        """Sort the rows, which `next_block` then returns from the first on."""
        self._sorted = iter(sorted(self._counts.items()))

    def next_block(self, limit: int, /) -> bytes:
        """Return the next rows, of `limit` bytes and the rest of the last row; b"" at the end."""
        return take_block(self._sorted, limit)

    def item(self, number: int, /) -> tuple[bytes, int]:
        """Return piece `number`, counted from 0 in the order in which pieces came, and its count."""
        piece = self._pieces[number]
        return piece, self._counts[piece]

    def clear(self) -> None:
        """Remove all rows."""
        self._pieces, self._counts, self._sorted, self.piece_bytes = [], {}, iter(()), 0
