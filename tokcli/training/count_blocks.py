"""Counts of pieces as blocks of rows in ascending order, which compress well and merge in little memory.

Each block can be read by itself; `counts_file.py` keeps blocks in files.
"""

from __future__ import annotations

from collections.abc import Iterator
from heapq import merge
from itertools import groupby
from operator import itemgetter
from types import ModuleType

from tokcli.engine import backend

MAX_COUNT = 1 << 62  # sums of two counts fit a signed word of native code
BLOCK_BYTES = 1 << 16  # of rows in a block: enough to compress well, and little compared with the memory


def take_block(rows: Iterator[tuple[bytes, int]], limit: int) -> bytes:
    r"""Return the next rows as a block of `limit` bytes and the rest of the last row; b"" at the end.

    A row is the number of bytes that its piece shares with the one before it (0 at the beginning of a block), the
    number of further bytes, those bytes, and the count. Numbers are LEB128: seven bits a byte, the lowest first.

    >>> take_block(iter([(b"low", 5), (b"lower", 300)]), 100)
    b'\x00\x03low\x05\x03\x02er\xac\x02'
    """
    out = bytearray()
    last = b""
    while len(out) < limit and (row := next(rows, None)) is not None:
        piece, count = row
        same = 0
        for a, b in zip(piece, last, strict=False):
            if a != b:
                break
            same += 1
        _put_number(out, same)
        _put_number(out, len(piece) - same)
        out += piece[same:]
        _put_number(out, count)
        last = piece
    return bytes(out)


def _put_number(out: bytearray, value: int) -> None:
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)


def _take_number(block: bytes, at: int) -> tuple[int, int]:
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
        same, at = _take_number(block, at)
        rest, at = _take_number(block, at)
        if same > len(piece) or rest > len(block) - at or same + rest == 0:
            raise ValueError("a damaged block")
        piece = piece[:same] + block[at : at + rest]
        count, at = _take_number(block, at + rest)
        if not 0 < count <= MAX_COUNT:
            raise ValueError("a damaged block")
        yield piece, count


def is_one_long_row_at_the_end(block: bytes) -> bool:
    """Return whether a block ends with the row that fills it, as `take_block` promises.

    Otherwise many rows could share the bytes of a long one, and a small file could unpack to any size.
    """
    at = 0
    try:
        while at < BLOCK_BYTES:
            _, at = _take_number(block, at)
            rest, at = _take_number(block, at)
            _, at = _take_number(block, at + rest)
    except ValueError:
        return False
    return at == len(block)


def merge_runs(runs: list[Iterator[bytes]]) -> Iterator[bytes]:
    """Yield the blocks of several runs merged into one: in ascending order of pieces, counts of equal ones added.

    A run is an iterator of blocks in ascending order, of which one at a time is in memory. ValueError for a damaged
    block or one out of order, OverflowError for a count above MAX_COUNT.

    >>> runs = [iter([take_block(iter(rows), 99)]) for rows in ([(b"a", 1), (b"c", 2)], [(b"a", 3), (b"b", 1)])]
    >>> [row for block in merge_runs(runs) for row in rows_of(block)]
    [(b'a', 4), (b'b', 1), (b'c', 2)]
    """
    native = backend.native()
    return merge_in_python(runs) if native is None else _merge_natively(native, runs)


def _merge_natively(native: ModuleType, runs: list[Iterator[bytes]]) -> Iterator[bytes]:
    merger = native.RunMerger(len(runs))
    while (answer := merger.merge(BLOCK_BYTES)) is not None:
        if isinstance(answer, int):
            merger.feed(answer, next(runs[answer], b""))
        else:
            yield answer


def merge_in_python(runs: list[Iterator[bytes]]) -> Iterator[bytes]:
    """Yield the blocks that `merge_runs` promises; this is the readable twin of the native code."""
    rows = (_added(group) for group in groupby(merge(*map(_ascending, runs)), itemgetter(0)))
    while block := take_block(rows, BLOCK_BYTES):
        yield block


def _added(group: tuple[bytes, Iterator[tuple[bytes, int]]]) -> tuple[bytes, int]:
    piece, rows = group
    total = sum(count for _, count in rows)
    if total > MAX_COUNT:
        raise OverflowError("counts beyond 2**62")
    return piece, total


def _ascending(run: Iterator[bytes]) -> Iterator[tuple[bytes, int]]:
    last = b""
    for block in run:
        for piece, count in rows_of(block):
            if piece <= last:
                raise ValueError("a block out of order")
            yield piece, count
            last = piece
