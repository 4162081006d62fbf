"""The four ways in which SentencePiece's models cut normalized text into pieces: BPE, Unigram, words, characters.

The order of merging, and what becomes of unused pieces, are those of SentencePiece 0.2 (bpe_model.cc), Unigram's sums
those of its unigram_model.cc. Ids of bytes, and unknown text that becomes one id, are left to model.py.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise

from tokcli.engine.base.longest_match import LongestMatch
from tokcli.engine.bpe.bpe import BoundedCache, Join, join_by_ranks, merge_bounds, merge_parts
from tokcli.engine.bpe.byte_alphabet import VISIBLE_SPACE, byte_token
from tokcli.engine.bpe.lattice import (
    FLOAT32_MAX,
    UNKNOWN_PENALTY,
    Path,
    best_path,
    best_path_from,
    prefixes,
    to_float32,
)
from tokcli.engine.spec.models import PieceKind, SentencePieceModel, SpmPiece

NumberedText = tuple[str, int]  # a part of the normalized text, and the id of its piece (or that of unknown text)
Segmenter = Callable[[str], Sequence[NumberedText]]

_MERGEABLE: frozenset[PieceKind] = frozenset({"normal", "user_defined", "unused"})
_RESEGMENT_DEPTH = 100  # beyond it SentencePiece, too, takes an unused piece as it is
_WORDS = re.compile(f"^[^{VISIBLE_SPACE}]+|{VISIBLE_SPACE}[^{VISIBLE_SPACE}]*")
_USER_DEFINED_SCORE = 0.1  # for each byte after the first, or for each character


@dataclass(frozen=True)
class SpmTables:
    """The tables in which the segmenter of a model looks up pieces.

    `kept` are the user-defined symbols, which stay whole.
    """

    model: SentencePieceModel = field(repr=False)
    kept: frozenset[str]

    @cached_property
    def ids(self) -> dict[str, int]:
        """The ids of the pieces that text can become, unused ones among them."""
        return {text: i for i, (text, _, kind) in self._by_id() if kind in _MERGEABLE}

    @cached_property
    def unused(self) -> frozenset[str]:
        """The texts of unused pieces."""
        return frozenset(text for text, _, kind in self.model.pieces if kind == "unused")

    def _by_id(self) -> Iterable[tuple[int, SpmPiece]]:
        return enumerate(self.model.pieces, self.model.first_id)

    @cached_property
    def unknown_id(self) -> int:
        """The id of unknown text; -1 if there is none."""
        found = next((i for i, piece in self._by_id() if piece.kind == "unknown"), -1)
        return found if found < 0 or self.model.unknown_id is None else self.model.unknown_id

    @cached_property
    def byte_ids(self) -> dict[int, int]:
        """The id of each byte that has a piece; if a piece of text has the same name, the piece of kind byte counts."""
        named = [(kind not in _MERGEABLE, text, i) for i, (text, _, kind) in self._by_id() if text[:3] == "<0x"]
        ids = {text: i for _, text, i in sorted(named)}
        return {byte: ids[byte_token(byte)] for byte in range(256) if byte_token(byte) in ids}

    @cached_property
    def merge_ranks(self) -> dict[str, float]:
        """A rank for each piece that merging can make: the lowest comes first. User-defined symbols never merge."""
        holds_kept = self.kept_match.find
        found = ((text, -score) for text, score, kind in self.model.pieces if kind in _MERGEABLE)
        return {text: rank for text, rank in found if not any(holds_kept(text))}

    @cached_property
    def path_scores(self) -> dict[str, float]:
        """The score of each piece that Unigram may take; user-defined ones score by their size in bytes."""
        return {
            text: to_float32(_USER_DEFINED_SCORE * (len(text.encode()) - 1)) if kind == "user_defined" else score
            for text, score, kind in self.model.pieces
            if kind in _MERGEABLE and kind != "unused"
        }

    @cached_property
    def lattice_scores(self) -> dict[str, float]:
        """The scores of `path_scores` where paths are compared: user-defined pieces score by their characters there."""
        kept = {
            text: to_float32(_USER_DEFINED_SCORE * (len(text) - 1)) for text in self.kept if text in self.path_scores
        }
        return {**self.path_scores, **kept}

    @cached_property
    def beginnings(self) -> frozenset[str]:
        """The prefixes of the pieces that Unigram may take."""
        return prefixes(self.path_scores)

    @cached_property
    def unknown_score(self) -> float:
        """Unigram's score of a character that is not a piece."""
        lowest = min((piece.score for piece in self.model.pieces if piece.kind == "normal"), default=FLOAT32_MAX)
        return to_float32(lowest - UNKNOWN_PENALTY)

    @cached_property
    def kept_match(self) -> LongestMatch[str]:
        """The matcher of user-defined symbols."""
        return LongestMatch(self.kept)

    def symbols(self, text: str) -> list[str]:
        """Return the user-defined symbols in a text, and the single characters between them."""
        found: list[str] = []
        at = 0
        for begin, end in self.kept_match.find(text):
            found += [*text[at:begin], text[begin:end]]
            at = end
        return [*found, *text[at:]]

    def known(self, text: str) -> NumberedText:
        """Return a text with its id, or that of unknown text."""
        return text, self.unknown_id if text in self.unused else self.ids.get(text, self.unknown_id)


