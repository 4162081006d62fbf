"""Byte pair encoding of one piece, in readable Python: the specification, and the fallback of the native backend.

`ranks` maps the bytes of a token to its rank, which is its id and its place in the order of merging. The algorithm is
tiktoken's `_byte_pair_merge` as the seeds explain it: as long as two neighbours together are a token, join the pair
whose token has the lowest rank, the leftmost of equals.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import chain, pairwise
from typing import AnyStr, NamedTuple

from tokcli.errors import UnknownTokenError

Ranks = Mapping[bytes, int]

# Above this many bytes a heap wins over scanning all ranks after each merge (measured: equal at 90 to 140 bytes).
SCAN_LIMIT = 100
# A cached piece costs about 200 bytes: 13 MB when full. Longer pieces hardly ever recur.
CACHE_PIECES = 1 << 16
CACHE_PIECE_CHARS = 64


def encode_piece(ranks: Ranks, piece: bytes) -> list[int]:
    """The ids of a piece: its own where it is a token, else what merging leaves. UnknownTokenError for a missing byte.

    >>> encode_piece({b"a": 1, b"b": 2, b"c": 3, b"ab": 450, b"bc": 650}, b"abc")
    [450, 3]
    """
    rank = ranks.get(piece)
    if rank is not None:
        return [rank]
    return merge_piece(ranks, piece)


def merge_piece(ranks: Ranks, piece: bytes) -> list[int]:
    """What merging leaves of a piece, which is not looked up whole first (tiktoken's `byte_pair_encode`)."""
    if not piece:
        return []
    bounds = merge_by_scanning(ranks, piece) if len(piece) <= SCAN_LIMIT else merge_by_heap(ranks, piece)
    try:
        return [ranks[piece[start:end]] for start, end in pairwise(bounds)]
    except KeyError as error:
        raise UnknownTokenError(f"the vocabulary has no token for the byte 0x{error.args[0].hex()}") from None


def merge_by_scanning(ranks: Mapping[AnyStr, float], piece: AnyStr, leave: int = 1) -> list[int]:
    """The bounds of the parts that merging leaves, 0 to len(piece), `leave` of them or more. O(n*m), but n is small.

    >>> merge_by_scanning({b"ab": 450, b"bc": 650}, b"abc")
    [0, 2, 3]
    """
    bounds = list(range(len(piece) + 1))
    # rank_at[i] is the rank of parts i and i+1 together, None where they are no token
    rank_at = [ranks.get(piece[i : i + 2]) for i in range(len(piece) - 1)]
    while len(rank_at) >= leave:
        best = min((rank for rank in rank_at if rank is not None), default=None)
        if best is None:
            break
        i = rank_at.index(best)
        del bounds[i + 1], rank_at[i]
        if i > 0:
            rank_at[i - 1] = ranks.get(piece[bounds[i - 1] : bounds[i + 1]])
        if i < len(rank_at):
            rank_at[i] = ranks.get(piece[bounds[i] : bounds[i + 2]])
    return bounds


def merge_by_heap(ranks: Mapping[AnyStr, float], piece: AnyStr, leave: int = 1) -> list[int]:
    """The same bounds in O(n log n): a heap of (rank, start) with stale entries skipped, and a linked list of parts."""
    import heapq

    size = len(piece)
    ends = list(range(1, size + 1))  # ends[start] is where the part that begins at start ends
    previous = list(range(-1, size - 1))  # the start of the part before; both are only right for starts of parts
    rank_from: list[float | None] = [None] * size  # rank of the part at start with the next one
    heap: list[tuple[float, int]] = []
    for start in range(size - 1):
        rank = ranks.get(piece[start : start + 2])
        if rank is not None:
            rank_from[start] = rank
            heap.append((rank, start))
    heapq.heapify(heap)

    def look_at(start: int) -> None:
        middle = ends[start]
        rank = ranks.get(piece[start : ends[middle]]) if middle < size else None
        rank_from[start] = rank
        if rank is not None:
            heapq.heappush(heap, (rank, start))

    parts = size
    while heap and parts > leave:
        rank, start = heapq.heappop(heap)
        if rank_from[start] != rank:
            continue
        parts -= 1
        middle = ends[start]
        ends[start] = ends[middle]
        rank_from[middle] = None  # its part is gone
        if ends[start] < size:
            previous[ends[start]] = start
        look_at(start)
        if start > 0:
            look_at(previous[start])

    bounds = [0]
    while bounds[-1] < size:
        bounds.append(ends[bounds[-1]])
    return bounds


class MergeStep(NamedTuple):
    """The parts of a piece after one merge; `position` is the index of the new part, None before the first merge."""

    parts: tuple[bytes, ...]
    rank: int | None
    position: int | None


def merge_steps(ranks: Ranks, piece: bytes) -> Iterator[MergeStep]:
    """Every merge of a piece, from its single bytes to the parts that stay.

    >>> [step.parts for step in merge_steps({b"ab": 450, b"bc": 650}, b"abc")]
    [(b'a', b'b', b'c'), (b'ab', b'c')]
    """
    parts = [piece[i : i + 1] for i in range(len(piece))]
    yield MergeStep(tuple(parts), None, None)
    while True:
        candidates = ((ranks.get(a + b), i) for i, (a, b) in enumerate(pairwise(parts)))
        best = min(((rank, i) for rank, i in candidates if rank is not None), default=None)
        if best is None:
            return
        rank, i = best
        parts[i : i + 2] = [parts[i] + parts[i + 1]]
        yield MergeStep(tuple(parts), rank, i)


def last_two(ranks: Mapping[AnyStr, float], token: AnyStr) -> tuple[AnyStr, AnyStr] | None:
    """The two parts that merge into a token, as merging it alone comes to them; None where it does not.

    They are the two in any text: where parts are about to become the token, nothing has merged across its ends.
    `ranks` may be of texts, too, whose parts are characters.
    """
    merge = merge_by_scanning if len(token) <= SCAN_LIMIT else merge_by_heap
    bounds = merge(ranks, token, 2)
    return (token[: bounds[1]], token[bounds[1] :]) if len(bounds) == 3 else None


def parents(ranks: Ranks, token: bytes) -> tuple[int, int] | None:
    """The ranks of the two tokens that merge into a token: the last two parts that merging its bytes comes to.

    None for a single byte, and for a token that no merge makes. (minbpe recovers merges from ranks in this way.)

    >>> ranks = {b"a": 1, b"b": 2, b"c": 3, b"ab": 450, b"abc": 650}
    >>> parents(ranks, b"abc"), parents(ranks, b"a")
    ((450, 3), None)
    """
    found = last_two(ranks, token)
    if found is None or found[0] not in ranks or found[1] not in ranks:
        return None
    return ranks[found[0]], ranks[found[1]]


class PieceCache(dict[str, tuple[int, ...]]):
    """Pieces of text and their ids, made on first use; forgets everything when it holds `limit` pieces.

    Forgetting all is as good as an LRU here: the frequent pieces are back within a few hundred lookups.
    """

    def __init__(self, merge: Callable[[bytes], Iterable[int]], limit: int = CACHE_PIECES) -> None:
        super().__init__()
        self._merge = merge
        self._limit = limit

    def __missing__(self, piece: str) -> tuple[int, ...]:
        ids = tuple(self._merge(piece.encode()))
        if len(piece) <= CACHE_PIECE_CHARS:
            if len(self) >= self._limit:
                self.clear()
            self[piece] = ids
        return ids

    def encode(self, pieces: Iterable[str]) -> list[int]:
        """The ids of some pieces, in order."""
        return list(chain.from_iterable(map(self.__getitem__, pieces)))

    def count(self, pieces: Iterable[str]) -> int:
        """How many ids some pieces have."""
        return sum(map(len, map(self.__getitem__, pieces)))
