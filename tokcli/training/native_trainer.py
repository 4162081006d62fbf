"""The native twin of trainer.py: the same merges, by native/train.cc, told of as they are made."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

from tokcli.engine import backend
from tokcli.engine.native_encoder import UNNAMED
from tokcli.training.corpus import BYTES
from tokcli.training.counts import PieceTable

if TYPE_CHECKING:
    from tokcli.training.counting import Counted
    from tokcli.training.trainer import OnMerge, Ties

SLICE_MS = 50  # of merging between two looks at signals and at who wants to know
LISTS_SHARE = 4  # of the memory that is allowed, for lists: the rest holds pieces
MAX_VOCABULARY = 1 << 30  # no memory holds so many


def train_natively(
    counted: Counted,
    vocab_size: int,
    *,
    min_frequency: int = 1,
    max_token_bytes: int | None = None,
    tokens: Sequence[bytes] = BYTES,
    ties: Ties = "rank",
    on_merge: OnMerge | None = None,
) -> dict[bytes, int] | None:
    """As `trainer.train_ranks`; None where there is no native backend, or the counts are too large for it."""
    native = backend.native()
    if native is None or isinstance(counted.table, PieceTable):
        return None
    made = list(tokens)
    vocab_size = min(vocab_size, MAX_VOCABULARY)
    trainer = native.Trainer(
        vocab_size,
        max(min_frequency, 1),
        max_token_bytes or 0,
        ties == "first",
        (counted.memory or 0) // LISTS_SHARE,
        array("I", map(len, made)),
        array("I", map({token: rank for rank, token in enumerate(made)}.__getitem__, BYTES)),
    )
    try:
        _fill(trainer, counted, made, in_order=ties == "first")
        may_go_on = True
        while may_go_on:
            rows, may_go_on = trainer.run(SLICE_MS, vocab_size)
            _tell(memoryview(rows).cast("Q"), made, len(tokens), on_merge)
    except OverflowError:
        return None
    return {token: rank for rank, token in enumerate(made)}


def _tell(rows: memoryview, made: list[bytes], first: int, on_merge: OnMerge | None) -> None:
    """Makes tokens of merges: rows of left, right and count."""
    for at in range(0, len(rows), 3):
        left, right = made[rows[at]], made[rows[at + 1]]
        made.append(left + right)
        if on_merge is not None:
            on_merge(len(made) - 1 - first, left, right, made[-1], rows[at + 2])


def _fill(trainer: Any, counted: Counted, tokens: list[bytes], *, in_order: bool) -> None:
    if len(tokens) > len(BYTES):
        encode = _encoder(tokens)
        for piece, count in counted.items():
            trainer.add(array("I", encode(piece)), count)
    elif counted.runs:
        for block in counted.blocks():
            trainer.add_block(block)
    else:
        trainer.add_table(counted.table, in_order)
        trainer.run(0, 0)  # OverflowError, while the table is still there for others
        counted.table.clear()  # the trainer has its own


def _encoder(tokens: Iterable[bytes]) -> Callable[[bytes], list[int]]:
    """What gives the ids of a piece in a vocabulary whose ids are the places of its tokens."""
    native = backend.native()
    assert native is not None
    sizes, ids, blob = array("I"), array("I"), bytearray()
    for number, token in enumerate(tokens):
        sizes.append(len(token))
        ids.append(number)
        blob += token
    encode: Callable[[bytes], list[int]] = native.Vocabulary(
        native.build_image(bytes(blob), sizes, ids, UNNAMED)
    ).encode_piece
    return encode
