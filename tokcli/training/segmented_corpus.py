"""A corpus during training: its distinct pieces, how each is segmented so far, and the count of each pair.

A SegmentedCorpus merges the pair that it is told to merge; the trainer decides which pair that is.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from itertools import accumulate, pairwise, repeat

from tokcli.engine.bpe.bpe import encode_piece
from tokcli.errors import InputError
from tokcli.training.trainer import BYTES, CountedPieces, Pair

END = -1  # no neighbour on this side: the piece ends here
GONE = -1  # no token begins at this position any more: it was merged into the one on its left


class SegmentedCorpus:
    """Distinct pieces, segmented by the ranks made so far, with the count of every pair of neighbours.

    The invariant: each piece is segmented exactly as an encoder with `ranks` segments it, and no two neighbours join
    into bytes that are a token already, so a pair that is counted always makes a new token. Why it holds although an
    encoder looks at joined bytes and training at pairs: merging a pair everywhere, from left to right, treats equal
    bytes alike wherever no token crosses their ends. So all places where two neighbours join into the bytes `t` are
    segmented alike, by the same pair; merging that pair leaves none of them, and later merges make no new one.

    All pieces follow each other in flat lists, a position per byte. A token is known by the position of its first byte;
    `_rank_at`, `_next` and `_previous` hold its rank and its neighbours, as in a doubly linked list, so that a merge
    costs what it changes, however long the piece.

    >>> corpus = SegmentedCorpus({b"abab": 3, b"b": 1})
    >>> corpus.pair_counts == {(97, 98): 6, (98, 97): 3}
    True
    >>> corpus.merge((97, 98)) == {(256, 256)}
    True
    >>> dict(corpus.segments())
    {b'abab': [b'ab', b'ab'], b'b': [b'b']}
    """

    def __init__(self, counts: CountedPieces, tokens: Iterable[bytes] = BYTES) -> None:
        """Begin with every piece as `tokens` encode it, by default as single bytes; a token's rank is its index.

        Pieces with the count 0 are left out; a negative count raises InputError.
        """
        self.tokens = list(tokens)  # rank -> bytes
        self.ranks = {token: rank for rank, token in enumerate(self.tokens)}
        self.pair_counts: dict[Pair, int] = {}
        self._starts: list[int] = []
        self._rank_at: list[int] = []
        self._next: list[int] = []
        self._previous: list[int] = []
        self._weight: list[int] = []  # how often the piece that holds this position occurs
        # Where a pair may be found: complete, but some places are stale, since nothing is ever removed. A place is
        # entered once only, because the token at a position only ever grows.
        self._positions: defaultdict[Pair, list[int]] = defaultdict(list)
        for piece, count in counts.items():
            if count < 0:
                raise InputError(f"piece {piece[:40]!r}: its count is {count}", "counts are at least 0")
            if count and piece:
                self._add_piece(piece, count)

    def _add_piece(self, piece: bytes, count: int) -> None:
        start = len(self._rank_at)
        ids = encode_piece(self.ranks, piece)
        places = list(accumulate((len(self.tokens[rank]) for rank in ids[:-1]), initial=start))
        self._starts.append(start)
        for table, filler in ((self._rank_at, GONE), (self._next, END), (self._previous, END), (self._weight, count)):
            table.extend(repeat(filler, len(piece)))
        for rank, place, before, after in zip(ids, places, [END, *places], [*places[1:], END], strict=False):
            self._rank_at[place], self._previous[place], self._next[place] = rank, before, after
        for place, pair in zip(places, pairwise(ids), strict=False):
            self._add_pair(pair, place, count)

    def merge(self, pair: Pair) -> set[Pair]:
        """Make the bytes of `pair` the next token and merge the pair everywhere, from left to right: "aaa" is "aa" "a".

        Return the pairs that are more frequent than before. O(c log c) for c occurrences. The pair must be one of
        `pair_counts`, else KeyError.
        """
        positions = self._positions.pop(pair)
        rank = len(self.tokens)
        self.tokens.append(self.tokens[pair[0]] + self.tokens[pair[1]])
        self.ranks[self.tokens[rank]] = rank
        risen: set[Pair] = set()
        for position in sorted(positions):
            if self._pair_at(position) == pair:
                risen.update(self._join(position, rank))
        return {each for each in risen if each in self.pair_counts}

    def first_position(self, pair: Pair) -> int:
        """Return the byte at which a pair of `pair_counts` first occurs in all pieces, joined in the order given."""
        return min(position for position in self._positions[pair] if self._pair_at(position) == pair)

    def segments(self) -> Iterator[tuple[bytes, list[bytes]]]:
        """Yield each distinct piece and its tokens so far, in the order in which the pieces were given."""
        for start in self._starts:
            tokens = []
            position = start
            while position != END:
                tokens.append(self.tokens[self._rank_at[position]])
                position = self._next[position]
            yield b"".join(tokens), tokens

    def _pair_at(self, position: int) -> Pair | None:
        after = self._next[position]
        if self._rank_at[position] == GONE or after == END:
            return None
        return self._rank_at[position], self._rank_at[after]

    def _join(self, position: int, rank: int) -> Iterator[Pair]:
        """Replace the token at `position` and the next by one, update links and counts, and yield the new pairs."""
        ranks, weight = self._rank_at, self._weight[position]
        before, after = self._previous[position], self._next[position]
        beyond = self._next[after]
        left, right = ranks[position], ranks[after]
        ranks[position], ranks[after] = rank, GONE
        self._next[position] = beyond
        self._drop_pair((left, right), weight)
        if before != END:
            self._drop_pair((ranks[before], left), weight)
            self._add_pair((ranks[before], rank), before, weight)
            yield ranks[before], rank
        if beyond != END:
            self._drop_pair((right, ranks[beyond]), weight)
            self._add_pair((rank, ranks[beyond]), position, weight)
            self._previous[beyond] = position
            yield rank, ranks[beyond]

    def _add_pair(self, pair: Pair, position: int, weight: int) -> None:
        self.pair_counts[pair] = self.pair_counts.get(pair, 0) + weight
        self._positions[pair].append(position)

    def _drop_pair(self, pair: Pair, weight: int) -> None:
        left = self.pair_counts[pair] - weight
        if left:
            self.pair_counts[pair] = left
        else:
            del self.pair_counts[pair]
