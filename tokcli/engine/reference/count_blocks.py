"""Counts of pieces as blocks of rows in ascending order, and runs of blocks merged into one, in Python.

A row is the number of bytes that its piece shares with the one before it (0 at the beginning of a block), the number of
further bytes, those bytes, and the count. Numbers are LEB128: seven bits a byte, the lowest first.
"""

from __future__ import annotations

from collections.abc import Iterator
from heapq import heappop, heappush

MAX_COUNT = 1 << 62  # sums of two counts fit a signed word of native code


class _BlockWriter:
    """The block that is being written, to which rows are added in ascending order."""

    def __init__(self) -> None:
        self._out, self._last = bytearray(), b""

    def __len__(self) -> int:
        return len(self._out)

    def add(self, piece: bytes, count: int) -> None:
        """Add a row."""
        same = 0
        for a, b in zip(piece, self._last, strict=False):
            if a != b:
                break
            same += 1
        _put_number(self._out, same)
        _put_number(self._out, len(piece) - same)
        self._out += piece[same:]
        _put_number(self._out, count)
        self._last = piece

    def take(self) -> bytes:
        """Return the block, and begin the next one."""
        block = bytes(self._out)
        self._out, self._last = bytearray(), b""
        return block


def take_block(rows: Iterator[tuple[bytes, int]], limit: int) -> bytes:
    r"""Return the next rows as a block of `limit` bytes and the rest of the last row; b"" at the end.

    >>> take_block(iter([(b"low", 5), (b"lower", 300)]), 100)
    b'\x00\x03low\x05\x03\x02er\xac\x02'
    """
    writer = _BlockWriter()
    while len(writer) < limit and (row := next(rows, None)) is not None:
        writer.add(*row)
    return writer.take()


def _put_number(out: bytearray, value: int) -> None:
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)


def take_number(block: bytes, at: int) -> tuple[int, int]:
    """Return the number at a place of a block, and the place after it."""
    value = 0
    for shift, byte in zip(range(0, 70, 7), block[at : at + 10], strict=False):
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at + shift // 7 + 1
    raise ValueError("a damaged block")


def rows_of(block: bytes) -> Iterator[tuple[bytes, int]]:
    """Yield the pieces and counts of a block; ValueError where it is damaged."""
    at, piece = 0, b""
    while at < len(block):
        same, at = take_number(block, at)
        rest, at = take_number(block, at)
        if same > len(piece) or rest > len(block) - at or same + rest == 0:
            raise ValueError("a damaged block")
        piece = piece[:same] + block[at : at + rest]
        count, at = take_number(block, at + rest)
        if not 0 < count <= MAX_COUNT:
            raise ValueError("a damaged block")
        yield piece, count


class RunMerger:
    """Merges runs of blocks into one. Raise ValueError where a block is damaged or out of order."""

    def __init__(self, runs: int, /) -> None:
        self._wanted = list(range(runs))  # the runs that need their next block
        self._rows: dict[int, Iterator[tuple[bytes, int]]] = {}  # the rest of the block of each run
        self._last = [b""] * runs  # the last piece of each run
        self._heap: list[tuple[bytes, int, int]] = []  # the next row of each run: its piece, the run, its count
        self._row: tuple[bytes, int] | None = None  # the row to be written next, whose piece other runs may have, too
        self._writer = _BlockWriter()

    def feed(self, run: int, block: bytes, /) -> None:
        """Give its next block to the run that merge() named; an empty block ends the run."""
        if run not in self._wanted:
            raise ValueError("a damaged block")
        self._wanted.remove(run)
        if block:
            self._rows[run] = rows_of(block)
            self._advance(run)

    def _advance(self, run: int) -> None:
        piece, count = next(self._rows[run], (b"", 0))
        if not piece:
            self._wanted.append(run)
            return
        if piece <= self._last[run]:
            raise ValueError("a block out of order")
        self._last[run] = piece
        heappush(self._heap, (piece, run, count))

    def merge(self, limit: int, /) -> bytes | int | None:
        """Return a block; or the number of the run that needs its next block; or None at the end.

        Raise OverflowError where a sum of counts is above 2**62.
        """
        while not self._wanted and self._heap and len(self._writer) < limit:
            piece, run, count = heappop(self._heap)
            if self._row is not None and self._row[0] == piece:
                count += self._row[1]
            elif self._row is not None:
                self._writer.add(*self._row)
            if count > MAX_COUNT:
                raise OverflowError("counts beyond 2**62")
            self._row = piece, count
            self._advance(run)
        if self._wanted:
            return self._wanted[0]
        if self._row is not None and not self._heap and len(self._writer) < limit:
            self._writer.add(*self._row)
            self._row = None
        return self._writer.take() or None
