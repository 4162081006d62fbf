"""The trainer on tensors (extra `torch`), for a CPU or a GPU: the same merges as reference_trainer.py.

The idea is minbpe-pytorch's: one tensor holds all ids, and a merge is found and made by comparing the tensor with
itself shifted by one. Here pieces are weighted by their counts, and counts of pairs are updated, not made anew.
"""

from __future__ import annotations

from itertools import chain
from typing import Any

from tokcli.engine.bpe.bpe import encode_piece
from tokcli.errors import InputError, TokcliError, not_loaded
from tokcli.training.trainer import CountedPieces, Merges, PairsLeft, TrainingRules

END = -1  # in the place of an id: between pieces, before the first and after the last
MAX_TOTAL = 1 << 62  # sum of all counts times sizes, which has to fit a signed word
INSTALL = "pip install 'tokcli[torch]'"
PACK_EVERY = 256  # merges, after which pieces that have become one token are dropped


def merges_on(device: str, counts: CountedPieces, rules: TrainingRules) -> Merges:
    """Yield the merges that `trainer.py` promises, made on a device that torch knows, such as "cpu" or "cuda".

    TokcliError where torch is not installed or finds no "cuda", InputError for ties="first" and counts beyond 2**62.
    """
    try:
        import torch
    except ImportError as error:
        why, hint = not_loaded(error, INSTALL)
        raise TokcliError(f"training on a device needs torch, {why}", hint) from None
    if device == "cuda" and not torch.cuda.is_available():
        raise TokcliError("torch finds no device 'cuda' here", "Use the device 'cpu'.")
    if rules.ties != "rank":
        raise InputError("training on a device needs ties='rank'")
    pieces = dict(counts.items())
    if sum(len(piece) * count for piece, count in pieces.items()) > MAX_TOTAL:
        raise InputError("the counts are too large for tensors: more than 2**62 in all", "Train without a device.")
    pairs = _Pairs(torch, device, pieces, rules)
    while pairs.is_room_left:
        left, right, count = pairs.most_frequent()
        if count < max(rules.min_frequency, 1):
            return pairs.left()
        yield left, right, count
        pairs.merge(left, right)
    return None if pairs.is_complete else pairs.left()


