"""The regions in which two ways of cutting one text differ, found by walking along both streams of pieces.

Only one region is held in memory.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import takewhile

from tokcli.analysis.pieces.pieces import ChunkPieces, Piece

SHOWN_PIECES = 64  # pieces of a region that are kept on each side
CONTEXT = 16  # characters of text before and after a region
_FEW, _MANY = 8, 4096  # pieces that are compared at once, at first and at most


@dataclass(frozen=True)
class Region:
    """A region of the text that both sides cut at its ends, but differently inside.

    `offset` and `size` are in bytes. `left` and `right` are the first SHOWN_PIECES pieces of either side; `left_count`
    and `right_count` count all of them. `before` and `after` are up to CONTEXT characters beside the region.
    """

    offset: int
    size: int
    left: tuple[Piece, ...]
    right: tuple[Piece, ...]
    left_count: int
    right_count: int
    before: str
    after: str


@dataclass
class Totals:
    """Totals of a walk along two streams of pieces; they are complete when the walk is over."""

    regions: int = 0
    bytes: int = 0
    differing_bytes: int = 0
    left_pieces: int = 0
    right_pieces: int = 0


@dataclass
class _Side:
    """One stream of pieces: its current place, and the first pieces since the last boundary that both sides share."""

    chunks: Iterator[ChunkPieces]
    at: int = 0  # bytes that were cut; with errors="replace" the input may have fewer
    pieces: int = 0
    count: int = 0
    offset: int = 0
    held: list[tuple[ChunkPieces, int, int]] = field(default_factory=list)  # a chunk, an index in it, a byte offset
    chunk: ChunkPieces | None = None
    index: int = 0

    def advance(self) -> bool:
        """Take one more piece; return False at the end of the stream."""
        while self.chunk is None or self.index == len(self.chunk.data):
            self.chunk = next(self.chunks, None)
            if self.chunk is None:
                return False
            self.index, self.offset = 0, self.chunk.chunk.offset
        size = len(self.chunk.data[self.index])
        if len(self.held) < SHOWN_PIECES:
            self.held.append((self.chunk, self.index, self.offset))
        self.count += 1
        self.pieces += 1
        self.at += size
        self.offset += size
        self.index += 1
        return True

    def skip(self, count: int) -> None:
        """Pass over the next `count` pieces of the chunk, which are equal on the other side."""
        if count and self.chunk is not None:
            size = sum(map(len, self.chunk.data[self.index : self.index + count]))
            self.pieces += count
            self.at += size
            self.offset += size
            self.index += count

    def forget(self) -> None:
        """Begin a new region."""
        self.held.clear()
        self.count = 0

    def shown(self) -> tuple[Piece, ...]:
        """Return the first pieces of the region with their alternatives."""
        return tuple(Piece(offset, c.data[index], c.alternative_at(index, offset)) for c, index, offset in self.held)


def regions(left: Iterable[ChunkPieces], right: Iterable[ChunkPieces], totals: Totals) -> Iterator[Region]:
    """Yield each smallest region of a text that two streams of pieces both cut at its ends, and differently inside."""
    ours, theirs = _Side(iter(left)), _Side(iter(right))
    while True:
        same = _same(ours, theirs)
        ours.skip(same)
        theirs.skip(same)
        totals.bytes, totals.left_pieces, totals.right_pieces = ours.at, ours.pieces, theirs.pieces
        begin = ours.at
        ours.forget()
        theirs.forget()
        more = ours.advance()
        if not (theirs.advance() and more):
            break
        while ours.at != theirs.at and (ours if ours.at < theirs.at else theirs).advance():
            pass
        totals.bytes, totals.left_pieces, totals.right_pieces = ours.at, ours.pieces, theirs.pieces
        if ours.count != theirs.count or ours.count > 1:
            totals.regions += 1
            totals.differing_bytes += ours.at - begin
            yield _region(ours, theirs, ours.at - begin)


def _same(ours: _Side, theirs: _Side) -> int:
    """Return how many of the next pieces are equal on both sides, up to the end of either chunk."""
    if ours.chunk is None or theirs.chunk is None:
        return 0
    left, right, same, some = ours.chunk.data, theirs.chunk.data, 0, _FEW
    while True:
        a = left[ours.index + same : ours.index + same + some]
        b = right[theirs.index + same : theirs.index + same + some]
        if a != b:
            return same + sum(1 for _ in takewhile(lambda both: both[0] == both[1], zip(a, b, strict=False)))
        same += len(a)
        if len(a) < some:
            return same
        some = min(2 * some, _MANY)


def _region(ours: _Side, theirs: _Side, size: int) -> Region:
    chunk, _, offset = ours.held[0]
    text = chunk.encoded
    start = offset - chunk.chunk.offset
    before = text[max(0, start - 4 * CONTEXT) : start].decode("utf-8", "ignore")[-CONTEXT:]
    after = text[start + size : start + size + 4 * CONTEXT].decode("utf-8", "ignore")[:CONTEXT]
    return Region(offset, size, ours.shown(), theirs.shown(), ours.count, theirs.count, before, after)
