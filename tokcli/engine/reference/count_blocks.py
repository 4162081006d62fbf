"""Runs of blocks of counts (base/count_rows.py) merged into one, in Python."""

from __future__ import annotations

from collections.abc import Iterator
from heapq import heappop, heappush

from tokcli.engine.base.count_rows import MAX_COUNT, BlockWriter, rows_of


class RunMerger:
    """Merges runs of blocks into one. Raise ValueError where a block is damaged or out of order."""

    def __init__(self, runs: int, /) -> None:
        self._wanted = list(range(runs))  # the runs that need their next block
        self._rows: dict[int, Iterator[tuple[bytes, int]]] = {}  # the rest of the block of each run
        self._last = [b""] * runs  # the last piece of each run
        self._heap: list[tuple[bytes, int, int]] = []  # the next row of each run: its piece, the run, its count
        self._row: tuple[bytes, int] | None = None  # the row to be written next, whose piece other runs may have, too
        self._writer = BlockWriter()

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
