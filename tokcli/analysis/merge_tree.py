"""How tokens are made by merging: the merge tree of one token, and the parents of many tokens."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from tokcli.engine.bpe.merges import MAX_IDS
from tokcli.engine.encoding import Encoding

MAX_TREE_NODES = 2000  # nodes of a tree that is shown; a token of 128 bytes has at most 255
FEW = 32  # the parents of fewer ids are looked up one by one


def parents_of_many(encoding: Encoding, many: int) -> Callable[[int], tuple[int, int] | None]:
    """Return a function from an id to its parents; it uses a table of all ids if that is faster for `many` ids."""
    tokenizer = encoding.tokenizer
    if many < FEW or not tokenizer.is_native or encoding.n_vocab > MAX_IDS:
        return tokenizer.parents
    return tokenizer.all_parents().of


@dataclass(frozen=True)
class MergeTree:
    """A token and the trees of its two parents, or none for a leaf; `is_cut` says that its parents were left out."""

    id: int
    token: bytes
    parts: tuple[MergeTree, ...] = ()
    is_cut: bool = False


def merge_tree(encoding: Encoding, id: int, limit: int = MAX_TREE_NODES) -> MergeTree:
    """Return the tree of a token, down to tokens without parents; raise UnknownTokenError if there is no such id.

    The tree is cut off after `limit` tokens. There is no recursion: a token may result from 65,000 merges in a row.
    """
    token = encoding.decode_single_token_bytes
    order = [id]  # each before its parts
    parts: dict[int, tuple[int, int]] = {}  # index in `order` -> the indices of its two parts
    for at in range(limit):
        if at == len(order):
            break
        pair = encoding.tokenizer.parents(order[at])
        if pair is not None and max(map(len, map(token, pair))) < len(token(order[at])):
            parts[at] = len(order), len(order) + 1
            order += pair
    made: dict[int, MergeTree] = {}
    for at in reversed(range(len(order))):
        below = tuple(made.pop(part) for part in parts.get(at, ()))
        made[at] = MergeTree(
            order[at], token(order[at]), below, at >= limit and encoding.tokenizer.parents(order[at]) is not None
        )
    return made[0]
