"""The native twin of reference_trainer.py: native/training/trainer.cc makes the same merges."""

from __future__ import annotations

from array import array
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from tokcli.engine import backend
from tokcli.engine.bpe.image import UNNAMED
from tokcli.training.corpus_counter import PieceCounts
from tokcli.training.trainer import BYTES, CountedPieces, Merges, PairsLeft, TrainingRules

if TYPE_CHECKING:
    from typing_extensions import Buffer

SLICE_MS = 50  # of merging between two checks for signals, and two reports of merges
LISTS_SHARE = 4  # lists get a quarter of the memory allowed; the rest is for pieces
MAX_VOCABULARY = 1 << 30  # no memory holds so many tokens


def native_merges(counts: CountedPieces, rules: TrainingRules) -> Merges | None:
    """Return the merges that `trainer.py` promises, made by native code.

    None means that the reference trainer has to make them: there is no native backend, `counts` are not in a native
    table, or one is too large for it.
    """
    native = backend.code()
    if not (backend.is_native() and isinstance(counts, PieceCounts) and isinstance(counts.table, native.PieceTable)):
        return None
    ranks = {token: rank for rank, token in enumerate(rules.tokens)}
    trainer = native.Trainer(
        min(rules.vocab_size, MAX_VOCABULARY),
        max(rules.min_frequency, 1),
        rules.max_token_bytes or 0,
        rules.ties == "first",
        (counts.memory or 0) // LISTS_SHARE,
        array("I", map(len, ranks)),
        array("I", map(ranks.__getitem__, BYTES)),
    )
    try:
        if len(ranks) > len(BYTES):
            encode = _encoder(native, rules.tokens)
            for piece, count in counts.items():
                trainer.add(encode(piece), count)
        elif counts.runs:
            for block in counts.blocks():
                trainer.add_block(block)
        else:
            trainer.add_table(counts.table, rules.ties == "first")
        trainer.run(0, 0)  # raises OverflowError while the counts are still there for the reference trainer
    except OverflowError:
        return None
    counts.table.clear()  # the trainer has its own
    return _run(trainer, rules.vocab_size - len(ranks))


def _run(trainer: Any, wanted: int) -> Merges:
    may_go_on = True
    while may_go_on:
        rows, may_go_on = trainer.run(SLICE_MS, MAX_VOCABULARY)
        row = memoryview(rows).cast("Q")
        wanted -= len(row) // 3
        numbers = iter(row)
        yield from zip(numbers, numbers, numbers, strict=True)
    return PairsLeft(*trainer.end()) if wanted else None


def _encoder(native: Any, tokens: list[bytes]) -> Callable[[bytes], Buffer]:
    """Return a function that encodes a piece (uint32); the id of a token is its index."""
    image = native.build_image(b"".join(tokens), array("I", map(len, tokens)), array("I", range(len(tokens))), UNNAMED)
    vocabulary = native.Vocabulary(image)

    def encode(piece: bytes) -> Buffer:
        ids: Buffer = vocabulary.encode_pieces(piece, array("Q", [len(piece)]))[0]
        return ids

    return encode
