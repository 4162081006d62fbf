"""The trainer on tensors (extra `torch`), for a CPU or a GPU: the same merges as trainer.py.

The idea is minbpe-pytorch's: all ids stand in one tensor, and a merge is found and made by comparing it with itself
moved by one. Here pieces are weighted by their counts, and counts of pairs are kept instead of being made anew.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import import_module
from itertools import chain
from typing import TYPE_CHECKING, Any

from tokcli.engine.bpe import encode_piece
from tokcli.errors import InputError, TokcliError
from tokcli.training.corpus import BYTES
from tokcli.training.trainer import check_size

if TYPE_CHECKING:
    from tokcli.training.trainer import OnMerge

END = -1  # stands between pieces, and before and behind all of them
MAX_TOTAL = 1 << 62  # of all counts times sizes: sums have to fit a signed word
PACK_EVERY = 256  # merges, after which pieces that have become one token are dropped


def train_on_device(
    piece_counts: Mapping[bytes, int],
    vocab_size: int,
    device: str,
    *,
    min_frequency: int = 1,
    max_token_bytes: int | None = None,
    tokens: Sequence[bytes] = BYTES,
    ties: str = "rank",
    on_merge: OnMerge | None = None,
) -> dict[bytes, int]:
    """As `trainer.train_ranks`, on a device that torch knows; TokcliError where there is no torch or no such device."""
    torch = _torch(device)
    check_size(vocab_size, tokens)
    if ties != "rank":
        raise InputError("--device goes with --ties rank")
    if sum(len(piece) * count for piece, count in piece_counts.items()) > MAX_TOTAL:
        raise InputError("the counts are too large for tensors: more than 2**62 in all", "Leave out --device.")
    made = list(tokens)
    vocab_size = min(vocab_size, len(made) + sum(map(len, piece_counts)))  # each merge takes a part away
    pairs = _Pairs(torch, device, piece_counts, made, vocab_size, max_token_bytes)
    while len(made) < vocab_size:
        left, right, count = pairs.most_frequent()
        if count < max(min_frequency, 1):
            break
        made.append(made[left] + made[right])
        pairs.merge(left, right, len(made[-1]))
        if on_merge is not None:
            on_merge(len(made) - 1 - len(tokens), made[left], made[right], made[-1], count)
    return {token: rank for rank, token in enumerate(made)}


def _torch(device: str) -> Any:
    try:
        torch: Any = import_module("torch")
    except ImportError:
        raise TokcliError("--device needs torch, which is not installed", "pip install 'tokcli[torch]'") from None
    if device == "cuda" and not torch.cuda.is_available():
        raise TokcliError("--device cuda: torch finds no such device here", "Use --device cpu.")
    return torch


class _Pairs:
    """The ids of all pieces, and the pairs of neighbours with their counts.

    A pair is known by a key that begins with the younger of its tokens. All pairs of a token come with the merge that
    makes it, so keys are only ever appended, in ascending order, and are found by binary search.
    """

    def __init__(
        self,
        torch: Any,
        device: str,
        piece_counts: Mapping[bytes, int],
        tokens: list[bytes],
        vocab_size: int,
        max_token_bytes: int | None,
    ) -> None:
        self._torch = torch
        self._size = vocab_size
        self._longest = max_token_bytes
        self._count = len(tokens)
        ranks = {token: rank for rank, token in enumerate(tokens)}
        rows = [(encode_piece(ranks, piece), count) for piece, count in piece_counts.items() if piece and count]
        ids = list(chain([END], *([*row, END] for row, _ in rows), [END]))
        weights = list(chain([0], *([count] * (len(row) + 1) for row, count in rows), [0]))
        self._ids = torch.tensor(ids, dtype=torch.int64, device=device)
        self._weights = torch.tensor(weights, dtype=torch.int64, device=device)
        self._lengths = torch.zeros(vocab_size, dtype=torch.int64, device=device)
        self._lengths[: len(tokens)] = torch.tensor([len(token) for token in tokens], dtype=torch.int64, device=device)
        empty = torch.empty(0, dtype=torch.int64, device=device)
        self._keys, self._left, self._right, self._counts = empty, empty, empty, empty
        self._used = 0
        left, right = self._ids[:-1], self._ids[1:]
        here = (left != END) & (right != END)
        self._append(left[here], right[here], self._weights[:-1][here])

    def most_frequent(self) -> tuple[int, int, int]:
        """The pair to merge and its count; of equals the smallest ids. The count is 0 where no pair is left."""
        counts = self._counts[: self._used]
        if not self._used:
            return 0, 0, 0
        most = counts.max()
        equals = (counts == most).nonzero().flatten()
        order = self._left[equals] * self._size + self._right[equals]
        key, count = order.min().item(), most.item()
        return key // self._size, key % self._size, count

    def merge(self, left: int, right: int, length: int) -> None:
        """Makes the next token of a pair, everywhere."""
        torch, ids, made = self._torch, self._ids, self._count
        hit = (ids[:-1] == left) & (ids[1:] == right)
        at = hit.nonzero().flatten()
        if left == right:
            at = self._without_overlaps(at)
        weight = self._weights[at]
        before, behind = ids[at - 1], ids[at + 2]
        follows = torch.zeros_like(at, dtype=torch.bool)  # directly behind another that is merged
        follows[1:] = at[1:] == at[:-1] + 2
        is_followed = follows.roll(-1)
        if len(at):
            is_followed[-1] = False
        has_before = (before != END) & ~follows
        has_behind = behind != END
        lefts, rights = torch.full_like(at, left), torch.full_like(at, right)
        new = torch.full_like(at, made)
        self._lose(before[has_before], lefts[has_before], weight[has_before])
        self._lose(rights[has_behind], behind[has_behind], weight[has_behind])
        self._forget(left, right)
        next_id = torch.where(is_followed, new, behind)
        self._count += 1
        self._lengths[made] = length
        self._append(
            torch.cat([before[has_before], new[has_behind]]),
            torch.cat([new[has_before], next_id[has_behind]]),
            torch.cat([weight[has_before], weight[has_behind]]),
        )
        ids[at] = made
        stays = torch.ones_like(ids, dtype=torch.bool)
        stays[at + 1] = False
        if self._count % PACK_EVERY == 0:
            stays &= self._is_wanted(stays)
        self._ids, self._weights = ids[stays], self._weights[stays]

    def _without_overlaps(self, at: Any) -> Any:
        """Of a run of equal tokens the first pair, the third, and so on: "aaa" is "aa" "a"."""
        torch = self._torch
        if not len(at):
            return at
        number = torch.arange(len(at), device=at.device)
        begins = torch.ones_like(at, dtype=torch.bool)
        begins[1:] = at[1:] != at[:-1] + 1
        first = torch.cummax(torch.where(begins, number, 0), 0).values
        return at[(number - first) % 2 == 0]

    def _is_wanted(self, stays: Any) -> Any:
        """False for pieces of one token (and the end behind each): they have no pairs any more."""
        torch = self._torch
        where = stays.nonzero().flatten()
        ids = self._ids[where]
        alone = torch.zeros_like(ids, dtype=torch.bool)
        alone[1:-1] = (ids[1:-1] != END) & (ids[:-2] == END) & (ids[2:] == END)
        alone[1:] |= alone[:-1].clone()  # and the end behind it
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
            for name in ("_keys", "_left", "_right", "_counts"):
                setattr(self, name, torch.cat([getattr(self, name)[: self._used], room]))
        for table, more in ((self._keys, keys), (self._left, lefts), (self._right, rights), (self._counts, counts)):
            table[self._used : end] = more
        self._used = end

    def _find(self, keys: Any) -> tuple[Any, Any]:
        """Where keys stand, and whether they do (pairs whose token would be too long do not)."""
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
