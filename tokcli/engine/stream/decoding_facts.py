"""How ids decode, as a family says it: the bytes of each id, and what becomes of them when they are joined."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from tokcli.engine.spec.spec import DecodingSpec


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
        for number, token in zip(ids, tokens, strict=True):
            if self._begins and token[:1] == b" " and number not in self._keeps:
                token = token[1:]
                self._begins = self._drops_all
            out += token
            self._begins = number in self._begins_anew or (self._begins and not token)
        return bytes(out)

    def finish(self) -> bytes:
        """Return b""."""
        return b""


class DecodingFacts(NamedTuple):
    """The bytes of each id, as `bytes_of` gives them, and what becomes of them when they are joined (`spec`).

    `ids` are all ids; `unusual` are those whose bytes may differ from those of the ranks, such as added tokens. Where a
    tokenizer.json's decoder does all of it, the bytes are the UTF-8 of the texts of ids.
    """

    ids: Sequence[int]
    unusual: Sequence[int]
    bytes_of: Callable[[int], bytes]
    spec: DecodingSpec
