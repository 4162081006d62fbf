"""The bytes of ids, in Python: each told once, and joined from then on."""

from __future__ import annotations

from array import array
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing_extensions import Buffer


class KnownTokens:
    """The bytes of ids, each told once with `add`, which are joined from then on.

    >>> known = KnownTokens()
    >>> known.add([7], [b"a"])
    >>> known.joined(array("I", [7, 7])), known.joined(array("I", [7, 8]))
    (b'aa', None)
    >>> array("I", known.unknown(array("I", [8, 7, 8])))
    array('I', [8])
    """

    def __init__(self) -> None:
        self._tokens: dict[int, bytes] = {}

    def add(self, ids: list[int], tokens: list[bytes], /) -> None:
        """Keep the bytes of each id (below 2**32)."""
        self._tokens.update(zip(ids, tokens, strict=True))

    def joined(self, ids: Buffer, /) -> bytes | None:
        """Return the bytes of ids (uint32); None where one is not known."""
        try:
            return b"".join(map(self._tokens.__getitem__, memoryview(ids).cast("B").cast("I")))
        except KeyError:
            return None

    def unknown(self, ids: Buffer, /) -> bytes:
        """Return the ids (uint32) that are not known, each once, in the order in which they come."""
        each = dict.fromkeys(memoryview(ids).cast("B").cast("I"))
        return array("I", [id for id in each if id not in self._tokens]).tobytes()
