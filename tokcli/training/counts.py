"""How often each piece occurs, which is all that a BPE trainer needs to know of a corpus: the readable table.

Splitting text into pieces is left to the pre-tokenizer, reading it to the caller; counts_file.py has the blocks.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from heapq import merge
from itertools import groupby, islice
from operator import itemgetter
from typing import TYPE_CHECKING, Any, Protocol

from tokcli.engine import backend

if TYPE_CHECKING:
    from types import ModuleType

MAX_COUNT = 1 << 62  # sums of two counts fit a signed word of native code
BLOCK_BYTES = 1 << 16  # of rows in a block: enough to compress well, little beside the memory there is
ROW_BYTES = 160  # of memory that a row of the readable table takes: a dictionary's entry, bytes, an int


def count_pieces(pieces: Iterable[str | bytes]) -> Counter[bytes]:
    r"""Count pieces by their bytes; text counts as its UTF-8, with lone surrogates as U+FFFD, as `encode` reads them.

    Empty pieces have no pairs and are left out. Counts of parts of a corpus add up with `+` or `Counter.update`.

    >>> count_pieces(["the", " cat", b"the", ""])
    Counter({b'the': 2, b' cat': 1})
    >>> count_pieces(["a\ud800"])
    Counter({b'a\xef\xbf\xbd': 1})
    """
    counts = Counter(pieces)  # first by value: each distinct piece is then encoded once
    in_bytes: Counter[bytes] = Counter()
    for piece, count in counts.items():
        if piece:
            in_bytes[_utf8(piece) if isinstance(piece, str) else piece] += count
    return in_bytes


def _utf8(piece: str) -> bytes:
    try:
        return piece.encode("utf-8")
    except UnicodeEncodeError:
        # A surrogate pair in a str is one character to tiktoken, a lone surrogate the replacement character.
        return piece.encode("utf-16", "surrogatepass").decode("utf-16", "replace").encode("utf-8")


class Table(Protocol):
    """What counts pieces: PieceTable, or its native twin, which can also split text."""

    @property
    def piece_bytes(self) -> int: ...
    @property
    def memory(self) -> int: ...
    def __len__(self) -> int: ...
    def add(self, piece: bytes, count: int) -> None: ...
    def update(self, other: Any) -> None: ...
    def add_block(self, block: bytes) -> None: ...
    def sort(self) -> None: ...
    def next_block(self, limit: int) -> bytes: ...
    def item(self, number: int) -> tuple[bytes, int]: ...
    def clear(self) -> None: ...
    def count(self, text: Any, family: int) -> None: ...


class PieceTable:
    """Distinct pieces and their counts, in the order in which they came; its native twin has the same methods.

    `sort` and then `next_block(limit)`, until it gives b"", write the rows out in ascending order of their bytes.
    OverflowError for a count above MAX_COUNT, ValueError for a damaged block.

    >>> table = PieceTable()
    >>> table.add(b"low", 5)
    >>> table.add(b"lower", 2)
    >>> table.sort()
    >>> block = table.next_block(BLOCK_BYTES)
    >>> list(rows_of(block)), table.next_block(BLOCK_BYTES)
    ([(b'low', 5), (b'lower', 2)], b'')
    """

    def __init__(self) -> None:
        self._counts: dict[bytes, int] = {}
        self._sorted: Iterator[tuple[bytes, int]] = iter(())
        self.piece_bytes = 0  # of the distinct pieces

    def __len__(self) -> int:
        return len(self._counts)

    def add(self, piece: bytes, count: int) -> None:
        """Counts a piece so many times more."""
        if not piece or not count:
            return
        before = self._counts.get(piece, 0)
        if before + count > MAX_COUNT:
            raise OverflowError("counts beyond 2**62")
        if not before:
            self.piece_bytes += len(piece)
        self._counts[piece] = before + count

    def update(self, other: PieceTable) -> None:
        """Adds the counts of another table."""
        for piece, count in other._counts.items():
            self.add(piece, count)

    def add_block(self, block: bytes) -> None:
        """Adds the rows of a block."""
        for piece, count in rows_of(block):
            self.add(piece, count)

    @property
    def memory(self) -> int:
        """About how many bytes it takes."""
        return len(self._counts) * ROW_BYTES + self.piece_bytes

    def sort(self) -> None:
        """Begins to write the rows out."""
        self._sorted = iter(sorted(self._counts.items()))

    def next_block(self, limit: int) -> bytes:
        """The next rows, of `limit` bytes and what the last row takes more; b"" at the end."""
        return take_block(self._sorted, limit)

    def item(self, number: int) -> tuple[bytes, int]:
        """The piece of this number and its count."""
        return next(islice(self._counts.items(), number, None))

    def items(self) -> Iterator[tuple[bytes, int]]:
        """All pieces and their counts, in the order in which they came."""
        return iter(self._counts.items())

    def count(self, text: Any, family: int) -> None:
        """Only the native twin splits text itself."""
        raise NotImplementedError

    def clear(self) -> None:
        """Forgets all rows."""
        self.__init__()  # type: ignore[misc]


def make_table() -> Table:
    """An empty table, native where it can be."""
    native = backend.native()
    table: Table = PieceTable() if native is None else native.PieceTable()
    return table


def items_of(table: Table) -> Iterator[tuple[bytes, int]]:
    """The pieces of a table and their counts, in the order in which they came."""
    if isinstance(table, PieceTable):
        return table.items()
    return (table.item(number) for number in range(len(table)))


# --- blocks ----------------------------------------------------------------------------------------------------------


def take_block(rows: Iterator[tuple[bytes, int]], limit: int) -> bytes:
    r"""A block of rows: four parts each, the numbers in LEB128 (seven bits a byte, the lowest first).

    How many bytes the piece shares with the one before it (none at the beginning of a block), how many it has more,
    those bytes, and its count.

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


