"""What the pages show, as columns: tokens and the merges that made them, and the sequences that texts became.

A page names a token by its place in the table of tokens, which goes by id. Where the data come from is left to others.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from tokcli.render.packed import Packer

Parents = Callable[[int], "tuple[int, int] | None"]


@dataclass(frozen=True)
class TokenTable:
    """Tokens by id, the two ids that merge into one, which are special, and scores where the model has some."""

    tokens: Mapping[int, bytes]
    parents: Parents
    special: Collection[int] = frozenset()
    scores: Mapping[int, float] = field(default_factory=dict)

    def pack(self, packer: Packer) -> dict[int, int]:
        """Adds the columns of the table; the place of each id."""
        ids = sorted(self.tokens)
        places = {number: place for place, number in enumerate(ids)}
        left, right = [0] * len(ids), [0] * len(ids)  # places and one; 0: nothing merges into it
        for place, number in enumerate(ids):
            pair = self.parents(number)
            if pair is not None and pair[0] in places and pair[1] in places:
                left[place], right[place] = places[pair[0]] + 1, places[pair[1]] + 1
        data = [self.tokens[number] for number in ids]
        packer.add_numbers("ids", ids)
        packer.add_numbers("lengths", map(len, data))
        packer.add_bytes("tokens", b"".join(data))
        packer.add_numbers("left", left)
        packer.add_numbers("right", right)
        packer.add_bytes("special", bytes(number in self.special for number in ids))
        if self.scores:
            packer.add_floats("scores", (self.scores.get(number, 0.0) for number in ids))
        return places


def with_ancestors(ids: Iterable[int], parents: Parents) -> dict[int, tuple[int, int] | None]:
    """Some ids and all that merged into them, each with its two parents.

    >>> with_ancestors([4], {4: (2, 0), 2: (0, 1)}.get)
    {4: (2, 0), 2: (0, 1), 0: None, 1: None}
    """
    found: dict[int, tuple[int, int] | None] = {}
    waiting = list(dict.fromkeys(ids))
    for number in waiting:  # it grows
        if number not in found:
            found[number] = pair = parents(number)
            waiting += pair or ()
    return found


def texts_of_tokens(
    packer: Packer, table: TokenTable, sequence: Iterable[int], spans: Sequence[tuple[int, int]] | None
) -> None:
    """Adds a table, the ids of all texts one after the other, and where they stand, in characters, where that is known.

    Without `spans` the bytes of the tokens are those of the texts.
    """
    places = table.pack(packer)
    packer.add_numbers("sequence", map(places.__getitem__, sequence))
    if spans is not None:
        packer.add_numbers("begins", [begin for begin, _ in spans])
        packer.add_numbers("ends", [end for _, end in spans])


def others_of_own_text(packer: Packer, places: Mapping[int, int], becomes: Mapping[int, Sequence[int]]) -> None:
    """Adds the tokens whose own text is encoded as others (id -> ids), how many those are, and which, all by place."""
    packer.add_numbers("odd", [places[number] for number in becomes])
    packer.add_numbers("oddCounts", map(len, becomes.values()))
    packer.add_numbers("oddTokens", [places[one] for ids in becomes.values() for one in ids])


class PieceColumns:
    """The pieces of texts: their bytes, the number of the alternative that made each (0: none), and their tokens."""

    def __init__(self) -> None:
        self.sequence: array[int] = array("I")
        self._pieces: list[bytes] = []
        self._alternatives: array[int] = array("I")
        self._counts: array[int] = array("I")

    def add(self, piece: bytes, alternative: str, tokens: Sequence[int]) -> None:
        """The next piece; `alternative` is a name such as a1, or -."""
        number = alternative.removeprefix("a")
        self._pieces.append(piece)
        self._alternatives.append(int(number) if number.isdecimal() else 0)
        self._counts.append(len(tokens))
        self.sequence.extend(tokens)

    def pack(self, packer: Packer, table: TokenTable) -> None:
        """Adds the table and all columns."""
        texts_of_tokens(packer, table, self.sequence, None)
        packer.add_numbers("pieces", map(len, self._pieces))
        packer.add_bytes("text", b"".join(self._pieces))
        packer.add_numbers("alternatives", self._alternatives)
        packer.add_numbers("counts", self._counts)
