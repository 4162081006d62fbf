"""The pieces of a text with their places and the alternatives that made them, for whoever shows or compares them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import cached_property
from typing import NamedTuple

from tokcli.engine.encoding import Encoding
from tokcli.engine.piece_alternatives import names_of
from tokcli.engine.pretokenizer import PreTokenizer
from tokcli.engine.stream import Chunk, placed

UNKNOWN = "-"  # stands for the alternative where there is none: a special token, a tokenizer without one pattern


class Piece(NamedTuple):
    """A piece: where it begins, in bytes; its bytes; the name of the alternative that matched it, or UNKNOWN."""

    offset: int
    data: bytes
    alternative: str


class ChunkPieces:
    """The pieces of one chunk; which alternatives made them is only found out when it is asked."""

    def __init__(self, encoding: Encoding, pattern: PreTokenizer | None, chunk: Chunk) -> None:
        self.chunk = chunk
        self.data = encoding.split_chunk(chunk)
        self._pattern = pattern
        self._counted = 0, 0  # a place in bytes and in characters

    @cached_property
    def alternatives(self) -> list[str]:
        """For each piece the name of its alternative."""
        if self._pattern is None or self.chunk.special:
            return [UNKNOWN] * len(self.data)
        pattern = self._pattern
        if not self.chunk.tail and (known := names_of(pattern, self.chunk.text, self.data)) is not None:
            return known
        found = placed(lambda text: list(pattern.split_with_alternatives(text)), self.chunk)
        names = []
        whole = len(self.data) - bool(self.chunk.tail)  # the last piece ends in bytes that no alternative matched
        for piece, (text, number) in zip(self.data[:whole], found, strict=False):
            if text.encode() != piece:
                break  # the pattern looked further back than this chunk, or it is not all that cuts
            names.append(f"a{number}" if number else UNKNOWN)
        return names + [UNKNOWN] * (len(self.data) - len(names))

    def alternative_at(self, index: int, offset: int) -> str:
        """The name of the alternative of one piece, which begins at byte `offset` of the input."""
        size = len(self.data[index])
        at = offset - self.chunk.offset
        if self._pattern is None or self.chunk.special or at + size > len(self.encoded):
            return UNKNOWN
        start = self._characters_before(at)
        won = self._winner(start)
        if won is None or won[0] is None or len(self.chunk.text[start : won[1]].encode()) != size:
            return UNKNOWN  # the pattern looked further back than this chunk, or it is not all that cuts
        return f"a{won[0]}"

    @cached_property
    def encoded(self) -> bytes:
        """The text of the chunk as UTF-8."""
        return self.chunk.text.encode()

    def _characters_before(self, at: int) -> int:
        """How many characters stand before a byte; places are asked for in order, so it goes on from the last one."""
        byte, characters = self._counted if self._counted[0] <= at else (0, 0)
        self._counted = at, characters + len(self.encoded[byte:at].decode())
        return self._counted[1]

    @cached_property
    def _winner(self) -> Callable[[int], tuple[int | None, int] | None]:
        assert self._pattern is not None
        return placed(self._pattern.winners, self.chunk)

    def __iter__(self) -> Iterator[Piece]:
        at = self.chunk.offset
        for data, name in zip(self.data, self.alternatives, strict=True):
            yield Piece(at, data, name)
            at += len(data)


def read_pieces(encoding: Encoding, pattern: PreTokenizer | None, chunks: Iterable[Chunk]) -> Iterator[Piece]:
    """The pieces of chunks, one after the other."""
    for chunk in chunks:
        yield from ChunkPieces(encoding, pattern, chunk)
