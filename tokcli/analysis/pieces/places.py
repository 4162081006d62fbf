"""`find_place`: one place of a stream with its piece and the text beside it; the rest of the input is not kept."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from tokcli.analysis.pieces.pieces import ChunkPieces, Piece
from tokcli.engine.encoding import Encoding
from tokcli.engine.pretokenizers.pretokenizer import PreTokenizer
from tokcli.engine.stream.chunks import Chunk
from tokcli.errors import InputError


@dataclass(frozen=True)
class Place:
    """A place in the input, and the piece that holds it.

    `asked` is the byte that was asked for, and `offset` the first byte of its character; `line` and `column` count
    characters from 1. `piece` is the piece, `number` its index from 0. `text` is the text around the place: `text[at]`
    is its character and `text[piece_at]` the first one of the piece. `special` says that it is in a special token,
    `no_text` that it is among bytes that are not UTF-8.
    """

    asked: int
    offset: int
    line: int
    column: int
    number: int
    piece: Piece
    text: str
    at: int
    piece_at: int
    special: bool = False
    no_text: bool = False


def find_place(encoding: Encoding, pattern: PreTokenizer | None, chunks: Iterable[Chunk], asked: int) -> Place:
    """Return the place of byte `asked` of an input that comes as chunks; raise InputError if the input ends before."""
    before: Chunk | None = None
    number, line, column, end = 0, 1, 1, 0
    chunks = iter(chunks)
    for chunk in chunks:
        pieces = ChunkPieces(encoding, pattern, chunk)
        end = chunk.offset + sum(map(len, pieces.data))
        if asked < end:
            return _in_chunk(pieces, before, chunks, asked, (number, line, column))
        number += len(pieces.data)
        line, column = _moved(line, column, chunk.text)
        before = chunk
    if not end:
        raise InputError("the text is empty: it has no byte to explain", "Give another text.")
    raise InputError(f"byte {asked} is past the end of the text", f"Its {end} bytes are 0 to {end - 1}.")


def _in_chunk(
    pieces: ChunkPieces, before: Chunk | None, after: Iterator[Chunk], asked: int, counted: tuple[int, int, int]
) -> Place:
    chunk, (number, line, column) = pieces.chunk, counted
    encoded, inside = pieces.encoded, asked - chunk.offset
    no_text = inside >= len(encoded)
    # `encoded[: inside + 1]` may end inside a character, whose bytes are then replaced by one character
    at = len(chunk.text) if no_text else len(encoded[: inside + 1].decode("utf-8", "replace")) - 1
    at_bytes = inside if no_text else len(chunk.text[:at].encode())
    line, column = _moved(line, column, chunk.text[:at])
    begin, index = chunk.offset, 0
    while asked >= begin + len(pieces.data[index]):
        begin, index = begin + len(pieces.data[index]), index + 1
    number += index
    piece = Piece(begin, pieces.data[index], pieces.alternative_at(index, begin))
    piece_at = len(encoded[: piece.offset - chunk.offset].decode("utf-8", "replace"))
    left, right = _beside(chunk, before), _following(chunk, after)
    return Place(
        asked, chunk.offset + at_bytes, line, column, number, piece, left + chunk.text + right,
        len(left) + at, len(left) + piece_at, chunk.special, no_text,
    )  # fmt: skip


def _beside(chunk: Chunk, before: Chunk | None) -> str:
    """Return the text before a chunk, which a pattern can look back at."""
    if before is None or before.special or before.tail or chunk.special:
        return ""
    return before.text


def _following(chunk: Chunk, after: Iterator[Chunk]) -> str:
    """Return the text after a chunk, which a pattern can look ahead at."""
    if chunk.special or chunk.tail:
        return ""
    following = next(after, None)
    return "" if following is None or following.special else following.text


def _moved(line: int, column: int, text: str) -> tuple[int, int]:
    """Return the line and column after a text."""
    newlines = text.count("\n")
    return line + newlines, len(text) - text.rfind("\n") if newlines else column + len(text)
