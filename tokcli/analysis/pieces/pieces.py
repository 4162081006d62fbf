"""`ChunkPieces`: the pieces of a chunk with their places and the alternatives of the pattern that made them.

Known patterns never look back, and only white space looks ahead, no further than the next piece. So the alternative of
a piece follows from the piece alone, and that of white space from it and the next piece. (Profile: a fifth of the time
of matching everything.)
"""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from functools import cached_property
from itertools import accumulate
from typing import TYPE_CHECKING, NamedTuple

from tokcli.engine.encoding import Encoding
from tokcli.engine.pretokenizers.pretokenizer import PreTokenizer
from tokcli.engine.stream.chunks import Chunk, placed
from tokcli.errors import InputError

if TYPE_CHECKING:
    import regex

KEPT_PIECES = 1 << 16  # pieces whose alternatives are kept for a pattern
KEPT_BYTES = 64  # longer pieces are not kept
AHEAD = 4  # bytes of the next piece that white space looks at: a character, or three digits
_FOLLOWING = 64  # pieces of text that a match of white space may look at

Kept = dict["bytes | tuple[bytes, bytes]", str]  # a piece, or white space and the next bytes -> the alternative


def names_of(pattern: PreTokenizer, text: str, pieces: Sequence[bytes]) -> list[str] | None:
    r"""Return the name of the alternative that made each piece; None if these are not the pieces of a known pattern.

    >>> from tokcli.engine.pretokenizers.known_patterns import GPT2
    >>> names_of(PreTokenizer(GPT2), "it's  7", [b"it", b"'s", b" ", b" 7"])
    ['a8', 'a1', 'a11', 'a9']
    """
    named = pattern.named_for(text) if pattern.is_known else None
    if named is None:
        return None
    kept: Kept = pattern.kept_alternatives
    if len(kept) >= KEPT_PIECES:
        kept.clear()
    found: dict[bytes, str] = {}
    for piece in dict.fromkeys(pieces):
        name = kept.get(piece)
        if name is None:
            shown = piece.decode()
            match = named.match(shown)
            if shown.isspace():
                name = ""
            elif match is None or match.end() != len(shown):
                return None
            else:
                name = match.lastgroup or ""
            if len(piece) <= KEPT_BYTES:
                kept[piece] = name
        found[piece] = name
    names = [found[piece] for piece in pieces]
    for place in [place for place, name in enumerate(names) if not name]:
        ahead = pieces[place + 1][:AHEAD] if place + 1 < len(pieces) else b""
        name = kept.get((pieces[place], ahead))
        if name is None:
            name = _of_space(named, pieces[place : place + _FOLLOWING])
            if name is None:
                return None
            if len(pieces[place]) <= KEPT_BYTES:
                kept[pieces[place], ahead] = name
        names[place] = name
    return names


def _of_space(named: regex.Pattern[str], pieces: Sequence[bytes]) -> str | None:
    """Return the alternative of the first piece, which is white space; None if it would be cut elsewhere."""
    match = named.match(b"".join(pieces).decode())
    if match is None or match.end() != len(pieces[0].decode()):
        return None
    return match.lastgroup


UNKNOWN = "-"  # the alternative of a piece without one: a special token, or text not cut by a single pattern


class Piece(NamedTuple):
    """A piece: its offset in bytes, its bytes, and the name of the alternative that matched it, or UNKNOWN."""

    offset: int
    data: bytes
    alternative: str


