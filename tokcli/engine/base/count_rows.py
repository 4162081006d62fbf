"""Counts of pieces as blocks of rows in ascending order.

A row is the number of bytes that its piece shares with the one before it (0 at the beginning of a block), the number of
further bytes, those bytes, and the count. Numbers are LEB128: seven bits a byte, the lowest first.
"""

from __future__ import annotations

from collections.abc import Iterator

MAX_COUNT = 1 << 62  # sums of two counts fit a signed word of native code


class BlockWriter:
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
    writer = BlockWriter()
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
