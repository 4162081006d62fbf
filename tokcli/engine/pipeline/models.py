"""The models of a tokenizer.json, which turn pieces of text into ids: WordLevel, WordPiece and Unigram.

BPE is in bpe/pairs.py, Unigram's search in bpe/lattice.py. Normalizing and cutting text is left to the other parts.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import ClassVar, Protocol

from tokcli.engine.base.longest_match import LongestMatch
from tokcli.engine.bpe.bpe import MergeOrder, ModelKind
from tokcli.engine.bpe.byte_alphabet import byte_token
from tokcli.engine.bpe.lattice import UNKNOWN_PENALTY, Path, best_path, prefixes
from tokcli.engine.bpe.pairs import PairBpe, TokenSpan
from tokcli.engine.spec.models import Pairs, TokenizerJsonModel, Unigram, WordLevel, WordPiece
from tokcli.engine.tokens import texts_of
from tokcli.errors import InputError


class Model(Protocol):
    """The interface of a model, as a pipeline uses it."""

    @property
    def ids(self) -> Mapping[str, int]:
        """The id of each token."""

    def tokenize(self, piece: str) -> tuple[int, ...]:
        """Return the ids of a piece."""

    def tokens(self, piece: str) -> list[TokenSpan]:
        """Return the tokens of a piece with their places in it."""

    def texts(self) -> dict[int, str]:
        """Return the text of each id."""

    @property
    def model_kind(self) -> ModelKind:
        """The way to find tokens: by merging, on the best path, or by looking pieces up."""

    @property
    def ignore_merges(self) -> bool:
        """Whether a piece that is a token is taken without merging."""

    def merge_order(self) -> MergeOrder | None:
        """Return a function that gives the rank of the merge of two ids into a third; None if nothing merges."""

    def parents(self, id: int) -> tuple[int, int] | None:
        """Return the two ids that merge into an id; None if none do."""

    def scores(self) -> Sequence[float]:
        """Return the score of each id; empty where the model does not choose by scores."""

    @property
    def why_no_ranks(self) -> str:
        """The rules of the model that ranks cannot express, in words; "" where its merges may be ranks."""


class NeverMerges:
    """A base of models that do not merge, so that tokens have no parents. Subclasses define `ids` and `tokens`."""

    ignore_merges: ClassVar[bool] = False

    def tokenize(self: Model, piece: str) -> tuple[int, ...]:
        """Return the ids of a piece."""
        return tuple(token.id for token in self.tokens(piece))

    def texts(self: Model) -> dict[int, str]:
        """Return the text of each id."""
        return texts_of(self.ids)

    def merge_order(self) -> MergeOrder | None:
        """Return None: nothing merges."""
        return None

    def parents(self, id: int) -> tuple[int, int] | None:
        """Return None: no two ids merge into one."""
        del id
        return None

    def scores(self) -> Sequence[float]:
        """Return no scores."""
        return ()


def unknown_id(ids: Mapping[str, int], token: str, piece: str) -> int:
    """Return the id of the token for unknown text; InputError names the piece if the vocabulary has no such token."""
    id = ids.get(token)
    if id is None:
        raise InputError(f"{piece[:40]!r} is not a token, and the vocabulary has no {token[:40]!r} for unknown text")
    return id


class WholePieces(NeverMerges):
    """The model WordLevel: each piece is one token, or unknown."""

    why_no_ranks: ClassVar[str] = "its model (WordLevel), which has no merges"
    model_kind: ClassVar[ModelKind] = "pieces"

    def __init__(self, data: WordLevel) -> None:
        self.ids, self._unk_token = data

    def tokens(self, piece: str) -> list[TokenSpan]:
        """Return the token that a piece is, with its place."""
        id = self.ids.get(piece)
        if id is not None:
            return [TokenSpan(id, piece, 0, len(piece))]
        return [TokenSpan(unknown_id(self.ids, self._unk_token, piece), self._unk_token, 0, len(piece))]


class LongestTokens(NeverMerges):
    """The model WordPiece: the longest token at each place of a piece.

    >>> model = LongestTokens(WordPiece({"[UNK]": 0, "un": 1, "##able": 2, "##ab": 3}, "[UNK]", "##", 100))
    >>> model.tokenize("unable"), model.tokenize("unabel")
    ((1, 2), (0,))
    """

    why_no_ranks: ClassVar[str] = "its model (WordPiece), which has no merges"
    model_kind: ClassVar[ModelKind] = "pieces"

    def __init__(self, data: WordPiece) -> None:
        self.ids, self._unk_token, self._prefix, self._max_chars = data

    @cached_property
    def _beginnings(self) -> LongestMatch[str]:
        return LongestMatch(self.ids)

    @cached_property
    def _continuations(self) -> LongestMatch[str]:
        """The tokens that continue a word, without their prefix."""
        return LongestMatch(text.removeprefix(self._prefix) for text in self.ids if text.startswith(self._prefix))

    def tokens(self, piece: str) -> list[TokenSpan]:
        """Return the tokens of a piece with their places."""
        found = list(self._longest_tokens(piece)) if len(piece) <= self._max_chars else []
        if (found[-1].end if found else 0) == len(piece) <= self._max_chars:
            return found
        return [TokenSpan(unknown_id(self.ids, self._unk_token, piece), self._unk_token, 0, len(piece))]

    def _longest_tokens(self, piece: str) -> Iterator[TokenSpan]:
        """Yield the longest token at each place, up to the first place that has none."""
        at = 0
        while at < len(piece):
            end = (self._continuations if at else self._beginnings).end(piece, at)
            if end == at:
                return
            text = (self._prefix if at else "") + piece[at:end]
            yield TokenSpan(self.ids[text], text, at, end)
            at = end


class BestTokens(NeverMerges):
    """The model Unigram: the tokens with the highest total score. Adjacent unknown characters become one token."""

    why_no_ranks: ClassVar[str] = "its scores (Unigram)"
    model_kind: ClassVar[ModelKind] = "path"

    def __init__(self, data: Unigram) -> None:
        self.pieces, self.unk_id, self.byte_fallback = data

    def scores(self) -> Sequence[float]:
        """Return the score of each id."""
        return [score for _, score in self.pieces]

    @cached_property
    def ids(self) -> Mapping[str, int]:
        """The id of each token; of equal ones, the last."""
        return {text: id for id, (text, _) in enumerate(self.pieces)}

    @cached_property
    def path_scores(self) -> dict[str, float]:
        """The score of each token that a path may take."""
        return {text: self.pieces[id][1] for text, id in self.ids.items() if text}

    @cached_property
    def beginnings(self) -> frozenset[str]:
        """The prefixes of these tokens."""
        return prefixes(self.path_scores)

    @cached_property
    def unknown_score(self) -> float:
        """The score of a character that is not a token."""
        return min((score for _, score in self.pieces), default=0.0) - UNKNOWN_PENALTY

    def tokens(self, piece: str) -> list[TokenSpan]:
        """Return the tokens of a piece with their places; InputError for unknown text without a token for it."""
        found: list[TokenSpan] = []
        for begin, end in self._parts(piece):
            text = piece[begin:end]
            id = self.ids.get(text)  # adjacent unknown parts may form a token together, as in the library
            if id is not None:
                found.append(TokenSpan(id, text, begin, end))
            elif (named := self._byte_tokens(text)) is not None:
                found += [TokenSpan(id, name, begin, end) for id, name in named]
            elif self.unk_id is not None:
                found.append(TokenSpan(self.unk_id, text, begin, end))
            else:
                raise InputError(f"{text[:40]!r} is not a token, and the vocabulary has none for unknown text")
        return found

    def _byte_tokens(self, text: str) -> list[tuple[int, str]] | None:
        """Return the ids and names of a text's bytes; None if some byte has no token."""
        if not self.byte_fallback:
            return None
        names = list(map(byte_token, text.encode()))
        found = [(id, name) for name in names if (id := self.ids.get(name)) is not None]
        return found if len(found) == len(names) else None

    def path(self, piece: str) -> Path:
        """Return the path through a piece that is taken: the best one."""
        return best_path(piece, self.path_scores, self.beginnings, self.unknown_score)

    def _parts(self, piece: str) -> list[tuple[int, int]]:
        """Return where the parts of the path begin and end, with adjacent unknown parts joined into one."""
        out: list[tuple[int, int]] = []
        was_known = True
        for begin, end, is_token in self.path(piece):
            known = is_token and (self.unk_id is None or self.ids.get(piece[begin:end]) != self.unk_id)
            if known or was_known:
                out.append((begin, end))
            else:
                out[-1] = (out[-1][0], end)
            was_known = known
        return out

    def texts(self) -> dict[int, str]:
        """Return the text of each id."""
        return {id: text for id, (text, _) in enumerate(self.pieces)}


def model_of(data: TokenizerJsonModel, name: str) -> Model:
    """Return what turns pieces into ids as a model's data says; `name` is what messages call the vocabulary."""
    if isinstance(data, Pairs):
        return PairBpe(data, name)
    if isinstance(data, Unigram):
        return BestTokens(data)
    return LongestTokens(data) if isinstance(data, WordPiece) else WholePieces(data)