class _Pairs:
    """The ids of all pieces, and the pairs of neighbours with their counts.

    A key for each pair begins with the younger of its tokens. All pairs of a token appear with the merge that makes
    it, so keys are only ever appended, in ascending order, and are found by binary search.
    """

    def __init__(self, torch: Any, device: str, pieces: dict[bytes, int], rules: TrainingRules) -> None:
        self._torch = torch
        self._longest = rules.max_token_bytes
        self._count, self._wanted = len(rules.tokens), rules.vocab_size
        self._size = min(rules.vocab_size, self._count + sum(map(len, pieces)))  # each merge takes an id away
        ranks = {token: rank for rank, token in enumerate(rules.tokens)}
        rows = [(encode_piece(ranks, piece), count) for piece, count in pieces.items() if piece and count]
        ids = list(chain([END], *([*row, END] for row, _ in rows), [END]))
        weights = list(chain([0], *([count] * (len(row) + 1) for row, count in rows), [0]))
        self._ids = torch.tensor(ids, dtype=torch.int64, device=device)
        self._weights = torch.tensor(weights, dtype=torch.int64, device=device)
        self._lengths = torch.zeros(self._size, dtype=torch.int64, device=device)
        self._lengths[: self._count] = torch.tensor([*map(len, ranks)], dtype=torch.int64, device=device)
        empty = torch.empty(0, dtype=torch.int64, device=device)
        self._keys, self._left, self._right, self._counts = empty, empty, empty, empty
        self._used = 0
        left, right = self._ids[:-1], self._ids[1:]
        here = (left != END) & (right != END)
        self._append(left[here], right[here], self._weights[:-1][here])

    @property
    def is_room_left(self) -> bool:
        """Whether another token may be made."""
        return self._count < self._size

    @property
    def is_complete(self) -> bool:
        """Whether there are as many tokens as were asked for."""
        return self._count >= self._wanted

    def left(self) -> PairsLeft:
        """Return how often the most frequent pairs occur that are left, the too long ones too."""
        torch = self._torch
        left, right = self._ids[:-1], self._ids[1:]
        here = (left != END) & (right != END)
        keys, place = torch.unique(left[here] * self._size + right[here], return_inverse=True)
        counts = torch.zeros_like(keys).index_add_(0, place, self._weights[:-1][here])
        sizes = self._lengths[keys // self._size] + self._lengths[keys % self._size]
        is_long = torch.zeros_like(keys, dtype=torch.bool) if self._longest is None else sizes > self._longest
        most, most_too_long = (int(some.max()) if len(some) else 0 for some in (counts[~is_long], counts[is_long]))
        return PairsLeft(most, most_too_long)

    def most_frequent(self) -> tuple[int, int, int]:
        """Return the pair to merge (of equals, the one with the smallest ids) and its count, 0 if no pair is left."""
        counts = self._counts[: self._used]
        if not self._used:
            return 0, 0, 0
        most = counts.max()
        equals = (counts == most).nonzero().flatten()
        order = self._left[equals] * self._size + self._right[equals]
        key, count = order.min().item(), most.item()
        return key // self._size, key % self._size, count

    def merge(self, left: int, right: int) -> None:
        """Merge a pair everywhere into the next token."""
        torch, ids, made = self._torch, self._ids, self._count
        hit = (ids[:-1] == left) & (ids[1:] == right)
        at = hit.nonzero().flatten()
        if left == right:
            at = self._without_overlaps(at)
        weight = self._weights[at]
        before, after = ids[at - 1], ids[at + 2]
        follows = torch.zeros_like(at, dtype=torch.bool)  # right after another pair that is merged
        follows[1:] = at[1:] == at[:-1] + 2
        is_followed = follows.roll(-1)
        if len(at):
            is_followed[-1] = False
        has_before = (before != END) & ~follows
        has_after = after != END
        lefts, rights = torch.full_like(at, left), torch.full_like(at, right)
        new = torch.full_like(at, made)
        self._lose(before[has_before], lefts[has_before], weight[has_before])
        self._lose(rights[has_after], after[has_after], weight[has_after])
        self._forget(left, right)
        next_id = torch.where(is_followed, new, after)
        self._count += 1
        self._lengths[made] = self._lengths[left] + self._lengths[right]
        self._append(
            torch.cat([before[has_before], new[has_after]]),
            torch.cat([new[has_before], next_id[has_after]]),
            torch.cat([weight[has_before], weight[has_after]]),
        )
        ids[at] = made
        stays = torch.ones_like(ids, dtype=torch.bool)
        stays[at + 1] = False
        if self._count % PACK_EVERY == 0:
            stays &= self._is_wanted(stays)
        self._ids, self._weights = ids[stays], self._weights[stays]

    def _without_overlaps(self, at: Any) -> Any:
        """Return, of a run of equal tokens, the first pair, the third, and so on: "aaa" is "aa" "a"."""
        torch = self._torch
        if not len(at):
            return at
        number = torch.arange(len(at), device=at.device)
        begins = torch.ones_like(at, dtype=torch.bool)
        begins[1:] = at[1:] != at[:-1] + 1
        first = torch.cummax(torch.where(begins, number, 0), 0).values
        return at[(number - first) % 2 == 0]

    def _is_wanted(self, stays: Any) -> Any:
        """Return a mask that is False for pieces of one token, and for the END after each: they have no pairs left."""
        torch = self._torch
        where = stays.nonzero().flatten()
        ids = self._ids[where]
        alone = torch.zeros_like(ids, dtype=torch.bool)
        alone[1:-1] = (ids[1:-1] != END) & (ids[:-2] == END) & (ids[2:] == END)
        alone[1:] |= alone[:-1].clone()  # and the END after it
        wanted = torch.ones_like(stays)
        wanted[where] = ~alone
        return wanted

    def _key(self, left: Any, right: Any) -> Any:
        torch = self._torch
        is_left_older = left <= right
        younger = torch.where(is_left_older, right, left)
        other = torch.where(is_left_older, left, right + self._size)
        return younger * (2 * self._size) + other

    def _append(self, left: Any, right: Any, weight: Any) -> None:
        torch = self._torch
        if self._longest is not None:
            fits = self._lengths[left] + self._lengths[right] <= self._longest
            left, right, weight = left[fits], right[fits], weight[fits]
        if not len(left):
            return
        keys, place = torch.unique(self._key(left, right), return_inverse=True)
        counts = torch.zeros_like(keys).index_add_(0, place, weight)
        lefts = torch.empty_like(keys).scatter_(0, place, left)
        rights = torch.empty_like(keys).scatter_(0, place, right)
        end = self._used + len(keys)
        if end > len(self._keys):
            room = torch.empty(max(end, 4096), dtype=torch.int64, device=keys.device)
            self._keys, self._left, self._right, self._counts = (
                torch.cat([table[: self._used], room]) for table in (self._keys, self._left, self._right, self._counts)
            )
        for table, more in ((self._keys, keys), (self._left, lefts), (self._right, rights), (self._counts, counts)):
            table[self._used : end] = more
        self._used = end

    def _find(self, keys: Any) -> tuple[Any, Any]:
        """Return the index of each key, and whether it is there (pairs whose token would be too long are not)."""
        known = self._keys[: self._used]
        place = self._torch.searchsorted(known, keys).clamp_(max=max(self._used - 1, 0))
        return place, known[place] == keys

    def _lose(self, left: Any, right: Any, weight: Any) -> None:
        place, is_there = self._find(self._key(left, right))
        self._counts.index_add_(0, place[is_there], -weight[is_there])

    def _forget(self, left: int, right: int) -> None:
        torch = self._torch
        pair = torch.tensor([[left], [right]], dtype=torch.int64, device=self._ids.device)
        place, _ = self._find(self._key(pair[0], pair[1]))
        self._counts[place] = 0
