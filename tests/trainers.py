"""The three trainers under test, each asked in one call; what they have in common is `learn_ranks`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from tokcli.training.corpus_counter import PieceCounts
from tokcli.training.piece_table import make_table
from tokcli.training.train import learn_ranks
from tokcli.training.trainer import BYTES, CountedPieces, OnMerge, TrainingRules


def train_ranks(
    counts: CountedPieces,
    vocab_size: int,
    *,
    tokens: Iterable[bytes] = BYTES,
    device: str | None = None,
    on_merge: OnMerge | None = None,
    **rules: Any,
) -> dict[bytes, int]:
    """Return what the readable trainer learns from a dict, the native one from what `counted` returns."""
    seed = {token: rank for rank, token in enumerate(tokens)}
    return learn_ranks(counts, TrainingRules(vocab_size, seed=seed, **rules), device=device, on_merge=on_merge)


def counted(some: Mapping[bytes, int], memory: int | None = None) -> PieceCounts:
    """Return counts as a corpus gives them."""
    table = make_table()
    for piece, count in some.items():
        table.add(piece, count)
    return PieceCounts(table, memory=memory)
