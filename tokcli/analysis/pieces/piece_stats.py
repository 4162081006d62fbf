"""`PieceStats`: totals over the pieces of a text: hits of each alternative, longest pieces, pieces of several tokens.

Memory does not grow with the text: lossy counting keeps only the frequent pieces.
"""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import accumulate

from tokcli.analysis.pieces.piece_arrays import PieceArrays
from tokcli.analysis.pieces.pieces import UNKNOWN, ChunkPieces, Piece
from tokcli.engine import backend
from tokcli.engine.encoding import Encoding

LONGEST = 10  # pieces that are listed
KEPT_PIECES = 1 << 16  # different pieces that are counted
KEPT_BYTES = 256  # bytes of a piece that are kept; longer pieces are counted by their first bytes


@dataclass
class PieceStats:
    """Totals over the pieces of a text: `size` in bytes, and the pieces and bytes of each alternative.

    `split` counts the pieces of several tokens, each as (piece, number of tokens). If it `is_approximate`, rare pieces
    were forgotten, and counts may be too low by up to `lost`.
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
    _tokens_of: dict[bytes, int] = field(default_factory=dict)  # the number of tokens of a piece

    @property
    def is_approximate(self) -> bool:
        """Return whether counts of `split` may be too low."""
        return self.lost > 0

    @property
    def longest(self) -> list[tuple[int, Piece]]:
        """Return the size in bytes of each of the longest distinct pieces, and the piece, cut to KEPT_BYTES."""
        return [(size, Piece(-place, data, name)) for size, place, data, name in sorted(self._longest, reverse=True)]

    def add(self, encoding: Encoding, pieces: ChunkPieces | PieceArrays) -> None:
        """Add the pieces of one more part of a stream."""
        if isinstance(pieces, PieceArrays):
            self._add_arrays(pieces)
        else:
            self._add_chunk(encoding, pieces)

    def _add_arrays(self, arrays: PieceArrays) -> None:
        *totals, several, places = backend.code().piece_totals(
            arrays.text, arrays.ends, arrays.alternatives, arrays.counts, self._least, LONGEST, KEPT_BYTES
        )
        self.size += len(arrays.text)
        self.pieces += len(arrays)
        self.tokens += len(memoryview(arrays.ids).cast("B")) // 4
        for counter, by_number in zip((self.hits, self.hit_bytes), totals, strict=True):
            for number, total in enumerate(memoryview(by_number).cast("Q")):
                counter[f"a{number}" if number else UNKNOWN] += total
        for piece, tokens, times in several:
            self._add_several(piece, tokens, times)
        self._forget_rare()
        for place in memoryview(places).cast("Q"):
            self._add_long(arrays[place])

    def _add_chunk(self, encoding: Encoding, pieces: ChunkPieces) -> None:
        chunk, data, names = pieces.chunk, pieces.data, pieces.alternatives
        sizes = list(map(len, data))
        self.size += sum(sizes)
        self.pieces += len(data)
        self.tokens += encoding.tokenizer.count_part(chunk)
        self.hits.update(names)
        of_name = dict.fromkeys(names, 0)
        for name, size in zip(names, sizes, strict=True):
            of_name[name] += size
        self.hit_bytes.update(of_name)
        if chunk.special:
            return
        different = Counter(data)
        if pieces.placed_ids is None:
            self._add_split(different, encoding)
        else:
            for piece, ids in zip(data, pieces.placed_ids, strict=True):
                if len(ids) > 1:
                    self._add_several(piece[:KEPT_BYTES], len(ids), 1)
            self._forget_rare()
        self._add_longest(pieces, sizes, different)

    def _add_split(self, different: Counter[bytes], encoding: Encoding) -> None:
        known = self._tokens_of
        if len(known) >= KEPT_PIECES:
            known.clear()
        new = [piece for piece in different if piece not in known]
        counts = dict(zip(new, encoding.tokenizer.count_pieces(new), strict=True))
        known.update((piece, tokens) for piece, tokens in counts.items() if len(piece) <= KEPT_BYTES)
        for piece, times in different.items():
            tokens = known[piece] if piece in known else counts[piece]
            if tokens > 1:
                self._add_several(piece[:KEPT_BYTES], tokens, times)
        self._forget_rare()

    def _add_several(self, piece: bytes, tokens: int, times: int) -> None:
        self.split[piece, tokens] += times
        self.split_pieces += times
        self.split_tokens += tokens * times

    def _forget_rare(self) -> None:
        while len(self.split) > KEPT_PIECES:  # G. S. Manku, R. Motwani: Approximate frequency counts (2002)
            self.lost += 1
            self.split = Counter({key: times - 1 for key, times in self.split.items() if times > 1})

    def _add_longest(self, pieces: ChunkPieces, sizes: list[int], different: Iterable[bytes]) -> None:
        least = self._least
        if max(sizes, default=0) <= least:
            return
        # LONGEST different pieces are at least this long, so that shorter ones need not be looked at
        whole = [] if least else heapq.nlargest(LONGEST, [n for n in map(len, different) if n <= KEPT_BYTES])
        enough = whole[-1] if len(whole) == LONGEST else 0
        offsets = list(accumulate(sizes, initial=pieces.chunk.offset))
        for place in [place for place, size in enumerate(sizes) if size >= enough and size > least]:
            self._add_long(Piece(offsets[place], pieces.data[place], pieces.alternatives[place]))

    @property
    def _least(self) -> int:
        """Return the size in bytes of the shortest of the LONGEST pieces kept; 0 while there are fewer."""
        return self._longest[0][0] if len(self._longest) == LONGEST else 0

    def _add_long(self, piece: Piece) -> None:
        size, kept = len(piece.data), piece.data[:KEPT_BYTES]
        if size <= self._least or kept in self._seen:
            return
        self._seen.add(kept)
        heapq.heappush(self._longest, (size, -piece.offset, kept, piece.alternative))
        if len(self._longest) > LONGEST:
            self._seen.discard(heapq.heappop(self._longest)[2])
