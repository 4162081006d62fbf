"""One place of a stream: the text around it and the piece that holds it, without the rest of the input in memory."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from tokcli.engine.encoding import Encoding
from tokcli.engine.pieces import ChunkPieces, Piece
from tokcli.engine.pretokenizer import PreTokenizer
from tokcli.engine.stream import Chunk
from tokcli.errors import InputError


@dataclass(frozen=True)
class Place:
    """A place of the input.

    `offset` is where the character begins, in bytes, and `asked` the byte that was asked for; `line` and `column`
    count from 1, in characters. `piece` holds it and is number `number`. `text` is what stands around it, and
    `text[at]` the character; `text[piece_at]` is the first of the piece. `special` where it is a special token, and
    `no_text` where it is of bytes that are not UTF-8.
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
    """The place of a byte of the input that comes as chunks; InputError where it ends before."""
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
    raise InputError(f"byte {asked} is behind the end of the text", f"Its {end} bytes are 0 to {end - 1}.")


def _in_chunk(
    pieces: ChunkPieces, before: Chunk | None, after: Iterator[Chunk], asked: int, counted: tuple[int, int, int]
) -> Place:
    chunk, (number, line, column) = pieces.chunk, counted
    inside = asked - chunk.offset
    head = chunk.text.encode()[: inside + 1]
    no_text = inside >= len(chunk.text.encode())
    at = len(chunk.text) if no_text else len(head.decode("utf-8", "ignore")) - (not _ends_inside(head))
    at_bytes = inside if no_text else len(chunk.text[:at].encode())
    line, column = _moved(line, column, chunk.text[:at])
    begin, index = chunk.offset, 0
    while asked >= begin + len(pieces.data[index]):
        begin, index = begin + len(pieces.data[index]), index + 1
    number += index
    piece = Piece(begin, pieces.data[index], pieces.alternative_at(index, begin))
    piece_at = len(chunk.text.encode()[: piece.offset - chunk.offset].decode("utf-8", "replace"))
    left, right = _beside(chunk, before), _behind(chunk, after)
    return Place(
        asked, chunk.offset + at_bytes, line, column, number, piece, left + chunk.text + right,
        len(left) + at, len(left) + piece_at, chunk.special, no_text,
    )  # fmt: skip


def _ends_inside(head: bytes) -> bool:
    """Whether bytes end inside a character."""
    try:
        head.decode()
    except UnicodeDecodeError:
        return True
    return False


def _beside(chunk: Chunk, before: Chunk | None) -> str:
    """The text that a pattern can look back at."""
    if before is None or before.special or before.tail or chunk.special:
        return ""
    return before.text


def _behind(chunk: Chunk, after: Iterator[Chunk]) -> str:
    """The text that a pattern can look ahead at."""
    if chunk.special or chunk.tail:
        return ""
    following = next(after, None)
    return "" if following is None or following.special else following.text


def _moved(line: int, column: int, text: str) -> tuple[int, int]:
    """The line and column behind a text."""
    newlines = text.count("\n")
    return line + newlines, len(text) - text.rfind("\n") if newlines else column + len(text)
