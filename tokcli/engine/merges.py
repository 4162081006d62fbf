"""The merges of a vocabulary: which two tokens became each token, as tables by id, as trees, and in order.

How a model merges is its own business (`parents_of` of an encoding); here is what can be asked of the answers.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from tokcli.errors import VocabularyError

if TYPE_CHECKING:
    from tokcli.engine.encoding import Encoding

NO_PARENT = 2**32 - 1
MAX_IDS = 1 << 24  # of a table by id, which takes 8 bytes for each; files of others have some 260,000
FEW = 32  # ids whose parents are asked for one by one


class Merges(NamedTuple):
    """By id, the two ids that merge into it (uint32); NO_PARENT in both where none do."""

    left: array[int]
    right: array[int]

    def of(self, number: int) -> tuple[int, int] | None:
        """The two ids that merge into one."""
        if not 0 <= number < len(self.left) or self.left[number] == NO_PARENT:
            return None
        return self.left[number], self.right[number]

    def children(self, number: int) -> list[int]:
        """The ids that an id is one of the two parts of, in order.

        >>> Merges(array("I", [NO_PARENT, 0, 0]), array("I", [NO_PARENT, 0, 1])).children(0)
        [1, 2]
        """
        return [made for made, pair in enumerate(zip(self.left, self.right, strict=True)) if number in pair]

    def total(self) -> int:
        """How many merges there are."""
        return len(self.left) - self.left.count(NO_PARENT)

    def in_columns(self) -> tuple[list[int], list[int], list[int]]:
        """The id made, the left and the right part of every merge, by id.

        >>> Merges(array("I", [NO_PARENT, 0, 0]), array("I", [NO_PARENT, 0, 1])).in_columns()
        ([1, 2], [0, 0], [0, 1])
        """
        left, right = self.left.tolist(), self.right.tolist()
        made = [number for number, parent in enumerate(left) if parent != NO_PARENT]
        return made, [left[number] for number in made], [right[number] for number in made]

    def in_order(self) -> Iterator[tuple[int, int, int]]:
        """(id made, left, right) of every merge, by id."""
        return zip(*self.in_columns(), strict=True)


def merges_of(encoding: Encoding) -> Merges:
    """The merges of an encoding of any kind; none where its model does not merge (Unigram, words).

    VocabularyError where ids are too large for a table.
    """
    return encoding.all_parents()


def parents_of_many(encoding: Encoding, many: int) -> Callable[[int], tuple[int, int] | None]:
    """What says of an id which two merge into it: from a table of all, where that takes less time for so many."""
    if many < FEW or not encoding.is_native or encoding.n_vocab > MAX_IDS:
        return encoding.parents_of
    return merges_of(encoding).of


def check_size(ids: int) -> None:
    """VocabularyError where a table by id would take too much memory."""
    if ids > MAX_IDS:
        raise VocabularyError(f"ids up to {ids - 1} are too far apart for a table of merges")


def one_by_one(ids: int, known: Iterable[int], parents_of: Callable[[int], tuple[int, int] | None]) -> Merges:
    """The merges of the known ids below `ids`, asked for one after the other."""
    check_size(ids)
    empty = array("I", [NO_PARENT])
    left, right = empty * ids, empty * ids
    for number in known:
        if (pair := parents_of(number)) is not None:
            left[number], right[number] = pair
    return Merges(left, right)


def for_ids(merges: Merges, ids: int) -> Merges:
    """The same table, of so many ids."""
    check_size(ids)
    missing = array("I", [NO_PARENT]) * max(ids - len(merges.left), 0)
    return Merges((merges.left + missing)[:ids], (merges.right + missing)[:ids])


@dataclass(frozen=True)
class MergeTree:
    """A token and the two trees it was merged from (none for a leaf); `is_cut`: there is more below."""

    id: int
    token: bytes
    parts: tuple[MergeTree, ...] = ()
    is_cut: bool = False


MAX_TREE_NODES = 2000  # of a tree that is shown; a token of 128 bytes has at most 255


def merge_tree(encoding: Encoding, number: int, limit: int = MAX_TREE_NODES) -> MergeTree:
    """How a token came to be, down to what nothing merges into; UnknownTokenError for an id that there is not.

    Above `limit` tokens the tree is cut. There is no recursion: a token may come of 65,000 merges in a row.
    """
    token = encoding.decode_single_token_bytes
    order = [number]  # each before its parts
    parts: dict[int, tuple[int, int]] = {}  # by place in `order`, the places of the two
    for at in range(limit):
        if at == len(order):
            break
        pair = encoding.parents_of(order[at])
        if pair is not None and max(map(len, map(token, pair))) < len(token(order[at])):
            parts[at] = len(order), len(order) + 1
            order += pair
    made: dict[int, MergeTree] = {}
    for at in reversed(range(len(order))):
        below = tuple(made.pop(part) for part in parts.get(at, ()))
        made[at] = MergeTree(
            order[at], token(order[at]), below, at >= limit and encoding.parents_of(order[at]) is not None
        )
    return made[0]
