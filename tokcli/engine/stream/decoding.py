"""Decoders of ids that come a few at a time: each gives the bytes that no later id can change, as soon as it can.

What the ids of a family decode to is left to the families, which have decoders of their own where these do not do.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from tokcli.engine.spec.image import DecodingSpec


class ByteDecoder(Protocol):
    """Takes ids a few at a time; all bytes that it gives, joined, are those of all ids decoded together."""

    def add(self, ids: Sequence[int]) -> bytes:
        """Return the bytes that are known with these ids; UnknownTokenError for an id that the vocabulary lacks."""

    def finish(self) -> bytes:
        """Return the bytes that depended on what might follow; no ids follow."""


class ApartDecoder:
    """Decodes ids whose bytes are the same whatever ids are beside them."""

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

    def __init__(self, decode: Callable[[Sequence[int]], bytes]) -> None:
        self._decode, self._held = decode, list[int]()

    def add(self, ids: Sequence[int]) -> bytes:
        """Return b""."""
        self._held += ids
        return b""

    def finish(self) -> bytes:
        """Return the bytes of all ids."""
        return self._decode(self._held)


class BeginDecoder:
    """Decodes ids apart, without one space or all of them at the beginning of the text; see `DecodingSpec`.

    `bytes_of` gives the bytes of each of some ids; UnknownTokenError for an id that the vocabulary lacks.
    """

    def __init__(self, bytes_of: Callable[[Sequence[int]], Sequence[bytes]], spec: DecodingSpec) -> None:
        self._bytes_of, self._drops_all = bytes_of, spec.drops_space == "all"
        self._keeps, self._begins_anew = frozenset(spec.keeps_space), frozenset(spec.begins_anew)
        self._begins = True

    def add(self, ids: Sequence[int]) -> bytes:
        """Return the bytes of these ids."""
        tokens = self._bytes_of(ids)
        if not self._begins and not self._begins_anew:
            return b"".join(tokens)
        out = bytearray()
        for id, token in zip(ids, tokens, strict=True):
            if self._begins and token[:1] == b" " and id not in self._keeps:
                token = token[1:]
                self._begins = self._drops_all
            out += token
            self._begins = id in self._begins_anew or (self._begins and not token)
        return bytes(out)

    def finish(self) -> bytes:
        """Return b""."""
        return b""
