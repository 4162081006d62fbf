"""The table of llama.cpp's models: each is made from a vocabulary when text is first encoded in Python."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from tokcli.engine.llama_cpp.fragment_models import FragmentModel, LlamaSpm, Plamo, Rwkv
from tokcli.engine.llama_cpp.patterns import PreType
from tokcli.engine.llama_cpp.settings import BYTE, NORMAL, UNUSED, USER_DEFINED, LlamaModel
from tokcli.engine.llama_cpp.string_bpe import StringBpe, WordsByMerges
from tokcli.engine.llama_cpp.ugm import LlamaUnigram, UgmPiece
from tokcli.engine.llama_cpp.vocabulary import LlamaVocabulary, unescaped
from tokcli.engine.llama_cpp.words import LlamaWords


def model_of(vocabulary: LlamaVocabulary) -> FragmentModel:
    """Make the model of a vocabulary; InputError where it lacks the token for unknown text that the model needs."""
    return _MAKERS[vocabulary.kind](vocabulary)


def _spm(made_of: LlamaVocabulary) -> LlamaSpm:
    return LlamaSpm(made_of.ids, made_of.token_scores, made_of.byte_id)


def _words_by_merges(made_of: LlamaVocabulary) -> WordsByMerges:
    pre = made_of.pre or PreType(())
    return WordsByMerges(StringBpe(made_of.ids, made_of.merges, pre), pre, made_of.settings)


def _words(made_of: LlamaVocabulary) -> LlamaWords:
    settings = made_of.settings
    return LlamaWords(
        made_of.ids, made_of.unknown_id(), lowercase=settings.lowercase, strip_accents=settings.strip_accents
    )


def _unigram(made_of: LlamaVocabulary) -> LlamaUnigram:
    settings = made_of.settings
    pieces = [
        UgmPiece(text, number, made_of.token_scores[number], bool(kind & NORMAL), bool(kind & USER_DEFINED))
        for number, (text, kind) in enumerate(zip(made_of.texts, made_of.kinds, strict=True))
        if kind & (NORMAL | USER_DEFINED | UNUSED)
    ]
    unknown = made_of.unknown_id()
    return LlamaUnigram(
        pieces, unknown, settings.charsmap, settings.add_space_prefix, settings.remove_extra_whitespaces
    )


def _rwkv(made_of: LlamaVocabulary) -> Rwkv:
    return Rwkv({unescaped(text): number for number, text in enumerate(made_of.texts)}, made_of.unknown_id)


def _plamo(made_of: LlamaVocabulary) -> Plamo:
    kinds, scores = made_of.kinds, made_of.token_scores
    of_bytes = {made_of.bytes_of(number)[0]: number for number, kind in enumerate(kinds) if kind & BYTE}
    others = {text: (n, scores[n]) for n, text in enumerate(made_of.texts) if not kinds[n] & BYTE}
    return Plamo(others, [of_bytes[byte] for byte in range(256)])


_MAKERS: Mapping[LlamaModel, Callable[[LlamaVocabulary], FragmentModel]] = {
    "llama": _spm,
    "gpt2": _words_by_merges,
    "bert": _words,
    "t5": _unigram,
    "rwkv": _rwkv,
    "plamo2": _plamo,
}
