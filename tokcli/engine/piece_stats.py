"""What a pattern makes of a whole text: hits of each alternative, longest pieces, pieces that become several tokens.

Memory does not grow with the text: of different pieces the frequent ones are kept, by lossy counting.
"""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from tokcli.engine.encoding import Encoding
from tokcli.engine.pieces import ChunkPieces, Piece

LONGEST = 10  # pieces that are named
KEPT_PIECES = 1 << 16  # different ones that are counted
KEPT_BYTES = 256  # of a piece; a longer one is counted by what it begins with


@dataclass
class PieceStats:
    """Totals (`size` in bytes), and for each alternative its pieces and bytes.

    `split` counts the pieces that become several tokens; where it `is_approximate`, rare ones were forgotten, and the
    counts of others may be too low by `lost`.
    """

    size: int = 0
    pieces: int = 0
    tokens: int = 0
    hits: Counter[str] = field(default_factory=Counter)
    hit_bytes: Counter[str] = field(default_factory=Counter)
    split: Counter[tuple[bytes, int]] = field(default_factory=Counter)
    split_pieces: int = 0
    split_tokens: int = 0
    lost: int = 0
    _longest: list[tuple[int, int, bytes, str]] = field(default_factory=list)
    _seen: set[bytes] = field(default_factory=set)

    @property
    def is_approximate(self) -> bool:
        """Whether some of the counts of `split` may be too low."""
        return self.lost > 0

    @property
    def longest(self) -> list[Piece]:
        """The longest different pieces, where each first stands; what is long is cut to KEPT_BYTES."""
        return [Piece(-offset, data, name) for _, offset, data, name in sorted(self._longest, reverse=True)]

    def longest_size(self) -> list[int]:
        """How many bytes each of `longest` has."""
        return [size for size, *_ in sorted(self._longest, reverse=True)]

    def add(self, encoding: Encoding, pieces: ChunkPieces) -> None:
        """Counts the pieces of one chunk more."""
        chunk, data, names = pieces.chunk, pieces.data, pieces.alternatives
        self.size += sum(map(len, data))
        self.pieces += len(data)
        self.tokens += encoding.count_chunk(chunk)
        self.hits.update(names)
        for piece, name in zip(data, names, strict=True):
            self.hit_bytes[name] += len(piece)
        if chunk.special:
            return
        self._add_split(Counter(data), encoding.piece_tokens)
        self._add_longest(pieces)

    def _add_split(self, different: Counter[bytes], tokens_of: Callable[[bytes], list[int]]) -> None:
        for piece, times in different.items():
            tokens = len(tokens_of(piece))
            if tokens > 1:
                self.split[piece[:KEPT_BYTES], tokens] += times
                self.split_pieces += times
                self.split_tokens += tokens * times
        while len(self.split) > KEPT_PIECES:  # G. S. Manku, R. Motwani: Approximate frequency counts (2002)
            self.lost += 1
            self.split = Counter({key: times - 1 for key, times in self.split.items() if times > 1})

    def _add_longest(self, pieces: ChunkPieces) -> None:
        least = self._longest[0][0] if len(self._longest) == LONGEST else 0
        if max(map(len, pieces.data), default=0) <= least:
            return
        for offset, data, name in _first_of_each(pieces):
            if len(data) <= least or data[:KEPT_BYTES] in self._seen:
                continue
            self._seen.add(data[:KEPT_BYTES])
            heapq.heappush(self._longest, (len(data), -offset, data[:KEPT_BYTES], name))
            if len(self._longest) > LONGEST:
                self._seen.discard(heapq.heappop(self._longest)[2])
                least = self._longest[0][0]


def _first_of_each(pieces: Iterable[Piece]) -> list[Piece]:
    found: dict[bytes, Piece] = {}
    for piece in pieces:
        found.setdefault(piece.data, piece)
    return list(found.values())
