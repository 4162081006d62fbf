"""Native models of merges of tokens that are texts: those of tokenizer.json files and of GGUF files."""

from __future__ import annotations

import sys
from array import array
from collections.abc import Mapping
from typing import TYPE_CHECKING

from tokcli.engine.base.arguments import NO_ID
from tokcli.engine.bpe.byte_alphabet import VISIBLE_SPACE, byte_token
from tokcli.engine.bpe.pairs import in_order
from tokcli.engine.native_models import text_model as native
from tokcli.engine.spec.models import Pairs

if TYPE_CHECKING:
    from tokcli.engine import _native


def pair_model(model: Pairs, whole_first: int) -> _native.TextModel:
    """Return the native model of merges; `whole_first` says which pieces become the token that they are."""
    ids = model.ids
    made = native.model_of(ids)
    by_bytes = byte_ids(ids) if model.byte_fallback else array("I")
    unknown = ids.get(model.unk_token or "", NO_ID)
    made.set_unknown(unknown, by_bytes, False)
    has_unknown = model.unk_token is not None
    listed = in_order(model.merges)
    lefts, rights, results = listed[::3], listed[1::3], listed[2::3]
    halves = array("I", bytes(8 * len(lefts)))  # of words of 64 bits, in which the left id is the high half
    is_little = sys.byteorder == "little"
    halves[::2], halves[1::2] = (rights, lefts) if is_little else (lefts, rights)
    made.use_pairs(
        memoryview(halves).cast("B").cast("Q") if halves else array("Q"),
        array("I", range(len(lefts))),
        results,
        has_unknown,
        model.fuse_unk,
        whole_first,
        model.prefix.encode(),
        model.suffix.encode(),
    )
    # A piece may be cut where no merge is possible: then the tokens of bytes and of unknown text must not merge.
    not_text = {id for id in by_bytes if id != NO_ID} | ({unknown} if has_unknown else set())
    is_cut = not (model.prefix or model.suffix) and not (not_text and not_text.intersection(halves))
    has_all_bytes = model.byte_fallback and NO_ID not in by_bytes
    is_cut &= has_unknown or has_all_bytes  # else unknown characters are dropped, and their neighbours merge
    # The last argument: unknown characters belong to what precedes them.
    made.set_words(
        native.WHERE_POSSIBLE if is_cut else native.WHOLE, VISIBLE_SPACE.encode(), has_unknown and not has_all_bytes
    )
    return made


def byte_ids(ids: Mapping[str, int]) -> array[int]:
    """Return the id of each byte's token, NO_ID for a byte without one."""
    return array("I", [ids.get(byte_token(byte), NO_ID) for byte in range(256)])
