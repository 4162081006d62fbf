"""Builds the native twins of SentencePiece models from their pieces and their normalizer."""

from __future__ import annotations

from array import array
from collections.abc import Callable
from typing import TYPE_CHECKING

from tokcli.engine.bpe.byte_alphabet import VISIBLE_SPACE
from tokcli.engine.native_models import text_model as native
from tokcli.engine.native_models.cut_text import CutText
from tokcli.engine.native_models.text_model import NativeText
from tokcli.engine.native_models.twins import register
from tokcli.engine.sentencepiece.model import SentencePiece
from tokcli.engine.sentencepiece.normalizer import SpmNormalizer
from tokcli.engine.sentencepiece.xlm_roberta import XlmRoberta

if TYPE_CHECKING:
    from tokcli.engine import _native


def twin_of_sentencepiece(model: SentencePiece) -> NativeText | None:
    """Build the twin of a model; return None where unused pieces are taken apart again, or scores are not finite."""
    return _twin_of(model, lambda number: number)


def twin_of_xlm_roberta(tokenizer: XlmRoberta) -> CutText | None:
    """Build the twin of XLM-RoBERTa's model, with its ids, which cuts special tokens out in Python; None as above."""
    between = _twin_of(tokenizer.model, tokenizer.shifted)
    return None if between is None else CutText(between, tokenizer.cuts)


def _twin_of(model: SentencePiece, id_of: Callable[[int], int]) -> NativeText | None:
    """Build the twin of a model in which the piece n has the id `id_of(n)`."""
    tables = model.tables
    pieces, numbers = tables.pieces, dict(tables.ids)
    unused = [text for text, number in numbers.items() if tables.is_unused(number)]
    if model.model_type == "bpe" and any(len(text) > 1 for text in unused):
        return None
    for text in unused:
        del numbers[text]
    made = native.model_of({text: id_of(number) for text, number in numbers.items()})
    bytes_to_ids = {byte: id_of(number) for byte, number in tables.byte_ids.items()}
    by_bytes = array(
        "I", [bytes_to_ids.get(byte, native.NOTHING) for byte in range(256)] if model.byte_fallback else []
    )
    unknown = id_of(tables.unknown_id) if tables.unknown_id >= 0 else native.NOTHING
    made.set_unknown(unknown, by_bytes, not model.byte_fallback)
    made.set_kept([text.encode() for text in tables.kept])
    if model.model_type == "bpe":
        kept = bytes(text in tables.kept for text in numbers)
        made.use_pieces(native.orders_of([pieces[number].score for number in numbers.values()]), kept)
    elif model.model_type == "unigram":
        scores = [tables.path_scores[text] for text in numbers]
        if not native.are_finite([*tables.path_scores.values(), tables.unknown_score]):
            return None
        made.use_unigram(array("d", scores), tables.unknown_score, native.SUMS_32)
    else:
        made.use_whole(model.model_type == "char")
    words = {"word": native.AT_SPACES, "char": native.WHOLE}.get(model.model_type, native.WHERE_POSSIBLE)
    made.set_words(words, VISIBLE_SPACE.encode(), False)
    _set_spaces(made, model.normalizer)
    return NativeText(made)


def _set_spaces(made: _native.TextModel, settings: SpmNormalizer) -> None:
    charsmap = settings.charsmap
    made.set_spaces(
        charsmap.units,
        charsmap.texts,
        settings.add_dummy_prefix,
        settings.remove_extra_whitespaces,
        settings.whitespace_as_suffix,
        False,
        (VISIBLE_SPACE if settings.escape_whitespaces else " ").encode(),
    )


register(SentencePiece, twin_of_sentencepiece)
register(XlmRoberta, twin_of_xlm_roberta)
