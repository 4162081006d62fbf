"""The data of the pages, as columns of numbers and bytes: tokens with their merges, and the sequences of texts.

Columns are deflated, and in base64, in which no HTML parser finds markup: a vocabulary of 200,000 tokens is 3 MB in
this form, which the page's own bytes.js unpacks. A page names a token by its index in the table of tokens, which is
sorted by id. Where the data come from is left to the commands.
"""

from __future__ import annotations

import base64
import sys
import zlib
from array import array
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple, TypeAlias

ColumnKind: TypeAlias = Literal["bytes", "numbers", "floats"]
_CODES = {"numbers": "I", "floats": "f"}  # type codes of the array module: 32 bits each
_RAW_DEFLATE = -15  # zlib's wbits for a stream without header, DecompressionStream's "deflate-raw"
_LEVEL = 6  # 9 makes o200k's page 1% smaller in three times the time


class PackedColumn(NamedTuple):
    """A column as the head of a page describes it: its name, its kind, and how many bytes or numbers it has."""

    name: str
    kind: ColumnKind
    size: int


class Packer:
    """A packer of columns, which are added one after the other and returned together as one text.

    >>> packer = Packer()
    >>> packer.add_numbers("ids", [1, 2, 3])
    >>> packer.columns
    [PackedColumn(name='ids', kind='numbers', size=3)]
    """

    def __init__(self) -> None:
        self.columns: list[PackedColumn] = []
        self.prefix = ""  # of the names of the columns that follow
        self._deflate = zlib.compressobj(_LEVEL, zlib.DEFLATED, _RAW_DEFLATE)
        self._made: list[bytes] = []

    def add_bytes(self, name: str, data: bytes) -> None:
        """Add a column of bytes."""
        self._add(PackedColumn(name, "bytes", len(data)), data)

    def add_numbers(self, name: str, values: Iterable[float], kind: Literal["numbers", "floats"] = "numbers") -> None:
        """Add a column of whole numbers from 0 to 2**32 - 1, or of floats, which are rounded to 32 bits."""
        items: array[float] = array(_CODES[kind], values)
        if sys.byteorder == "big":
            items.byteswap()
        data = items.tobytes()
        # all lowest bytes first, then the next ones: they resemble each other, and the page needs no byte order
        self._add(PackedColumn(name, kind, len(items)), b"".join(data[place::4] for place in range(4)))

    def _add(self, column: PackedColumn, data: bytes) -> None:
        self.columns.append(column._replace(name=self.prefix + column.name))
        self._made.append(self._deflate.compress(data))

    def finish(self) -> str:
        """Return all columns as base64; no column can be added after this."""
        return base64.b64encode(b"".join([*self._made, self._deflate.flush()])).decode()


ParentsOf: TypeAlias = Callable[[int], "tuple[int, int] | None"]  # an id -> the two ids that merge into it, or None


@dataclass(frozen=True)
class PageTokens:
    """The tokens of a page by id, the two ids that merge into each, the ids of special tokens, and scores by id.

    `scores` is empty if the model has none.
    """

    tokens: Mapping[int, bytes]
    parents: ParentsOf
    special: Collection[int] = frozenset()
    scores: Mapping[int, float] = field(default_factory=dict)

    def pack(self, packer: Packer) -> dict[int, int]:
        """Add the columns of the table, and return the index of each id in it."""
        ids = sorted(self.tokens)
        indexes = {id: index for index, id in enumerate(ids)}
        left, right = [0] * len(ids), [0] * len(ids)  # index + 1 of each parent; 0 for a token without parents
        for index, id in enumerate(ids):
            pair = self.parents(id)
            if pair is not None and pair[0] in indexes and pair[1] in indexes:
                left[index], right[index] = indexes[pair[0]] + 1, indexes[pair[1]] + 1
        data = [self.tokens[id] for id in ids]
        packer.add_numbers("ids", ids)
        packer.add_numbers("lengths", map(len, data))
        packer.add_bytes("tokens", b"".join(data))
        packer.add_numbers("left", left)
        packer.add_numbers("right", right)
        packer.add_bytes("special", bytes(id in self.special for id in ids))
        if self.scores:
            packer.add_numbers("scores", (self.scores.get(id, 0.0) for id in ids), "floats")
        return indexes


def with_ancestors(ids: Iterable[int], parents: ParentsOf) -> dict[int, tuple[int, int] | None]:
    """Return some ids, and all ids that were merged into them, each with its two parents or None.

    >>> with_ancestors([4], {4: (2, 0), 2: (0, 1)}.get)
    {4: (2, 0), 2: (0, 1), 0: None, 1: None}
    """
    found: dict[int, tuple[int, int] | None] = {}
    waiting = list(dict.fromkeys(ids))
    for id in waiting:  # the list grows while it is read
        if id not in found:
            found[id] = pair = parents(id)
            waiting += pair or ()
    return found


def add_texts(
    packer: Packer, table: PageTokens, sequence: Iterable[int], spans: Sequence[tuple[int, int]] | None
) -> None:
    """Add a table of tokens, and the ids of all texts one after the other, with their spans in characters.

    Without `spans`, the bytes of the tokens are those of the texts.
    """
    indexes = table.pack(packer)
    packer.add_numbers("sequence", map(indexes.__getitem__, sequence))
    if spans is not None:
        packer.add_numbers("begins", [begin for begin, _ in spans])
        packer.add_numbers("ends", [end for _, end in spans])


def add_reencoded(packer: Packer, indexes: Mapping[int, int], becomes: Mapping[int, Sequence[int]]) -> None:
    """Add the tokens whose own text is encoded as other tokens; `becomes` maps the id of each to those of the others.

    Three columns: the tokens, how many others each becomes, and those others; all by their `indexes` in the table.
    """
    packer.add_numbers("reencoded", [indexes[id] for id in becomes])
    packer.add_numbers("reencodedCounts", map(len, becomes.values()))
    packer.add_numbers("reencodedTokens", [indexes[one] for ids in becomes.values() for one in ids])


class PieceColumns:
    """The columns of the pieces of texts: their bytes, the number of their alternative (0: none), and their tokens."""

    def __init__(self) -> None:
        self.sequence: array[int] = array("I")
        self.pieces: list[bytes] = []
        self._alternatives: array[int] = array("I")
        self._counts: array[int] = array("I")
        self.size = 0  # in bytes

    def add(self, piece: bytes, alternative: str, tokens: Sequence[int]) -> None:
        """Add the next piece; `alternative` is a name such as a1, or -."""
        number = alternative.removeprefix("a")
        self.pieces.append(piece)
        self.size += len(piece)
        self._alternatives.append(int(number) if number.isdecimal() else 0)
        self._counts.append(len(tokens))
        self.sequence.extend(tokens)

    def pack(self, packer: Packer, table: PageTokens) -> None:
        """Add the table of tokens and all columns of the pieces."""
        add_texts(packer, table, self.sequence, None)
        packer.add_numbers("pieces", map(len, self.pieces))
        packer.add_bytes("text", b"".join(self.pieces))
        packer.add_numbers("alternatives", self._alternatives)
        packer.add_numbers("counts", self._counts)
