"""The way into sampling: a tokenizer whose ids are drawn at random, and the N best segmentations of a text.

BPE skips merges (`dropout`). Unigram draws from all paths through a text by exp(alpha * score), or from the N best.
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Iterator
from functools import partial
from random import Random
from typing import TYPE_CHECKING, Literal, TypeAlias, TypeVar

from tokcli.engine.base.arguments import wrong_type
from tokcli.engine.bpe.lattice import Path
from tokcli.engine.sampling.dropout import Dropout
from tokcli.engine.sampling.families import DroppedRanks, copy_of, with_dropout, with_paths
from tokcli.engine.sampling.lattices import Lattice, PathScores, best, drawn_index, drawn_path
from tokcli.engine.stream.utf8 import TextOrUtf8, plain_text
from tokcli.engine.tiktoken.rank_vocabulary import RankVocabulary
from tokcli.engine.tokenizer import Tokenizer
from tokcli.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable

    from tokcli.engine.text_tokenizer import TextTokenizer
    from tokcli.engine.tokens import Tokens

Found = TypeVar("Found", "list[int]", "Tokens")
Way = Literal["dropout", "paths", "none"]

MOST_PATHS = 512  # SentencePiece, too, gives no more
_NEVER = Dropout(0.0, Random(0))


def way_of(tokenizer: Tokenizer) -> Way:
    """Return how a tokenizer can segment a text in several ways: by dropout (BPE) or by paths (Unigram), if at all."""
    rules = tokenizer.rules
    if rules is None or with_dropout(rules, _NEVER) is not None:
        return "dropout"
    return "none" if with_paths(rules, best) is None else "paths"


def sampled(tokenizer: Tokenizer, dropout: float | None, alpha: float | None, seed: int | None) -> Tokenizer:
    """Return the tokenizer for the arguments of `Encoding.encode`, of which dropout or alpha is given.

    TypeError for arguments of the wrong type; InputError for values and for models that they do not fit.
    """
    for value, name in ((dropout, "dropout"), (alpha, "alpha")):
        if value is not None and not isinstance(value, (int, float)):
            raise wrong_type(name, "a number", value)
    if alpha is None:
        return dropped(tokenizer, dropout or 0, Random(seed))
    if dropout is not None:
        raise InputError("dropout and alpha are both given", "BPE takes dropout, Unigram takes alpha.")
    return drawn(tokenizer, alpha, Random(seed))


def dropped(tokenizer: Tokenizer, probability: float, random: Random) -> Tokenizer:
    """Return a BPE tokenizer that skips each merge with a probability; InputError for models other than BPE.

    With 0 this is the tokenizer itself; with 1 it gives single bytes or characters. The ids follow from the state of
    `random` and the texts that were encoded before. Only one thread may use the tokenizer.
    """
    if not 0 <= probability <= 1:
        raise InputError(f"dropout: expected a probability from 0 to 1, not {probability}")
    dropout, rules = Dropout(probability, random), tokenizer.rules
    if isinstance(tokenizer.inner, RankVocabulary):
        return tokenizer if not probability else Tokenizer(tokenizer.name, DroppedRanks(tokenizer.inner, dropout))
    made = None if rules is None else with_dropout(rules, dropout)
    if made is None:
        raise InputError(f"{tokenizer.name} has no merges that dropout could skip: its model is not BPE")
    return tokenizer if not probability else _drawing(tokenizer.name, made)


def drawn(tokenizer: Tokenizer, alpha: float, random: Random, number: int | None = None) -> Tokenizer:
    """Return a Unigram tokenizer that draws one of all paths through a text, or of the N best, by exp(alpha * score).

    The score of a path is the sum of its tokens' scores. InputError for models other than Unigram. The ids follow from
    `random` as in `dropped`.
    """
    if not 0 <= alpha < math.inf:
        raise InputError(f"alpha: expected 0 or a positive number, not {alpha}")
    rules = tokenizer.rules
    if number == 1 and way_of(tokenizer) == "paths":
        return tokenizer
    if number is not None and rules is not None:
        paths = BestPaths(tokenizer.name, rules, number)
        return _drawing(tokenizer.name, paths.drawing(alpha, random))
    made = None if rules is None else with_paths(rules, partial(drawn_path, alpha=alpha, random=random))
    if made is None:
        raise _no_paths(tokenizer.name)
    return _drawing(tokenizer.name, made)


def _drawing(name: str, rules: TextTokenizer) -> Tokenizer:
    """Return a tokenizer that draws its answers, of long texts as a whole: their parts stand behind a fixed letter."""
    return Tokenizer(name, rules, cuts_long_texts=False)


class BestPaths:
    """The N best segmentations of texts by a Unigram tokenizer; InputError for models other than Unigram.

    The tokenizer sees each text twice, for the model may get it in pieces: first the N best paths through each piece
    are noted, then the tokens are made of those that are best together.
    """

    def __init__(self, name: str, rules: TextTokenizer, number: int) -> None:
        if not 1 <= number <= MOST_PATHS:
            raise InputError(f"{number} segmentations are asked for", f"From 1 to {MOST_PATHS} can be.")
        made = with_paths(rules, self._choose)
        if made is None:
            raise _no_paths(name)
        self._plain, self._rules, self._number = rules, made, number
        self.gave_up = False  # whether the best segmentation alone was found of the text before
        self._noted: list[tuple[float, _Chain]] | None = None  # of the pieces so far, the best paths together
        self._chosen: Iterator[Path] = iter(())

    def _choose(self, text: str, by: PathScores) -> Path:
        if self._noted is None:
            return next(self._chosen)
        found = Lattice(text, by).n_best(self._number)
        if found is None:
            found, self.gave_up = [(0.0, best(text, by))], True
        sums: list[tuple[float, _Chain]] = [
            (total + score, (chain, path))
            for at, (total, chain) in enumerate(self._noted)
            for score, path in found[: self._number // (at + 1)]
        ]
        if len(self._noted) > 1:  # else they are in the order of the search, which rounding may set apart from sums
            sums.sort(key=lambda one: -one[0])
        self._noted = sums[: self._number]
        return found[0][1]

    def find(self, text: str, allowed: frozenset[str]) -> list[tuple[float, list[Path]]]:
        """Return (sum of scores, paths through the pieces) of the N best segmentations, or of as many as there are."""
        self._noted, self.gave_up = [(0.0, None)], False
        self._rules.encode(text, allowed)
        found, self._noted = self._noted, None
        return [(total, _unchained(chain)) for total, chain in found]

    def segmentations(self, text: str, allowed: frozenset[str]) -> list[list[int]]:
        """Return the ids of the N best segmentations, the best first; of a single one, those without sampling."""
        if self._number == 1:
            return [self._plain.encode(text, allowed)]
        return [self._along(self._rules.encode, paths, text, allowed) for _, paths in self.find(text, allowed)]

    def drawing(self, alpha: float, random: Random) -> TextTokenizer:
        """Return a tokenizer that draws one of the N best segmentations of each text by exp(alpha * score)."""

        def draw(make: Callable[[str, frozenset[str]], Found], text: str, allowed: frozenset[str]) -> Found:
            found = self.find(text, allowed)
            paths = found[drawn_index([alpha * total for total, _ in found], random)][1]
            return self._along(make, paths, text, allowed)

        def encode_array(text: TextOrUtf8, allowed: frozenset[str]) -> memoryview:
            return memoryview(array("I", draw(rules.encode, plain_text(text), allowed)))

        def count(text: TextOrUtf8, allowed: frozenset[str]) -> int:
            return len(encode_array(text, allowed))

        rules = self._rules
        encode, encode_spans = partial(draw, rules.encode), partial(draw, rules.encode_spans)
        return copy_of(rules, encode=encode, encode_array=encode_array, count=count, encode_spans=encode_spans)

    def _along(
        self, make: Callable[[str, frozenset[str]], Found], paths: list[Path], text: str, allowed: frozenset[str]
    ) -> Found:
        """Return what `make` makes of a text whose pieces take these paths."""
        self._chosen = iter(paths)
        return make(text, allowed)


_Chain: TypeAlias = "tuple[_Chain, Path] | None"  # the paths through the pieces so far, the last one first


def _no_paths(name: str) -> InputError:
    return InputError(f"{name} has no scores by which several segmentations compare: its model is not Unigram")


def _unchained(chain: _Chain) -> list[Path]:
    paths = []
    while chain is not None:
        chain, path = chain
        paths.append(path)
    return paths[::-1]
