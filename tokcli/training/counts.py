"""Counts how often each piece occurs, which is all that a BPE trainer needs to know of a corpus.

Splitting text into pieces is left to the pre-tokenizer, reading it to the caller.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable


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
