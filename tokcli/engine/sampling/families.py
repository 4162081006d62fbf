"""Tokenizers that segment at random, each a copy of a family's tokenizer with another model.

The copy has neither a native twin, nor ranks of texts, nor a cache of pieces, which would give the same ids each time.
It shares the tables of the tokenizer, and all else that it does. With dropout, a piece that is a token is merged like
any other, as in tokenizers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar

from tokcli.engine.bpe.bpe import BoundedCache, PieceCache, join_by_ranks, last_two
from tokcli.engine.bpe.byte_alphabet import VISIBLE_SPACE
from tokcli.engine.bpe.lattice import Path
from tokcli.engine.bpe.pairs import PairBpe, merge
from tokcli.engine.llama_cpp.fragment_models import LlamaSpm
from tokcli.engine.llama_cpp.llama_cpp import LlamaCpp
from tokcli.engine.llama_cpp.string_bpe import WordsByMerges
from tokcli.engine.llama_cpp.ugm import LlamaUnigram
from tokcli.engine.minbpe.model import MinBpe
from tokcli.engine.pipeline.models import BestTokens
from tokcli.engine.pipeline.pipeline import Pipeline
from tokcli.engine.sampling.dropout import Dropout
from tokcli.engine.sampling.lattices import PathScores
from tokcli.engine.sentencepiece.model import SentencePiece
from tokcli.engine.sentencepiece.segmenters import BpeSegmenter, NumberedText, UnigramSegmenter
from tokcli.engine.text_tokenizer import TextTokenizer
from tokcli.engine.tiktoken.rank_vocabulary import RankVocabulary
from tokcli.errors import UnknownTokenError

Original = TypeVar("Original")
ChoosePath = Callable[[str, PathScores], Path]  # chooses a path through a text


def with_dropout(rules: TextTokenizer, dropout: Dropout) -> TextTokenizer | None:
    """Return a tokenizer whose merges are skipped at random; None where its model is not BPE."""
    return _with_model(rules, lambda model: _changed(model, _WITH_DROPOUT, dropout))


def with_paths(rules: TextTokenizer, choose: ChoosePath) -> TextTokenizer | None:
    """Return a tokenizer whose Unigram model takes the paths that `choose` returns; None where it is another model."""
    return _with_model(rules, lambda model: _changed(model, _WITH_PATHS, choose))


def copy_of(original: Original, **answers: object) -> Original:
    """Return a copy that shares what the original knows already, but for the attributes that are given."""
    made = object.__new__(type(original))
    vars(made).update(vars(original), **answers)  # the classes are frozen, or their answers are cached properties
    return made


def _with_model(rules: TextTokenizer, change: Callable[[object], Any]) -> TextTokenizer | None:
    """Return a copy of a tokenizer with the model that `change` makes of its own; None where that returns None."""
    if isinstance(rules, MinBpe):
        changed: TextTokenizer | None = change(rules)
        return changed
    if isinstance(rules, SentencePiece):
        segment = change(rules._segment)
        return None if segment is None else copy_of(rules, native=None, _segment=segment)
    if not isinstance(rules, Pipeline | LlamaCpp) or (model := change(rules.model)) is None:
        return None
    if isinstance(rules, LlamaCpp):
        return copy_of(rules, model=model, native=None, text_ranks=None)
    cache = BoundedCache[tuple[int, ...]](model.tokenize, limit=0)
    return copy_of(rules, model=model, native=None, text_ranks=None, _twin_of_segments=None, _cache=cache)


def _changed(model: object, table: dict[type, Callable[[Any, Any], object]], by: object) -> object | None:
    make = table.get(type(model))
    return None if make is None else make(model, by)


# --- dropout ---------------------------------------------------------------------------------------------------------


class DroppedRanks(RankVocabulary):
    """A tokenizer by ranks whose merges are skipped at random.

    Two parts merge only if the token is made of these two without dropout, too: so the ids are drawn as from the list
    of merges in a tokenizer.json of the same vocabulary, where a token usually has one pair of parents.
    """

    def __init__(self, base: RankVocabulary, dropout: Dropout) -> None:
        vars(self).update(
            vars(base), mergeable_ranks=base.mergeable_ranks, native_tokens=None, twins=None, pieces=None, opened=None
        )
        self._dropout = dropout
        self._cache = PieceCache(self.encode_piece, limit=0)
        self._parents: dict[bytes, tuple[bytes, bytes] | None] = vars(base).setdefault("_parents_by_token", {})

    def _join(self, left: bytes, right: bytes) -> tuple[int, bytes] | None:
        rank = self.mergeable_ranks.get(both := left + right)
        if rank is None:
            return None
        if both not in self._parents:
            self._parents[both] = last_two(self.mergeable_ranks, both)
        return (rank, both) if self._parents[both] == (left, right) else None

    def encode_piece(self, piece: bytes) -> list[int]:
        """Return the ids of a piece; UnknownTokenError for a byte that is no token."""
        ranks = self.mergeable_ranks
        parts = [piece[at : at + 1] for at in range(len(piece))]
        left = self._dropout.merge_again(parts, self._join)
        try:
            return [ranks[parts[at]] for at in left]
        except KeyError as error:
            raise UnknownTokenError(f"the vocabulary has no token for the byte 0x{error.args[0].hex()}") from None

    def encode_with_tail(self, text: str, tail: bytes) -> list[int]:
        """Return the ids of a text and of bytes after it that are not UTF-8 and belong to its last piece."""
        *pieces, last = self.pretokenizer.split(text) or [""]
        return [*self._cache.ids_of(pieces), *self.encode_piece(last.encode() + tail)]


class DroppedPairs(PairBpe):
    """A tokenizer.json's BPE whose merges are skipped at random."""

    def __init__(self, base: PairBpe, dropout: Dropout) -> None:
        vars(self).update(vars(base), ignore_merges=False, _word_pattern=None)
        self._dropout = dropout

    def _word(self, piece: str) -> list[tuple[int, int]]:
        return merge(self._parts(piece), self._table, merge_all=self._dropout.merge_again)


