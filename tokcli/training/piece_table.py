"""Tables of how often each piece occurs, which is all that a BPE trainer needs to know of a corpus.

Splitting text into pieces is left to the pre-tokenizer, reading it to the caller; `count_blocks.py` has the blocks.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

from tokcli.engine import backend
from tokcli.engine.stream.utf8 import without_surrogates
from tokcli.training.count_blocks import MAX_COUNT, rows_of, take_block

ROW_BYTES = 160  # of memory that a row of the readable table takes: an entry of a dictionary and a list, bytes, an int


def count_pieces(pieces: Iterable[str | bytes]) -> Counter[bytes]:
    r"""Count pieces by their bytes; text counts as its UTF-8, with lone surrogates as U+FFFD, as `encode` reads them.

    Empty pieces have no pairs and are left out. Counts of two corpora add up with `+` or `Counter.update`.

    >>> count_pieces(["the", " cat", b"the", ""])
    Counter({b'the': 2, b' cat': 1})
    >>> count_pieces(["a\ud800"])
    Counter({b'a\xef\xbf\xbd': 1})
    """
    counts = Counter(pieces)  # first by value: each distinct piece is then encoded once
    in_bytes: Counter[bytes] = Counter()
    for piece, count in counts.items():
        if piece:
            in_bytes[without_surrogates(piece).encode() if isinstance(piece, str) else piece] += count
    return in_bytes


class PieceTable:
    """Distinct pieces and their counts, in the order in which they came.

    The native twin has the same methods, and two that split text natively.

    After `sort`, `next_block(limit)` returns the rows in ascending order of their bytes, block by block, and b"" at the
    end. OverflowError for a count above MAX_COUNT, ValueError for a damaged block.

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

    def add(self, piece: bytes, count: int) -> None:
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

    def update(self, other: PieceTable) -> None:
        """Add the counts of another table."""
        for piece, count in other._counts.items():
            self.add(piece, count)

    def add_block(self, block: bytes) -> None:
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

    def next_block(self, limit: int) -> bytes:
        """Return the next rows, of `limit` bytes and the rest of the last row; b"" at the end."""
        return take_block(self._sorted, limit)

    def item(self, number: int) -> tuple[bytes, int]:
        """Return piece `number`, counted from 0 in the order in which pieces came, and its count."""
        piece = self._pieces[number]
        return piece, self._counts[piece]

    def clear(self) -> None:
        """Remove all rows."""
        self._pieces, self._counts, self._sorted, self.piece_bytes = [], {}, iter(()), 0


def make_table() -> PieceTable:
    """Return an empty table, a native one where there is native code."""
    native = backend.native()
    table: PieceTable = PieceTable() if native is None else native.PieceTable()
    return table
