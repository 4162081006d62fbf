"""Containers of SentencePiece models, and of XLM-RoBERTa's, which shift the ids of one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tokcli.engine.native_models.text_model import NativeText, opened_model
from tokcli.errors import VocabularyError
from tokcli.registry.compiled.compiled_tokenizer import CompiledWithTwin, TokenizerFacts
from tokcli.registry.compiled.container import (
    IMAGE,
    Container,
    ContainerKind,
    Family,
    Origin,
    Packed,
    are_ids,
    are_texts,
    is_flag,
    is_text,
    optional,
)
from tokcli.registry.compiled.token_columns import TokenColumns, pack_columns

if TYPE_CHECKING:
    from tokcli.engine.sentencepiece.model import SentencePiece
    from tokcli.engine.sentencepiece.normalizer import SpmNormalizer
    from tokcli.engine.text_tokenizer import TextTokenizer

_FLAGS = ("add_dummy_prefix", "remove_extra_whitespaces", "escape_whitespaces", "whitespace_as_suffix")


def _pack(tokenizer: Any) -> Packed | None:
    """Return the header and the sections for a SentencePiece or an XlmRoberta; None if it has no native twin."""
    shifts = tokenizer.family == "XLM-RoBERTa"
    model: SentencePiece = tokenizer.model if shifts else tokenizer
    if model.native is None:
        return None
    texts, scores, kinds = zip(*model.pieces, strict=True)
    names = sorted(set(kinds))
    header = {
        "kind": "sentencepiece",
        "model_type": model.model_type,
        "byte_fallback": model.byte_fallback,
        "unknown_surface": model.unknown_surface,
        "normalizer": _settings(model.normalizer),
        "denormalizer": None if model.denormalizer is None else _settings(model.denormalizer),
        "piece_kinds": names,
        "shifts": shifts,
        "template": list(map(list, model.template)),
    }
    sections = {
        IMAGE: model.native.image(),
        "tokens": pack_columns(texts, scores, list(map(names.index, kinds))),
        "charsmap": model.normalizer.charsmap.blob,
        "charsmap_back": b"" if model.denormalizer is None else model.denormalizer.charsmap.blob,
    }
    return header, sections


def _settings(normalizer: SpmNormalizer) -> dict[str, Any]:
    return {flag: getattr(normalizer, flag) for flag in _FLAGS} | {"kept": sorted(normalizer.kept)}


def _is_settings(value: Any) -> bool:
    return (
        type(value) is dict
        and value.keys() == {*_FLAGS, "kept"}
        and all(is_flag(value[flag]) for flag in _FLAGS)
        and are_texts(value["kept"])
    )


def _open(container: Container, origin: Origin) -> TextTokenizer:
    native = NativeText(opened_model(container.sections[IMAGE]))

    def whole() -> TextTokenizer:
        from tokcli.registry.compiled.kinds.sentencepiece_tables import model_of  # 10 ms that counting saves

        try:
            return model_of(container, native)
        except VocabularyError:  # the charsmap is damaged
            again: TextTokenizer = origin.load()
            return again

    if container.header["shifts"]:
        return whole()
    facts = TokenizerFacts(
        special_tokens={},
        max_id=TokenColumns(container.sections["tokens"]).count - 1,
        is_byte_level=False,
        has_template=any(container.header["template"]),
        decodes_context_free=False,
        template_ids=container.header["template"],
    )
    return CompiledWithTwin(facts, native, whole)


_KINDS = {
    "sentencepiece": ContainerKind(
        {
            "model_type": ("unigram", "bpe", "word", "char").__contains__,
            "byte_fallback": is_flag,
            "unknown_surface": is_text,
            "normalizer": _is_settings,
            "denormalizer": optional(_is_settings),
            "piece_kinds": are_texts,
            "shifts": is_flag,
            "template": lambda value: type(value) is list and len(value) == 2 and all(map(are_ids, value)),
        },
        frozenset({IMAGE, "tokens", "charsmap", "charsmap_back"}),
        _open,
    ),
}
FAMILY = Family(_pack, _KINDS)