class ChunkPieces:
    """The pieces of one chunk; their alternatives are found when they are first asked for."""

    def __init__(self, encoding: Encoding, pattern: PreTokenizer | None, chunk: Chunk) -> None:
        self.chunk = chunk
        self._tokenizer = encoding.tokenizer
        self.data = encoding.tokenizer.split_chunk(chunk)
        self._pattern = pattern
        self._counted = 0, 0  # the place asked for last, in bytes and in characters

    @cached_property
    def alternatives(self) -> list[str]:
        """The name of the alternative of each piece."""
        if self._pattern is None or self.chunk.special:
            return [UNKNOWN] * len(self.data)
        pattern = self._pattern
        if not self.chunk.tail:
            with suppress(ValueError):
                return self._by_native_code(pattern)
            if (known := names_of(pattern, self.chunk.text, self.data)) is not None:
                return known
        found = placed(lambda text: list(pattern.split_with_alternatives(text)), self.chunk)
        names = []
        whole = len(self.data) - bool(self.chunk.tail)  # the last piece ends in bytes that are not text
        for piece, (text, number) in zip(self.data[:whole], found, strict=False):
            if text.encode() != piece:
                break  # the pattern looked back beyond this chunk, or other parts cut, too
            names.append(f"a{number}" if number else UNKNOWN)
        return names + [UNKNOWN] * (len(self.data) - len(names))

    def _by_native_code(self, pattern: PreTokenizer) -> list[str]:
        ends = array("Q", accumulate(map(len, self.data))).tobytes()
        numbers = memoryview(pattern.numbers_of(self.encoded, ends)).cast("H").tolist()
        shown = [f"a{number}" for number in range(max(numbers, default=0) + 1)]
        return list(map(shown.__getitem__, numbers))

    def alternative_at(self, index: int, offset: int) -> str:
        """Return the name of the alternative of one piece, which begins at byte `offset` of the input."""
        size = len(self.data[index])
        at = offset - self.chunk.offset
        if self._pattern is None or self.chunk.special or at + size > len(self.encoded):
            return UNKNOWN
        start = self._characters_before(at)
        won = self._winner(start)
        if won is None or won[0] is None or len(self.chunk.text[start : won[1]].encode()) != size:
            return UNKNOWN  # the pattern looked back beyond this chunk, or other parts cut, too
        return f"a{won[0]}"

    @cached_property
    def encoded(self) -> bytes:
        """The text of the chunk as UTF-8."""
        return self.chunk.text.encode()

    def _characters_before(self, at: int) -> int:
        """Return the number of characters before byte `at`, counting on from the place that was asked for last."""
        byte, characters = self._counted if self._counted[0] <= at else (0, 0)
        self._counted = at, characters + len(self.encoded[byte:at].decode())
        return self._counted[1]

    @cached_property
    def _winner(self) -> Callable[[int], tuple[int | None, int] | None]:
        assert self._pattern is not None
        return placed(self._pattern.winners, self.chunk)

    @cached_property
    def placed_ids(self) -> list[list[int]] | None:
        """The ids of the tokens that begin in each piece, of a tokenizer that sees texts whole; None if pieces tell.

        A piece that is encoded by itself may have others, such as after the space that SentencePiece puts first.
        """
        if self._tokenizer.ranked is not None or self.chunk.special or self.chunk.tail or not self.data:
            return None
        with suppress(InputError):  # the places of the tokens are not known
            tokens = self._tokenizer.encode_spans(self.chunk)
            ends = list(accumulate(len(piece.decode()) for piece in self.data[:-1]))
            found: list[list[int]] = [[] for _ in self.data]
            for id, begin in zip(tokens.ids, (tokens.spans or ())[::2], strict=True):
                found[bisect_right(ends, begin)].append(id)
            return found
        return None

    def __len__(self) -> int:
        return len(self.data)

    def __iter__(self) -> Iterator[Piece]:
        at = self.chunk.offset
        for data, name in zip(self.data, self.alternatives, strict=True):
            yield Piece(at, data, name)
            at += len(data)

    def with_ids(self) -> Iterator[tuple[Piece, tuple[int, ...]]]:
        """Yield each piece with its ids."""
        if self.placed_ids is not None:
            yield from zip(self, map(tuple, self.placed_ids), strict=True)
            return
        known: list[int] = []  # the ids before the piece
        for number, piece in enumerate(self, 1):
            ids = []
            if self.chunk.special or (self.chunk.tail and number == len(self)):
                whole = self._tokenizer.encode_part(self.chunk).tolist()
                ids = whole[len(known) :] if whole[: len(known)] == known else []
            ids = ids or self._tokenizer.encode_piece(piece.data)
            known += ids if self.chunk.tail else ()
            yield piece, tuple(ids)
