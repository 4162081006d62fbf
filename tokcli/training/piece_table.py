"""Counts of pieces, which are all that a BPE trainer needs to know of a corpus.

Splitting text into pieces is left to the pre-tokenizer, reading it to the caller.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import TYPE_CHECKING

from tokcli.engine import backend
from tokcli.engine.stream.utf8 import without_surrogates

if TYPE_CHECKING:
    from tokcli.engine import _native


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


def make_table() -> _native.PieceTable:
    """Return an empty table of distinct pieces and their counts."""
    table: _native.PieceTable = backend.code().PieceTable()
    return table
