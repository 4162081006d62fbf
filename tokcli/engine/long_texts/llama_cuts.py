"""Where texts may be cut for the tokenizers of GGUF files: BPE, SPM's scores, BERT's words, and T5's Unigram."""

from __future__ import annotations

import re

from tokcli.engine.bpe.byte_alphabet import VISIBLE_SPACE
from tokcli.engine.llama_cpp.fragment_models import LlamaSpm
from tokcli.engine.llama_cpp.llama_cpp import LlamaCpp
from tokcli.engine.llama_cpp.string_bpe import WordsByMerges
from tokcli.engine.llama_cpp.ugm import LlamaUnigram
from tokcli.engine.llama_cpp.words import LlamaWords
from tokcli.engine.long_texts.sentencepiece_cuts import cuts_of_unigram
from tokcli.engine.long_texts.text_cuts import CutsBesideTokens, NeighbourTable, TextCuts


def cuts_of_llama(rules: LlamaCpp) -> TextCuts | None:
    """Return where a tokenizer's texts may be cut; None for a model whose cuts are not known."""
    model = rules.model
    inner: TextCuts
    if isinstance(model, LlamaUnigram):
        inner = cuts_of_unigram(model)
    elif isinstance(model, LlamaSpm):
        inner = _SpmCuts(model)
    elif isinstance(model, LlamaWords):
        inner = _WordCuts(model)
    elif isinstance(model, WordsByMerges):
        inner = _WordEnds(model)
    else:
        return None
    return CutsBesideTokens(inner, (token.content for token in rules.spec.added))


class _WordEnds(TextCuts):
    """BPE merges within words."""

    def __init__(self, model: WordsByMerges) -> None:
        self._ends = re.compile(model.splitter.word_ends)

    def is_cut(self, text: str, at: int) -> bool:
        """Return whether a text may be cut before the white space at `at`; see `TextCuts`."""
        return self._ends.fullmatch(text, at - 1, at + 1) is not None


class _SpmCuts(TextCuts):
    """SPM merges whatever two neighbours are a token together: none may hold what is on both sides of a cut."""

    def __init__(self, model: LlamaSpm) -> None:
        self._tokens = NeighbourTable(model.ids)

    def is_cut(self, text: str, at: int) -> bool:
        """Return whether a text may be cut before the white space at `at`; see `TextCuts`."""
        return not self._tokens.holds(text[at - 1], text[at].replace(" ", VISIBLE_SPACE))


class _WordCuts(TextCuts):
    """BERT's words end at white space."""

    def __init__(self, model: LlamaWords) -> None:
        self._rule = model.rule

    def is_cut(self, text: str, at: int) -> bool:
        """Return whether a text may be cut before the white space at `at`; see `TextCuts`."""
        return self._rule(text[at]) == " "
