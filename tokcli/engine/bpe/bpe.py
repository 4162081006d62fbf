"""Byte pair encoding of one piece, in readable Python: the specification, and the fallback of the native backend.

`ranks` maps the bytes of a token to its rank, which is its id and its place in the order of merging. The algorithm is
tiktoken's `_byte_pair_merge`: as long as two neighbours together are a token, join the pair whose token has the lowest
rank, the leftmost of equals. Models that merge characters by scores use the same functions with texts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from heapq import heapify, heappop, heappush
from itertools import chain, pairwise
from typing import AnyStr, Literal, NamedTuple, TypeVar

from tokcli.errors import UnknownTokenError

Made = TypeVar("Made")
Part = TypeVar("Part")
Ranks = Mapping[bytes, int]
ModelKind = Literal["merges", "path", "pieces"]  # how a model finds tokens: merging, the best path, what fits
MergeOrder = Callable[[int, int, int], float]  # the rank of the merge of two ids into a third: the lowest comes first

Join = Callable[[Part, Part], "tuple[float, Part] | None"]  # two neighbours to the rank and the part they make, if any

# Above this many bytes a heap wins over scanning all ranks after each merge (measured: equal at 90 to 140 bytes).
SCAN_LIMIT = 100
# A cached piece with its ids costs about 200 bytes: 13 MB when the cache is full. Longer pieces hardly ever recur.
CACHE_PIECES = 1 << 16
CACHE_PIECE_CHARS = 64


def encode_piece(ranks: Ranks, piece: bytes) -> list[int]:
    """Return the ids of a piece: its own id if it is a token, else those that merging its bytes gives.

    UnknownTokenError if one of its bytes is not a token.

    >>> encode_piece({b"a": 1, b"b": 2, b"c": 3, b"ab": 450, b"bc": 650}, b"abc")
    [450, 3]
    """
    rank = ranks.get(piece)
    if rank is not None:
        return [rank]
    return merge_piece(ranks, piece)


def merge_piece(ranks: Ranks, piece: bytes) -> list[int]:
    """Return the ids that merging gives for a piece that is not looked up whole first (tiktoken's `byte_pair_encode`).

    UnknownTokenError if one of its bytes is not a token.
    """
    if not piece:
        return []
    try:
        return [ranks[piece[start:end]] for start, end in pairwise(merge_bounds(ranks, piece))]
    except KeyError as error:
        raise UnknownTokenError(f"the vocabulary has no token for the byte 0x{error.args[0].hex()}") from None


def merge_bounds(ranks: Mapping[AnyStr, float], piece: AnyStr, leave: int = 1) -> list[int]:
    """Return the bounds of the parts into which a piece merges, by scanning if it is short, else by a heap.

    Bounds go from 0 to len(piece); merging stops when `leave` parts are left.

    >>> merge_bounds({b"ab": 450, b"bc": 650}, b"abc")
    [0, 2, 3]
    """
    return (merge_by_scanning if len(piece) <= SCAN_LIMIT else merge_by_heap)(ranks, piece, leave)


def merge_by_scanning(ranks: Mapping[AnyStr, float], piece: AnyStr, leave: int = 1) -> list[int]:
    """Return what `merge_bounds` does, by looking for the lowest rank after each merge. O(n*m), but n is small.

    >>> merge_by_scanning({b"ab": 450, b"bc": 650}, b"abc")
    [0, 2, 3]
    """
    bounds = list(range(len(piece) + 1))
    # rank_at[i] is the rank of parts i and i + 1 together, None if they are no token
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
    """Return what `merge_bounds` does, in O(n log n), by `merge_parts`.

    >>> merge_by_heap({"ab": -1.0, "bc": -2.0}, "abc")
    [0, 1, 3]
    """
    parts: list[AnyStr] = [piece[i : i + 1] for i in range(len(piece))]
    return [*merge_parts(parts, join_by_ranks(ranks), leave), len(piece)]


def join_by_ranks(ranks: Mapping[AnyStr, float]) -> Join[AnyStr]:
    """Return a function that joins two parts if together they are a token."""
    get = ranks.get

    def join(left: AnyStr, right: AnyStr) -> tuple[float, AnyStr] | None:
        rank = get(both := left + right)
        return None if rank is None else (rank, both)

    return join


def merge_parts(
    parts: list[Part], join: Join[Part], leave: int = 1, skips_merge: Callable[[], bool] | None = None
) -> list[int]:
    """Merge neighbours in place, the lowest rank first, the leftmost of equals; return the indexes of the parts left.

    `join` gives the rank and the part that two neighbours make, None if they do not merge; merging stops when `leave`
    parts are left. Two neighbours for which `skips_merge` is true do not merge with each other any more. This takes
    O(n log n): a heap of pairs, in which those that have changed meanwhile are skipped, and a linked list of parts.

    >>> parts = ["a", "b", "b"]
    >>> merge_parts(parts, lambda left, right: (7, "ab") if (left, right) == ("a", "b") else None)
    [0, 2]
    >>> parts[0]
    'ab'
    """
    pairs = map(join, parts, parts[1:])
    heap = [(found[0], at, found[1]) for at, found in enumerate(pairs) if found is not None]
    count = len(parts)
    if not heap:
        return list(range(count))
    newest: dict[int, tuple[float, int, Part]] = {pair[1]: pair for pair in heap}  # of each part with the next
    following = list(range(1, count + 1))  # the next part; `count` for the last
    previous = list(range(-1, count - 1))
    heapify(heap)
    parts_left = count
    while heap and parts_left > leave:
        pair = heappop(heap)
        at = pair[1]
        if newest.get(at) is not pair:
            continue
        if skips_merge is not None and skips_merge():
            del newest[at]
            continue
        parts_left -= 1
        parts[at] = pair[2]
        right = following[at]
        newest.pop(right, None)  # it is merged into the part before
        after = following[at] = following[right]
        if after < count:
            previous[after] = at
        for left, right in ((previous[at], at), (at, after)):
            if left >= 0 and right < count and (found := join(parts[left], parts[right])) is not None:
                newest[left] = pair = (found[0], left, found[1])
                heappush(heap, pair)
            else:
                newest.pop(left, None)

    at, left_parts = 0, []
    while at < count:
        left_parts.append(at)
        at = following[at]
    return left_parts


class MergeStep(NamedTuple):
    """The parts of a piece after one merge, the rank of that merge, and the index of the new part (`position`).

    Before the first merge, `rank` and `position` are None.
    """

    parts: tuple[bytes, ...]
    rank: int | None
    position: int | None


def merge_steps(ranks: Ranks, piece: bytes) -> Iterator[MergeStep]:
    """Yield the parts of a piece before and after every merge, from single bytes to the final parts.

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
    """Return the two parts whose merge makes a token, found by merging it alone; None if merging does not make it.

    They are the same two in any text: before parts become the token, nothing has merged across its ends.

    >>> last_two({"ab": 1, "bc": 2, "abc": 3}, "abc")
    ('ab', 'c')
    """
    bounds = merge_bounds(ranks, token, 2)
    return (token[: bounds[1]], token[bounds[1] :]) if len(bounds) == 3 else None


def rank_of_score(score: float) -> float:
    """Return the rank of a merge into a token with this score: the highest score merges first.

    >>> rank_of_score(-12.0), rank_of_score(-0.5)
    (12, 0.5)
    """
    return int(-score) if score == int(score) else -score


def parents(ranks: Ranks, token: bytes) -> tuple[int, int] | None:
    """Return the ranks of the two tokens that merge into a token; None for a single byte, and if no merge makes it.

    They are the last two parts in merging the bytes of the token. (minbpe recovers merges from ranks in this way.)

    >>> ranks = {b"a": 1, b"b": 2, b"c": 3, b"ab": 450, b"abc": 650}
    >>> parents(ranks, b"abc"), parents(ranks, b"a")
    ((450, 3), None)
    """
    found = last_two(ranks, token)
    if found is None or found[0] not in ranks or found[1] not in ranks:
        return None
    return ranks[found[0]], ranks[found[1]]


class BoundedCache(dict[str, Made]):
    """A dictionary of pieces whose values are made on first use; it is emptied when it holds `limit` pieces.

    Pieces of more than CACHE_PIECE_CHARS characters are not kept, and none are with a limit of 0. Emptying the cache is
    as good as an LRU here: the frequent pieces are back within a few hundred lookups.

    >>> cache = BoundedCache(str.upper, limit=1)
    >>> cache["a"], cache["b"], list(cache)
    ('A', 'B', ['b'])
    """

    def __init__(self, make: Callable[[str], Made], limit: int = CACHE_PIECES) -> None:
        super().__init__()
        self._make, self._limit = make, limit

    def __missing__(self, piece: str) -> Made:
        made = self._make(piece)
        if self._limit and len(piece) <= CACHE_PIECE_CHARS:
            if len(self) >= self._limit:
                self.clear()
            self[piece] = made
        return made


class PieceCache(BoundedCache[tuple[int, ...]]):
    """The ids of pieces of text, made on first use by a function that merges their bytes."""

    def __init__(self, merge: Callable[[bytes], Iterable[int]], limit: int = CACHE_PIECES) -> None:
        super().__init__(lambda piece: tuple(merge(piece.encode())), limit)

    def ids_of(self, pieces: Iterable[str]) -> list[int]:
        """Return the ids of all pieces in a row."""
        return list(chain.from_iterable(map(self.__getitem__, pieces)))

    def count_of(self, pieces: Iterable[str]) -> int:
        """Return the number of ids of all pieces."""
        return sum(map(len, map(self.__getitem__, pieces)))
