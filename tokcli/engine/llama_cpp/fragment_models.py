"""`FragmentModel`, what the tokenizer of a GGUF file asks of its model, and three models: SPM, RWKV's and PLaMo 2's.

Each does what llama.cpp does (src/llama-vocab.cpp). SPM is SentencePiece's BPE, but a merge may make any token, and
unknown characters become bytes. RWKV takes the longest token at each byte. PLaMo 2 takes the tokens whose scores have
the highest sum; scores are whole numbers (ten-thousandths), so that rounding decides nothing, and the best path is
searched from the end of the text, whereas bpe/lattice.py sums floats from the beginning.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import pairwise
from typing import ClassVar, Protocol, cast

from tokcli.engine.base.longest_match import LongestMatch
from tokcli.engine.bpe.bpe import BoundedCache, MergeOrder, ModelKind, last_two, merge_bounds, rank_of_score
from tokcli.engine.bpe.byte_alphabet import VISIBLE_SPACE, byte_token
from tokcli.engine.bpe.lattice import prefixes
from tokcli.engine.llama_cpp.token_bytes import unescaped
from tokcli.engine.spec.models import BYTE, LlamaModel
from tokcli.engine.spec.spec import TokenizerSpec
from tokcli.engine.text_tokenizer import words_at_spaces
from tokcli.engine.tiktoken.text_ranks import TextRanks
from tokcli.errors import InputError

_UNKNOWN, _INVALID = -10_000_000, -20_000_000  # PLaMo's scores; a token with the second, or less, is never taken
_BYTE_ORDER_MARK = "\ufeff"


class FragmentModel(Protocol):
    """A model for fragments, the text between special tokens, by its spec, with default implementations."""

    model_kind: ClassVar[ModelKind] = "pieces"
    uses_scores: ClassVar[bool] = False
    splits_at_spaces: ClassVar[bool] = True
    spec: TokenizerSpec
    data: LlamaModel

    def __init__(self, spec: TokenizerSpec) -> None:
        self.spec, self.data = spec, cast(LlamaModel, spec.model)

    @cached_property
    def ids(self) -> dict[str, int]:
        """The id of each token."""
        return {text: id for id, text in enumerate(self.data.texts)}

    def unknown_id(self) -> int:
        """Return the id of unknown text; InputError if there is none."""
        if self.data.unknown is None:
            raise InputError(f"{self.spec.name} has no token for unknown text")
        return self.data.unknown

    def tokenize(self, text: str) -> Sequence[int]:
        """Return the ids of a text."""
        ...

    def encode_after(self, before: str, total: float, text: str) -> tuple[list[int], float]:
        """Return the ids of a text that continues another, and the sum of all scores after it, for models with sums.

        `before` is a letter that stands for the text before, and `total` its sum.
        """
        del before
        return list(self.tokenize(text)), total

    def split(self, text: str) -> list[str]:
        """Return the pieces of a text as they occur in it: words, where this `splits_at_spaces`."""
        return words_at_spaces(text)

    def parents(self, text: str) -> tuple[int, int] | None:
        """Return the two ids that merge into the token with this text; None if none do."""
        del text
        return None

    def merge_order(self) -> MergeOrder | None:
        """Return a function that gives the rank of the merge of two ids into a third; None if nothing merges."""
        return None

    def text_ranks(self) -> TextRanks | None:
        """Return ranks and a known pattern that give the same ids, if there are such."""
        return None


class LlamaSpm(FragmentModel):
    """SPM: the best pair of neighbours merges first, by the score of the token that it makes."""

    model_kind = "merges"
    uses_scores = True

    def __init__(self, spec: TokenizerSpec) -> None:
        super().__init__(spec)
        self._cache = BoundedCache(self._merged)

    @cached_property
    def _word_pattern(self) -> re.Pattern[str]:
        """The pattern that cuts text before spaces, where nothing can merge; all text if a token has a space inside."""
        inside = re.compile(f"[^{VISIBLE_SPACE}]{VISIBLE_SPACE}")
        whole = any(map(inside.search, self.ids))
        return re.compile("(?s:.+)" if whole else f"{VISIBLE_SPACE}*[^{VISIBLE_SPACE}]+|{VISIBLE_SPACE}+")

    @cached_property
    def byte_ids(self) -> list[int | None]:
        """The id of each byte; None for a byte without a token."""
        return [self.ids.get(byte_token(n), self.ids.get(chr(n)) if n < 128 else None) for n in range(256)]

    def bytes_to_ids(self, text: str) -> Iterator[int]:
        """Yield the ids of the bytes of a text; InputError for a byte without a token."""
        for byte in text.encode():
            if (id := self.byte_ids[byte]) is None:
                raise InputError(f"{self.spec.name} has no token for the byte 0x{byte:02x}")
            yield id

    def tokenize(self, text: str) -> list[int]:
        """Return the ids of a text."""
        cache = self._cache
        return [id for word in self._word_pattern.findall(text.replace(" ", VISIBLE_SPACE)) for id in cache[word]]

    @cached_property
    def _ranks(self) -> dict[str, float]:
        """A rank for each token: the lowest merges first."""
        return {text: -score for text, score in zip(self.data.texts, self.data.scores, strict=True)}

    def _merged(self, word: str) -> list[int]:
        ids: list[int] = []
        for begin, end in pairwise(merge_bounds(self._ranks, word)):
            id = self.ids.get(word[begin:end])
            ids += self.bytes_to_ids(word[begin:end]) if id is None else (id,)
        return ids

    def merge_order(self) -> MergeOrder:
        """Return a function that gives the rank of the merge of two ids into a third."""
        scores = self.data.scores
        return lambda _left, _right, made: rank_of_score(scores[made])

    def parents(self, text: str) -> tuple[int, int] | None:
        """Return the two ids that merge into a token; None if none do."""
        found = last_two(self._ranks, text)
        if found is None or found[0] not in self.ids or found[1] not in self.ids:
            return None
        return self.ids[found[0]], self.ids[found[1]]


class Rwkv(FragmentModel):
    """RWKV's model: the longest token at each byte, or the id of unknown text.

    >>> Rwkv(TokenizerSpec(LlamaModel("rwkv", ["?", "a", "ab"], (), (), unknown=0))).tokenize("aabc")
    [1, 2, 0]
    """

    def __init__(self, spec: TokenizerSpec) -> None:
        super().__init__(spec)
        self.tokens = {unescaped(text): id for id, text in enumerate(self.data.texts)}
        self._match = LongestMatch(self.tokens)

    def tokenize(self, text: str) -> list[int]:
        """Return the ids of a text."""
        data = text.encode()
        ids, at = [], 0
        while at < len(data):
            end = self._match.end(data, at)
            ids.append(self.tokens[data[at:end]] if end > at else self.unknown_id())
            at = max(end, at + 1)
        return ids


class Plamo(FragmentModel):
    """PLaMo 2's model: the score of each token that is no byte, and the ids of the 256 bytes."""

    def __init__(self, spec: TokenizerSpec) -> None:
        super().__init__(spec)
        self._tokens: dict[str, tuple[int, int]] = {}
        self._byte_ids: dict[int, int] = {}
        for id, (text, score, kind) in enumerate(zip(self.data.texts, self.data.scores, self.data.kinds, strict=True)):
            if kind & BYTE:
                self._byte_ids[int(text[3:5], 16)] = id
            else:
                self._tokens[text] = id, _rounded(score * 1e4)

    @cached_property
    def _prefixes(self) -> frozenset[str]:
        return prefixes(self._tokens)

    def tokenize(self, text: str) -> list[int]:
        """Return the ids of a text without its byte order mark; characters that are in no token become bytes."""
        text = text.removeprefix(_BYTE_ORDER_MARK)
        size = len(text)
        costs = [0] * (size + 1)
        best: list[tuple[int, int]] = [(0, -1)] * size  # (characters, id) of the first token; -1 for bytes
        for begin in range(size - 1, -1, -1):
            cost, found, is_last = 1 << 60, (1, -1), False
            for length, id, score in self._tokens_at(text, begin):
                if score > _INVALID and costs[begin + length] - score < cost:
                    cost, found = costs[begin + length] - score, (length, id)
                if is_last := score == _UNKNOWN:
                    break
            if not is_last and costs[begin + 1] - _UNKNOWN < cost:
                cost, found = costs[begin + 1] - _UNKNOWN, (1, -1)
            costs[begin], best[begin] = cost, found
        ids: list[int] = []
        at = 0
        while at < size:
            length, id = best[at]
            ids += (self._byte_ids[byte] for byte in text[at].encode()) if id < 0 else (id,)
            at += length
        return ids

    def _tokens_at(self, text: str, begin: int) -> list[tuple[int, int, int]]:
        """Return (characters, id, score) of the tokens that begin at a place of the text, the longest first."""
        out = []
        for end in range(begin + 1, len(text) + 1):
            part = text[begin:end]
            if part not in self._prefixes:
                break
            if part in self._tokens:
                out.append((end - begin, *self._tokens[part]))
        return out[::-1]


def _rounded(value: float) -> int:
    """Round to the nearest whole number, halves away from zero."""
    return int(value + 0.5) if value >= 0 else -int(-value + 0.5)
