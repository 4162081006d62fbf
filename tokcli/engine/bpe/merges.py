"""`ParentTable`: the two ids that merge into each id of a vocabulary, looked up by id or by parent, or listed in order.

Each model finds these pairs by its own rules (`parents` of a tokenizer); trees are left to `analysis/merge_tree.py`.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

from tokcli.engine.base.arguments import NO_ID
from tokcli.errors import VocabularyError

MAX_IDS = 1 << 24  # a table takes 8 bytes for each id; vocabularies in use have some 260,000


class ParentTable(NamedTuple):
    """The left and the right parent of each id (uint32); NO_ID in both where no two ids merge into it."""

    left: array[int]
    right: array[int]

    def of(self, id: int) -> tuple[int, int] | None:
        """Return the two ids that merge into an id; None where none do."""
        if not 0 <= id < len(self.left) or self.left[id] == NO_ID:
            return None
        return self.left[id], self.right[id]

    def children(self, id: int) -> list[int]:
        """Return the ids that an id is a parent of, in ascending order.

        >>> ParentTable(array("I", [NO_ID, 0, 0]), array("I", [NO_ID, 0, 1])).children(0)
        [1, 2]
        """
        return [made for made, pair in enumerate(zip(self.left, self.right, strict=True)) if id in pair]

    def total(self) -> int:
        """Return the number of merges."""
        return len(self.left) - self.left.count(NO_ID)

    def in_columns(self) -> tuple[list[int], list[int], list[int]]:
        """Return three lists, ordered by the ids made: these ids, their left and their right parents.

        >>> ParentTable(array("I", [NO_ID, 0, 0]), array("I", [NO_ID, 0, 1])).in_columns()
        ([1, 2], [0, 0], [0, 1])
        """
        left, right = self.left.tolist(), self.right.tolist()
        made = [id for id, parent in enumerate(left) if parent != NO_ID]
        return made, [left[id] for id in made], [right[id] for id in made]

    def in_order(self) -> Iterator[tuple[int, int, int]]:
        """Yield (id made, left, right) of every merge, ordered by the ids made."""
        return zip(*self.in_columns(), strict=True)


def check_size(ids: int) -> None:
    """Raise VocabularyError where a table of so many ids would take too much memory."""
    if ids > MAX_IDS:
        raise VocabularyError(f"ids up to {ids - 1} are too far apart for a table of merges")


def one_by_one(ids: int, known: Iterable[int], parents_of: Callable[[int], tuple[int, int] | None]) -> ParentTable:
    """Return the table of `ids` ids: `parents_of` gives the parents of those in `known`, the others have none."""
    check_size(ids)
    empty = array("I", [NO_ID])
    left, right = empty * ids, empty * ids
    for id in known:
        if (pair := parents_of(id)) is not None:
            left[id], right[id] = pair
    return ParentTable(left, right)


def for_ids(merges: ParentTable, ids: int) -> ParentTable:
    """Return a table cut or padded to `ids` ids."""
    check_size(ids)
    missing = array("I", [NO_ID]) * max(ids - len(merges.left), 0)
    return ParentTable((merges.left + missing)[:ids], (merges.right + missing)[:ids])
