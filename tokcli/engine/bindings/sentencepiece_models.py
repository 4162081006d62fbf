"""Builds the native twins of SentencePiece models from their pieces and their normalizer."""

from __future__ import annotations

from array import array
from typing import TYPE_CHECKING

from tokcli.engine.base.arguments import NO_ID
from tokcli.engine.bpe.byte_alphabet import VISIBLE_SPACE
from tokcli.engine.native_models import text_model as native
from tokcli.engine.native_models.cut_text import CutText
from tokcli.engine.native_models.text_model import NativeText
from tokcli.engine.sentencepiece.model import SentencePiece
from tokcli.engine.sentencepiece.normalizer import SpmNormalizer
from tokcli.engine.spec.spec import TokenizerSpec

if TYPE_CHECKING:
    from tokcli.engine import _native


def rules_of_sentencepiece(spec: TokenizerSpec) -> SentencePiece:
    """Return the rules of a model, with the builder of their twin."""
    return SentencePiece(spec, twin_of_sentencepiece)


def twin_of_sentencepiece(rules: SentencePiece) -> NativeText | None:
    """Build the twin of a model; there is none if unused pieces are taken apart again, or scores are not finite."""
    model, tables = rules.model, rules.tables
    if model.type == "bpe" and any(len(text) > 1 for text in tables.unused):
        return None
    ids = {text: id for text, id in tables.ids.items() if text not in tables.unused}
    made = native.model_of(ids)
    by_bytes = [tables.byte_ids.get(byte, NO_ID) for byte in range(256)] if model.byte_fallback else []
    unknown = tables.unknown_id if tables.unknown_id >= 0 else NO_ID
    made.set_unknown(unknown, array("I", by_bytes), not model.byte_fallback)
    made.set_kept([text.encode() for text in tables.kept])
    if model.type == "bpe":
        scores = [model.pieces[id - model.first_id].score for id in ids.values()]
        made.use_pieces(native.orders_of(scores), bytes(text in tables.kept for text in ids))
    elif model.type == "unigram":
        if not native.are_finite([*tables.path_scores.values(), tables.unknown_score]):
            return None
        scores = [tables.path_scores[text] for text in ids]
        made.use_unigram(array("d", scores), tables.unknown_score, native.SUMS_32)
    else:
        made.use_whole(model.type == "char")
    words = {"word": native.AT_SPACES, "char": native.WHOLE}.get(model.type, native.WHERE_POSSIBLE)
    made.set_words(words, VISIBLE_SPACE.encode(), False)
    _set_spaces(made, rules.normalizer)
    twin = NativeText(made)
    return CutText(twin, rules.cuts) if rules.spec.added else twin


def _set_spaces(made: _native.TextModel, normalizer: SpmNormalizer) -> None:
    charsmap, settings = normalizer.charsmap, normalizer.settings
    made.set_spaces(
        charsmap.units,
        charsmap.texts,
        settings.add_dummy_prefix,
        settings.remove_extra_whitespaces,
        settings.whitespace_as_suffix,
        False,
        (VISIBLE_SPACE if settings.escape_whitespaces else " ").encode(),
    )