class DroppedMinBpe(MinBpe):
    """A minbpe model whose merges are skipped at random."""

    def __init__(self, base: MinBpe, dropout: Dropout) -> None:
        def encode_piece(piece: bytes) -> Iterable[int]:
            found = merge([(byte, 1) for byte in piece], base._merges, merge_all=dropout.merge_again)
            return (id for id, _ in found)

        vars(self).update(vars(base), text_ranks=None, _cache=PieceCache(encode_piece, limit=0))


class DroppedSegmenter(BpeSegmenter):
    """SentencePiece's BPE whose merges are skipped at random."""

    def __init__(self, base: BpeSegmenter, dropout: Dropout) -> None:
        super().__init__(base._tables)
        self._dropout = dropout

    def __call__(self, text: str) -> Sequence[NumberedText]:
        """Return the pieces of a text."""
        tables, parts_of = self._tables, dict[str, tuple[str, str]]()
        join = join_by_ranks(tables.merge_ranks)
        symbols = tables.symbols(text) if tables.kept else list(text)
        left = self._dropout.merge_once(symbols, self._noting(join, parts_of) if tables.unused else join)
        return [found for at in left for found in self._resegmented(symbols[at], parts_of)]


class DroppedSpm(LlamaSpm):
    """A GGUF file's SPM whose merges are skipped at random, as SentencePiece skips them."""

    def __init__(self, base: LlamaSpm, dropout: Dropout) -> None:
        vars(self).update(vars(base))
        self._dropout = dropout

    def tokenize(self, text: str) -> list[int]:
        """Return the ids of a text."""
        parts, ids = list(text.replace(" ", VISIBLE_SPACE)), list[int]()
        for at in self._dropout.merge_once(parts, join_by_ranks(self._ranks)):
            id = self.ids.get(parts[at])
            ids += self.bytes_to_ids(parts[at]) if id is None else (id,)
        return ids


class DroppedWords(WordsByMerges):
    """A GGUF file's merges of texts, skipped at random as tokenizers skips them."""

    def __init__(self, base: WordsByMerges, dropout: Dropout) -> None:
        vars(self).update(vars(base), ids_of_word=lambda word: self.merge_word(word, dropout.merge_again))


_WITH_DROPOUT: dict[type, Callable[[Any, Dropout], object]] = {
    PairBpe: DroppedPairs,
    MinBpe: DroppedMinBpe,
    BpeSegmenter: DroppedSegmenter,
    LlamaSpm: DroppedSpm,
    WordsByMerges: DroppedWords,
}


# --- paths -----------------------------------------------------------------------------------------------------------


class ChosenTokens(BestTokens):
    """A tokenizer.json's Unigram that takes chosen paths."""

    def __init__(self, base: BestTokens, choose: ChoosePath) -> None:
        self._choose, self._by = choose, PathScores(base.path_scores, base.beginnings, base.unknown_score)
        vars(self).update(vars(base))

    def path(self, piece: str) -> Path:
        """Return the path that is chosen."""
        return self._choose(piece, self._by)


class ChosenSegmenter(UnigramSegmenter):
    """SentencePiece's Unigram that takes chosen paths; its sums are floats of 32 bits."""

    def __init__(self, base: UnigramSegmenter, choose: ChoosePath) -> None:
        tables = base._tables
        super().__init__(tables)
        self._by = PathScores(tables.lattice_scores, tables.beginnings, tables.unknown_score, float32=True)
        self._choose = choose

    def path(self, text: str) -> Path:
        """Return the path that is chosen."""
        return self._choose(text, self._by)


class ChosenLlamaUnigram(LlamaUnigram):
    """A GGUF file's Unigram that takes chosen paths."""

    def __init__(self, base: LlamaUnigram, choose: ChoosePath) -> None:
        vars(self).update(vars(base))
        self._choose = choose

    def path(self, text: str) -> Path:
        """Return the path that is chosen."""
        return self._choose(text, PathScores(self.path_scores, self.beginnings, self.unknown_score))


_WITH_PATHS: dict[type, Callable[[Any, ChoosePath], object]] = {
    BestTokens: ChosenTokens,
    UnigramSegmenter: ChosenSegmenter,
    LlamaUnigram: ChosenLlamaUnigram,
}
