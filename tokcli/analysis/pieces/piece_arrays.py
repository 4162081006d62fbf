"""The pieces of a stream with their alternatives and ids: as arrays if native code finds them, else as objects."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from itertools import chain, islice, pairwise
from typing import TYPE_CHECKING

from tokcli.analysis.pieces.pieces import UNKNOWN, ChunkPieces, Piece
from tokcli.engine.encoding import Encoding
from tokcli.engine.stream.chunks import Chunk, ReadOptions
from tokcli.engine.stream.utf8 import SplitText

if TYPE_CHECKING:
    from typing_extensions import Buffer

    from tokcli.engine.stream.chunks import Blocks

PieceIds = tuple[Piece, tuple[int, ...]]


@dataclass(frozen=True)
class PieceArrays:
    """The pieces of a part of a stream: the text as UTF-8, which begins at byte `offset` of the input, and arrays.

    `ends` are the offsets in the text at which pieces end (uint64), `alternatives` the number of the alternative that
    made each piece (uint16, 0 for none), `ids` the ids of all pieces (uint32), and `counts` how many ids each piece has
    (uint32).
    """

    text: memoryview
    offset: int
    ends: bytes
    alternatives: bytes
    ids: Buffer
    counts: bytes

    def __len__(self) -> int:
        return len(self.counts) // 4

    def __getitem__(self, index: int) -> Piece:
        """Return the piece with the number `index`, from 0."""
        ends = memoryview(self.ends).cast("Q")
        begin, end = ends[index - 1] if index else 0, ends[index]
        return Piece(
            self.offset + begin, bytes(self.text[begin:end]), _name(memoryview(self.alternatives).cast("H")[index])
        )

    def with_ids(self) -> Iterator[PieceIds]:
        """Yield each piece with its ids."""
        ends, ids = memoryview(self.ends).cast("Q").tolist(), iter(memoryview(self.ids).cast("B").cast("I").tolist())
        numbers = memoryview(self.alternatives).cast("H").tolist()
        counts = memoryview(self.counts).cast("I").tolist()
        names = list(map(_name, range(max(numbers, default=0) + 1)))
        for (begin, end), number, count in zip(pairwise(chain([0], ends)), numbers, counts, strict=True):
            piece = Piece(self.offset + begin, bytes(self.text[begin:end]), names[number])
            yield piece, tuple(islice(ids, count))


def _name(number: int) -> str:
    return f"a{number}" if number else UNKNOWN


def read_pieces(encoding: Encoding, blocks: Blocks, options: ReadOptions) -> Iterator[PieceArrays | ChunkPieces]:
    """Yield the pieces of a stream, which comes as blocks of bytes, part by part."""
    tokenizer, at = encoding.tokenizer, 0
    # input that may not be UTF-8 is read as chunks: they know their offset in it, and keep invalid bytes apart
    read = tokenizer.read_split if options.errors == "strict" else tokenizer.read_chunks
    for part in read(blocks, options):
        if isinstance(part, Chunk):
            yield ChunkPieces(encoding, tokenizer.pretokenizer, part)
            at = part.offset + len(part.data)
            continue
        yield pieces_of(encoding, part, at)
        at += part.nbytes


def pieces_of(encoding: Encoding, part: SplitText, offset: int) -> PieceArrays | ChunkPieces:
    """Return the pieces of a part, which begins at byte `offset` of the input: as arrays, if native code finds them."""
    pattern = encoding.tokenizer.pretokenizer
    with suppress(ValueError):
        numbers = pattern.numbers_of(part.data, part.ends) if pattern else bytes(len(part.ends) // 4)
        if (found := encoding.tokenizer.encode_each(part)) is not None:
            return PieceArrays(part.data, offset, part.ends, numbers, *found)
    return ChunkPieces(encoding, pattern, Chunk(str(part.data, "utf-8"), offset, pieces=tuple(part.pieces)))
