"""Rebuilds a SentencePiece model over the tables in a container; a piece becomes an object only when asked for."""

from __future__ import annotations

from typing import Any

from tokcli.engine.native_models.text_model import NativeText
from tokcli.engine.sentencepiece.charsmap import Charsmap
from tokcli.engine.sentencepiece.model import SentencePiece
from tokcli.engine.sentencepiece.normalizer import SpmNormalizer
from tokcli.engine.sentencepiece.segmenters import SpmPiece
from tokcli.engine.sentencepiece.xlm_roberta import XlmRoberta
from tokcli.registry.compiled.container import Container
from tokcli.registry.compiled.token_columns import LazySequence, TokenColumns


def model_of(container: Container, native: NativeText) -> SentencePiece | XlmRoberta:
    """Return the model in a container that fits, with its native twin, and with shifted ids if the container says so.

    Raise VocabularyError if a charsmap is damaged.
    """
    header, sections = container.header, container.sections
    columns, names = TokenColumns(sections["tokens"]), header["piece_kinds"]
    back = header["denormalizer"]

    def piece(number: int) -> SpmPiece:
        return SpmPiece(columns.text(number), columns.scores[number], names[columns.kinds[number]])

    model = SentencePiece(
        LazySequence(columns.count, piece),
        header["model_type"],
        _normalizer(header["normalizer"], sections["charsmap"]),
        header["byte_fallback"],
        header["unknown_surface"],
        None if back is None else _normalizer(back, sections["charsmap_back"]),
        header["template"],
    )
    model.set_native(native)
    return XlmRoberta(model) if header["shifts"] else model


def _normalizer(settings: dict[str, Any], charsmap: memoryview) -> SpmNormalizer:
    return SpmNormalizer(Charsmap(bytes(charsmap)), **{**settings, "kept": frozenset(settings["kept"])})
