"""Writes small models of SentencePiece, with what no training gives them: see sentencepiece_model.proto."""

from __future__ import annotations

import struct
from typing import Any

from protobuf import field

from tokcli.engine.spec.decoders import SentencePieceDecoder
from tokcli.engine.spec.models import SentencePieceModel, SpmPiece
from tokcli.engine.spec.normalizers import SentencePieceNormalizer
from tokcli.engine.spec.spec import TokenizerSpec

NORMAL, UNKNOWN, USER_DEFINED = 1, 2, 4
UNIGRAM, BPE, WORD, CHAR = 1, 2, 3, 4
HAS_VALUE = 1 << 8  # of the unit at which a rule ends
Pieces = list[tuple[bytes, int]]


def spec_of(pieces: list[SpmPiece], kind: Any, byte_fallback: bool = False, **settings: Any) -> TokenizerSpec:
    """The spec of a model of these pieces, with the settings of its normalizer."""
    model, steps = SentencePieceModel(pieces, kind, byte_fallback), (SentencePieceNormalizer(**settings),)
    return TokenizerSpec(model, normalizer=steps, decoder=SentencePieceDecoder())


def model_file(pieces: Pieces, model_type: int, charsmap: bytes = b"", scores: tuple[float, ...] = ()) -> bytes:
    """A model without a dummy prefix; `pieces` are texts and their types, which come after <unk>; scores are -1."""
    data = b""
    for at, (text, kind) in enumerate([(b"<unk>", UNKNOWN), *pieces]):
        score = scores[at - 1] if at and scores else -1.0
        data += field(1, field(1, text) + b"\x15" + struct.pack("<f", score) + b"\x18" + bytes([kind]))
    data += field(2, b"\x18" + bytes([model_type]))
    return data + field(3, (field(2, charsmap) if charsmap else b"") + b"\x18\0")


def charsmap_of(units: dict[int, int], texts: bytes = b"x\0") -> bytes:
    """A charsmap of 256 units; those that are not given are 0."""
    table = [units.get(at, 0) for at in range(256)]
    return struct.pack("<I", 1024) + struct.pack("<256I", *table) + texts


def rule_for(text: bytes) -> dict[int, int]:
    """The units of one rule, which replaces `text` by the first text of the charsmap."""
    units, bases, at = {0: 1 << 10}, {1}, 1 ^ text[0]
    for byte, after in zip(text, [*text[1:], 0], strict=True):
        # its children are at its base with their bytes; a value is at that of 0
        base = next(
            base for base in range(2, 256) if base not in bases and {0, at, *units}.isdisjoint({base, base ^ after})
        )
        units[at] = byte | (at ^ base) << 10 | (0 if after else HAS_VALUE)
        bases.add(base)
        at = base ^ after
    return units | {at: 1 << 31}