def rows_of(block: bytes) -> Iterator[tuple[bytes, int]]:
    """The rows of a block; ValueError where it is damaged."""
    at, piece = 0, b""

    def number() -> int:
        nonlocal at
        value = shift = 0
        while at < len(block) and shift < 70:
            byte = block[at]
            at += 1
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return value
        raise ValueError("a damaged block")

    while at < len(block):
        same, rest = number(), number()
        if same > len(piece) or rest > len(block) - at or same + rest == 0:
            raise ValueError("a damaged block")
        piece = piece[:same] + block[at : at + rest]
        at += rest
        count = number()
        if not 0 < count <= MAX_COUNT:
            raise ValueError("a damaged block")
        yield piece, count


def merge_runs(runs: list[Iterator[bytes]]) -> Iterator[bytes]:
    """Runs of blocks, each in ascending order of its pieces, as one; equal pieces' counts are added.

    Holds a block of each run. ValueError for a damaged block or one out of order, OverflowError above MAX_COUNT.

    >>> runs = [iter([take_block(iter(rows), 99)]) for rows in ([(b"a", 1), (b"c", 2)], [(b"a", 3), (b"b", 1)])]
    >>> [row for block in merge_runs(runs) for row in rows_of(block)]
    [(b'a', 4), (b'b', 1), (b'c', 2)]
    """
    native = backend.native()
    return _merge_in_python(runs) if native is None else _merge_natively(native, runs)


def _merge_natively(native: ModuleType, runs: list[Iterator[bytes]]) -> Iterator[bytes]:
    merger = native.RunMerger(len(runs))
    while (answer := merger.merge(BLOCK_BYTES)) is not None:
        if isinstance(answer, int):
            merger.feed(answer, next(runs[answer], b""))
        else:
            yield answer


def _merge_in_python(runs: list[Iterator[bytes]]) -> Iterator[bytes]:
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
