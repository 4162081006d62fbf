"""Decoders of ids that come a few at a time: each gives the bytes that no later id can change, as soon as it can.

What the ids of a family decode to is left to the families, which have decoders of their own where these do not do.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Literal, Protocol

from tokcli.engine import backend
from tokcli.engine.base.arguments import is_array
from tokcli.engine.tokens import spans_of

if TYPE_CHECKING:
    from tokcli.engine.spec.image import DropsSpace


Place = Literal["beginning", "behind", "between"]


class ByteDecoder(Protocol):
    """Takes ids a few at a time; all bytes that it gives, joined, are those of all ids decoded together."""

    @property
    def place(self) -> Place:
        """Where the next id is, which says on what its bytes depend.

        At the "beginning" of the text, it may have others than further on. "behind" the beginning, its bytes are the
        same whatever ids are beside it. "between" others, they may depend on these.
        """

    def add(self, ids: Sequence[int]) -> bytes:
        """Return the bytes that are known with these ids; UnknownTokenError for an id that the vocabulary lacks."""

    def finish(self) -> bytes:
        """Return the bytes that depended on what might follow; no ids follow."""


class ApartDecoder:
    """Decodes ids whose bytes are the same whatever ids are beside them."""

    place: Place = "behind"

    def __init__(self, decode: Callable[[Sequence[int]], bytes]) -> None:
        self._decode = decode

    def add(self, ids: Sequence[int]) -> bytes:
        """Return the bytes of these ids."""
        return self._decode(ids)

    def finish(self) -> bytes:
        """Return b""."""
        return b""


class WholeDecoder:
    """Holds all ids until the end, for rules that may change any of the text because of what follows."""

    place: Place = "between"

    def __init__(self, decode: Callable[[Sequence[int]], bytes]) -> None:
        self._decode, self._held = decode, list[int]()

    def add(self, ids: Sequence[int]) -> bytes:
        """Return b""."""
        self._held += ids
        return b""

    def finish(self) -> bytes:
        """Return the bytes of all ids."""
        return self._decode(self._held)


class KnownBytes:
    """Joins the bytes of ids, and finds those of each id once: a long text has few distinct ids.

    `each` gives the bytes of each of some ids; UnknownTokenError for an id that the vocabulary lacks.

    >>> known = KnownBytes(lambda ids: [b"%d " % id for id in ids])
    >>> known.joined([7, 8, 7])
    b'7 8 7 '
    """

    def __init__(self, each: Callable[[Sequence[int]], Sequence[bytes]]) -> None:
        self._each, self._known = each, backend.code().KnownTokens()

    def joined(self, ids: Sequence[int]) -> bytes:
        """Return the bytes of these ids."""
        given = self._given(ids)
        found: bytes | None = self._known.joined(given)
        if found is None:
            self._learn(given)
            found = self._known.joined(given)
            assert found is not None
        return found

    def spans(self, ids: Sequence[int], start: int) -> array[int]:
        """Return the spans of these ids in characters, `start` of which are before them; see `spans_of`."""
        if not backend.is_native():
            return spans_of((self.joined([id]) for id in ids), start)
        given = self._given(ids)
        found: bytes | None = self._known.spans(given, start, True)
        if found is None:
            self._learn(given)
            found = self._known.spans(given, start, True)
            assert found is not None
        return array("Q", found)

    def _given(self, ids: Sequence[int]) -> memoryview | array[int]:
        try:
            return ids if is_array(ids) else array("I", ids)
        except OverflowError:
            self._each(ids)  # names the id, which no vocabulary has
            raise

    def _learn(self, ids: memoryview | array[int]) -> None:
        new = array("I", self._known.unknown(ids)).tolist()
        self._known.add(new, list(self._each(new)))


class BeginDecoder:
    """Decodes ids apart, without one space or all of them at the beginning of the text.

    `decode` joins the bytes of ids; UnknownTokenError for an id that the vocabulary lacks. The others are as in
    `DecodingSpec`.
    """

    def __init__(
        self,
        decode: Callable[[Sequence[int]], bytes],
        drops_space: DropsSpace,
        keeps_space: frozenset[int],
        begins_anew: frozenset[int],
    ) -> None:
        self._decode, self._drops_all = decode, drops_space == "all"
        self._keeps, self._begins_anew = keeps_space, begins_anew
        self._begins = True

    @property
    def place(self) -> Place:
        """Where the next id is; see `ByteDecoder`."""
        if self._begins_anew:
            return "between"
        return "beginning" if self._begins else "behind"

    def add(self, ids: Sequence[int]) -> bytes:
        """Return the bytes of these ids."""
        whole = self._decode(ids)  # UnknownTokenError, before anything has changed
        ends = [at for at, id in enumerate(ids, 1) if id in self._begins_anew] if self._begins_anew else []
        if not self._begins and not ends:
            return whole
        out, at = [], 0
        for end in (*ends, len(ids)):
            while self._begins and at < end:
                token = self._decode(ids[at : at + 1])
                if token[:1] == b" " and ids[at] not in self._keeps:
                    token = token[1:]
                    self._begins = self._drops_all
                out.append(token)
                self._begins = self._begins and not token
                at += 1
            out.append(self._decode(ids[at:end]))
            at = end
            self._begins |= bool(ends) and ids[end - 1] in self._begins_anew
        return b"".join(out)

    def finish(self) -> bytes:
        """Return b""."""
        return b""
