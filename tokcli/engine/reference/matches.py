"""Finding many texts in UTF-8, in Python."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from itertools import chain, islice

from tokcli.engine.base.longest_match import LongestMatch


class BytesMatch:
    """Texts in UTF-8, the longest of which is found at each place: the native module's `LongestMatch`.

    >>> match = BytesMatch([b"<a>", b"<a><b>"])
    >>> array("Q", match.find(b"x<a><b><a>", 10, 9)).tolist(), array("Q", match.find_numbered(b"<a>", [7, 8])).tolist()
    ([1, 7, 7, 10], [0, 3, 7])
    """

    def __init__(self, texts: list[bytes], /) -> None:
        self._match, self._places = LongestMatch(texts), {text: number for number, text in enumerate(texts)}

    def find(self, data: bytes, size: int, most: int, /) -> bytes:
        """Return where texts in the first `size` bytes of data begin and end (uint64), at most `most` of them."""
        found = islice(self._match.find(data if size == len(data) else data[:size]), most)
        return array("Q", chain.from_iterable(found)).tobytes()

    def find_numbered(self, data: bytes, numbers: Sequence[int], /) -> bytes:
        """Return where texts in data begin and end, and the number of each (uint64): `numbers` has one for each."""
        found = ((begin, end, numbers[self._places[data[begin:end]]]) for begin, end in self._match.find(data))
        return array("Q", chain.from_iterable(found)).tobytes()
