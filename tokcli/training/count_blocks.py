"""Counts of pieces in runs of blocks, which merge in little memory; engine/base/count_rows.py tells their rows.

Each block can be read by itself, and compresses well; `counts_file.py` keeps blocks in files.
"""

from __future__ import annotations

from collections.abc import Iterator

from tokcli.engine import backend
from tokcli.engine.base.count_rows import take_number

BLOCK_BYTES = 1 << 16  # of rows in a block: enough to compress well, and little compared with the memory


def is_one_long_row_at_the_end(block: bytes) -> bool:
    """Return whether a block ends with the row that fills it, as `take_block` promises.

    Otherwise many rows could share the bytes of a long one, and a small file could unpack to any size.
    """
    at = 0
    try:
        while at < BLOCK_BYTES:
            _, at = take_number(block, at)
            rest, at = take_number(block, at)
            _, at = take_number(block, at + rest)
    except ValueError:
        return False
    return at == len(block)


def merge_runs(runs: list[Iterator[bytes]]) -> Iterator[bytes]:
    """Yield the blocks of several runs merged into one: in ascending order of pieces, counts of equal ones added.

    A run is an iterator of blocks in ascending order, of which one at a time is in memory. ValueError for a damaged
    block or one out of order, OverflowError for a count above 2**62.

    >>> from tokcli.engine.base.count_rows import rows_of, take_block
    >>> runs = [iter([take_block(iter(rows), 99)]) for rows in ([(b"a", 1), (b"c", 2)], [(b"a", 3), (b"b", 1)])]
    >>> [row for block in merge_runs(runs) for row in rows_of(block)]
    [(b'a', 4), (b'b', 1), (b'c', 2)]
    """
    merger = backend.code().RunMerger(len(runs))
    while (answer := merger.merge(BLOCK_BYTES)) is not None:
        if isinstance(answer, int):
            merger.feed(answer, next(runs[answer], b""))
        else:
            yield answer
