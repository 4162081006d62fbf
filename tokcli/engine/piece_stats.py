"""What a pattern makes of a whole text: hits of each alternative, longest pieces, pieces that become several tokens.

Memory does not grow with the text: of different pieces the frequent ones are kept, by lossy counting.
"""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import accumulate

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
    _tokens_of: dict[bytes, int] = field(default_factory=dict)  # how many tokens a piece becomes

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
        sizes = list(map(len, data))
        self.size += sum(sizes)
        self.pieces += len(data)
        self.tokens += encoding.count_chunk(chunk)
        self.hits.update(names)
        of_name = dict.fromkeys(names, 0)
        for name, size in zip(names, sizes, strict=True):
            of_name[name] += size
        self.hit_bytes.update(of_name)
        if chunk.special:
            return
        different = Counter(data)
        self._add_split(different, encoding)
        self._add_longest(pieces, sizes, different)

    def _add_split(self, different: Counter[bytes], encoding: Encoding) -> None:
        known = self._tokens_of
        if len(known) >= KEPT_PIECES:
            known.clear()
        new = [piece for piece in different if piece not in known]
        counts = dict(zip(new, encoding.count_pieces(new), strict=True))
        known.update((piece, tokens) for piece, tokens in counts.items() if len(piece) <= KEPT_BYTES)
        for piece, times in different.items():
            tokens = known[piece] if piece in known else counts[piece]
            if tokens > 1:
                self.split[piece[:KEPT_BYTES], tokens] += times
                self.split_pieces += times
                self.split_tokens += tokens * times
        while len(self.split) > KEPT_PIECES:  # G. S. Manku, R. Motwani: Approximate frequency counts (2002)
            self.lost += 1
            self.split = Counter({key: times - 1 for key, times in self.split.items() if times > 1})

    def _add_longest(self, pieces: ChunkPieces, sizes: list[int], different: Iterable[bytes]) -> None:
        is_full = len(self._longest) == LONGEST
        least = self._longest[0][0] if is_full else 0
        if max(sizes, default=0) <= least:
            return
        # so many are at least as long, and differ in what is kept of them
        whole = [] if is_full else heapq.nlargest(LONGEST, [n for n in map(len, different) if n <= KEPT_BYTES])
        enough = whole[-1] if len(whole) == LONGEST else 0
        offsets = list(accumulate(sizes, initial=pieces.chunk.offset))
        for place in [place for place, size in enumerate(sizes) if size >= enough and size > least]:
            size, kept = sizes[place], pieces.data[place][:KEPT_BYTES]
            if size <= least or kept in self._seen:
                continue
            self._seen.add(kept)
            heapq.heappush(self._longest, (size, -offsets[place], kept, pieces.alternatives[place]))
            if len(self._longest) > LONGEST:
                self._seen.discard(heapq.heappop(self._longest)[2])
                least = self._longest[0][0]