def segmenter_of(tables: SpmTables) -> Segmenter:
    """Return the function that cuts normalized text into pieces as the type of a model does."""
    if tables.model.type == "bpe":
        return BpeSegmenter(tables)
    if tables.model.type == "unigram":
        return UnigramSegmenter(tables)
    symbols = _WORDS.findall if tables.model.type == "word" else tables.symbols
    return lambda text: list(map(tables.known, symbols(text)))


class BpeSegmenter:
    """BPE by scores: the pair with the highest score merges first, the leftmost of equals."""

    def __init__(self, tables: SpmTables) -> None:
        self._tables = tables
        self._cache = BoundedCache(self._merged)

    def __call__(self, text: str) -> Sequence[NumberedText]:
        """Return the pieces of a text."""
        if self._word_pattern is None:
            return self._merged(text)
        cache = self._cache
        return [found for word in self._word_pattern.findall(text) for found in cache[word]]

    @cached_property
    def _word_pattern(self) -> re.Pattern[str] | None:
        """The pattern that cuts text before spaces, where nothing can merge; None if a piece may cross such a place."""
        inside = re.compile(f"[^{VISIBLE_SPACE}]{VISIBLE_SPACE}")
        if self._tables.unused or any(map(inside.search, self._tables.ids)):
            return None
        return re.compile(f"{VISIBLE_SPACE}*[^{VISIBLE_SPACE}]+|{VISIBLE_SPACE}+")

    def _merged(self, text: str) -> list[NumberedText]:
        """Return the pieces of a text, whose symbols are merged until no two neighbours are a piece."""
        ranks = self._tables.merge_ranks
        parts_of: dict[str, tuple[str, str]] = {}  # of unused pieces, as they were found last
        symbols = self._tables.symbols(text) if self._tables.kept else text
        if len(symbols) == len(text) and not self._tables.unused:
            bounds = merge_bounds(ranks, text)
            symbols = [text[begin:end] for begin, end in pairwise(bounds)]
        else:
            join = join_by_ranks(ranks)
            symbols = list(symbols)
            left = merge_parts(symbols, self._noting(join, parts_of) if self._tables.unused else join)
            symbols = [symbols[at] for at in left]
        return [found for symbol in symbols for found in self._resegmented(symbol, parts_of)]

    def _noting(self, join: Join[str], parts_of: dict[str, tuple[str, str]]) -> Join[str]:
        """Return `join`, extended to note in `parts_of` the two parts of each unused piece that may merge."""

        def noting(left: str, right: str) -> tuple[float, str] | None:
            found = join(left, right)
            if found is not None and found[1] in self._tables.unused:
                parts_of[found[1]] = left, right
            return found

        return noting

    def _resegmented(self, symbol: str, parts_of: Mapping[str, tuple[str, str]]) -> Iterator[NumberedText]:
        """Yield a symbol with its id; an unused piece falls apart into the two that it was merged from."""
        unknown = self._tables.unknown_id
        pending = [(symbol, 0)]
        while pending:
            text, depth = pending.pop()
            id = self._tables.ids.get(text)
            if id is None:
                yield text, unknown
            elif depth > _RESEGMENT_DEPTH or text not in self._tables.unused:
                yield text, id
            elif text not in parts_of:
                yield text, unknown
            else:
                left, right = parts_of[text]
                pending += [(right, depth + 1), (left, depth + 1)]


class UnigramSegmenter:
    """Unigram: the pieces whose scores have the highest sum, in floats of 32 bits."""

    def __init__(self, tables: SpmTables) -> None:
        self._tables = tables

    def __call__(self, text: str) -> Sequence[NumberedText]:
        """Return the pieces of a text."""
        return self._pieces(text, self.path(text))

    def path(self, text: str) -> Path:
        """Return the path through a text that is taken: the best one."""
        tables = self._tables
        return best_path(text, tables.path_scores, tables.beginnings, tables.unknown_score, float32=True)

    def after(self, before: float, text: str) -> tuple[list[NumberedText], float]:
        """Return the pieces of a text after another one, and the sum of scores at its end; `before`: that before it."""
        tables = self._tables
        path, after = best_path_from(
            before, text, tables.path_scores, tables.beginnings, tables.unknown_score, float32=True
        )
        return self._pieces(text, path), after

    def _pieces(self, text: str, path: Path) -> list[NumberedText]:
        tables = self._tables
        return [
            (part := text[begin:end], tables.ids[part] if is_piece else tables.unknown_id)
            for begin, end, is_piece in path
        ]
