"""Builds the native twins of llama.cpp's models: BPE by ranks, SPM, BERT's words, T5's Unigram, and RWKV's."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Mapping
from typing import Any

from tokcli.engine.base.arguments import NO_ID
from tokcli.engine.bindings.pair_models import pair_model
from tokcli.engine.bindings.stages import use_ranks
from tokcli.engine.bpe.byte_alphabet import VISIBLE_SPACE
from tokcli.engine.llama_cpp.fragment_models import FragmentModel, LlamaSpm, Rwkv
from tokcli.engine.llama_cpp.llama_cpp import LlamaCpp
from tokcli.engine.llama_cpp.native_cuts import native_cuts
from tokcli.engine.llama_cpp.string_bpe import WordsByMerges
from tokcli.engine.llama_cpp.ugm import LlamaUnigram
from tokcli.engine.llama_cpp.words import LlamaWords, word_ranges
from tokcli.engine.native_models import text_model as native
from tokcli.engine.native_models.cut_text import CutText
from tokcli.engine.native_models.text_model import NativeText
from tokcli.engine.spec.image import RanksSpec
from tokcli.engine.spec.models import LlamaModel, Pairs
from tokcli.engine.spec.spec import TokenizerSpec

_ANY_LENGTH = 1 << 31  # in characters: words have no limit
_LOWERS, _STRIPS = 1, 2  # CharacterStep::kLowers, kStrips


def rules_of_llama(spec: TokenizerSpec) -> LlamaCpp:
    """Return the rules of a GGUF file's tokenizer, with the builder of their twin."""
    return LlamaCpp(spec, twin_of_llama)


def twin_of_llama(rules: LlamaCpp) -> CutText | None:
    """Build the twin of a tokenizer, which cuts special tokens out in Python, if its model has a native form."""
    between = twin_of_model(rules.model)
    return None if between is None else rules.text_around(between)


def twin_of_model(model: FragmentModel) -> NativeText | None:
    """Build the twin of a model of any kind, which encodes text without special tokens, if it has a native form."""
    build: Callable[[Any], NativeText | None] | None = _BUILDERS.get(type(model))
    return None if build is None else build(model)


def twin_of_spm(model: LlamaSpm) -> NativeText:
    """Build the twin of llama.cpp's SPM; ValueError for scores that are not finite."""
    made = native.model_of(model.ids)
    by_bytes = [NO_ID if id is None else id for id in model.byte_ids]
    made.set_unknown(NO_ID, array("I", by_bytes), False)
    made.use_pieces(native.orders_of(model.data.scores), bytes(len(model.ids)))
    made.set_words(native.WHERE_POSSIBLE, VISIBLE_SPACE.encode(), False)
    made.add_step(native.REPLACE, b" ", VISIBLE_SPACE.encode(), False, False)
    return NativeText(made)


def twin_of_merges(model: WordsByMerges) -> NativeText | None:
    """Build the twin of BPE by merges; None where ranks do not merge alike, or bytes lack that are not left out."""
    if (pairs := model.pairs) is not None:
        return _twin_of_lines(pairs, model.data)
    ranked = model.ranked
    if ranked is None or (ranked.missing and not ranked.drops_missing):
        return None
    image, programs = ranked.load_image(), native_cuts(model.splitter)
    spec, made = RanksSpec(ranked.max_id, ()), native.model_of({})
    use_ranks(made, spec, image, programs)
    return NativeText(made, vocabulary_image=image, ranks=spec, programs=programs)


def _twin_of_lines(pairs: Pairs, model: LlamaModel) -> NativeText:
    """Return the twin of merges of texts, in lines and runs of newlines."""
    made = pair_model(pairs, native.LINES_WHOLE if model.lines_whole else native.NEVER_WHOLE)
    if model.shows_spaces:
        made.add_step(native.REPLACE, b" ", VISIBLE_SPACE.encode(), False, False)
    made.set_groups([("character", ord("\n"), "Contiguous")])
    return NativeText(made)


def twin_of_words(model: LlamaWords) -> NativeText:
    """Build the twin of llama.cpp's BERT."""
    made = native.model_of(model.ids)
    made.set_unknown(model.unknown, b"", False)
    made.use_word_piece(b"", _ANY_LENGTH)
    made.set_words(native.WHOLE, VISIBLE_SPACE.encode(), False)
    made.set_metaspace(False, True, native.ALWAYS)
    made.add_step(native.CHARS, b"", b"", False, False)
    flags = _LOWERS * model.settings.lowercase | _STRIPS * bool(model.settings.strip_accents)
    made.set_characters([("words", flags)], b"", b"", word_ranges())
    made.set_groups([("character", ord(" "), "Removed")])
    return NativeText(made)


def twin_of_unigram(model: LlamaUnigram) -> NativeText | None:
    """Build the twin of llama.cpp's T5; return None where a score is not finite."""
    tokens = {text: token for text, token in model.tokens.items() if text}
    scores = [score for score, _ in tokens.values()]
    if not native.are_finite([*scores, model.unknown_score]):
        return None
    made = native.model_of({text: id for text, (_, id) in tokens.items()})
    made.set_unknown(model.unknown, b"", True)
    made.set_kept([text.encode() for text in model.user_defined])
    made.use_unigram(array("d", scores), model.unknown_score, native.SUMS_64)
    made.set_words(native.WHERE_POSSIBLE, VISIBLE_SPACE.encode(), False)
    charsmap, puts, trims = model.charsmap, model.settings.add_dummy_prefix, model.settings.remove_extra_whitespaces
    made.set_spaces(charsmap.units, charsmap.texts, puts, trims, False, True, VISIBLE_SPACE.encode())
    return NativeText(made)


def twin_of_rwkv(model: Rwkv) -> NativeText | None:
    """Build the twin of RWKV's model: WordPiece's longest match over bytes; return None where a byte is not a token."""
    if any(bytes([byte]) not in model.tokens for byte in range(256)):
        return None
    tokens = {token: id for token, id in model.tokens.items() if token}
    made = native.model_of_bytes(list(tokens), tokens.values())
    made.set_unknown(NO_ID, b"", False)
    made.use_word_piece(b"", _ANY_LENGTH)
    made.set_words(native.WHOLE, VISIBLE_SPACE.encode(), False)
    return NativeText(made)


_BUILDERS: Mapping[type, Callable[..., NativeText | None]] = {
    WordsByMerges: twin_of_merges,
    LlamaSpm: twin_of_spm,
    Rwkv: twin_of_rwkv,
    LlamaWords: twin_of_words,
    LlamaUnigram: twin_of_unigram,
}
