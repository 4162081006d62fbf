"""`rules_of`: the rules that do in Python what a `TokenizerSpec` says."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from tokcli.engine.spec import models
from tokcli.engine.spec.spec import TokenizerSpec

if TYPE_CHECKING:
    from tokcli.engine.text_tokenizer import TextTokenizer


def _of_minbpe(spec: TokenizerSpec) -> TextTokenizer:
    from tokcli.engine.minbpe.model import MinBpe

    return MinBpe(spec)


def _of_llama(spec: TokenizerSpec) -> TextTokenizer:
    from tokcli.engine.bindings.llama_models import rules_of_llama

    return rules_of_llama(spec)


def _of_pipeline(spec: TokenizerSpec) -> TextTokenizer:
    from tokcli.engine.bindings.pipelines import rules_of_pipeline

    return rules_of_pipeline(spec)


def _of_sentencepiece(spec: TokenizerSpec) -> TextTokenizer:
    from tokcli.engine.bindings.sentencepiece_models import rules_of_sentencepiece

    return rules_of_sentencepiece(spec)


_MAKERS: dict[type, Callable[[TokenizerSpec], TextTokenizer]] = {
    models.NumberedPairs: _of_minbpe,
    models.LlamaModel: _of_llama,
    models.Pairs: _of_pipeline,
    models.Unigram: _of_pipeline,
    models.WordPiece: _of_pipeline,
    models.WordLevel: _of_pipeline,
    models.SentencePieceModel: _of_sentencepiece,
}


def rules_of(spec: TokenizerSpec) -> TextTokenizer:
    """Return the rules of a tokenizer; each family loads its modules when the first of its tokenizers is made."""
    return _MAKERS[type(spec.model)](spec)
