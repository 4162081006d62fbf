"""Byte pair encoding by a list of merges, as tokenizer.json, GGUF and GPT-2's files have it: characters to tokens.

A merge joins one pair of tokens, not (as in bpe.py) any two whose bytes together are a token, and ids say nothing about
the order of merges. `PairBpe` has the rules of Hugging Face's model BPE: unknown characters, bytes in their place,
prefix and suffix.
"""

from __future__ import annotations

import re
from array import array
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import accumulate, chain, pairwise
from typing import ClassVar, NamedTuple

from tokcli.engine import backend
from tokcli.engine.bpe.bpe import BoundedCache, Join, MergeOrder, ModelKind, merge_parts
from tokcli.engine.bpe.byte_alphabet import VISIBLE_SPACE, byte_token
from tokcli.engine.bpe.ranks import Ranked, ranks_of_texts
from tokcli.engine.spec.models import PairMerges, Pairs
from tokcli.engine.tokens import texts_of
from tokcli.errors import InputError

SHIFT = 32  # bits between the two ids of a pair
_LONG = 64  # characters: it pays to cut a longer piece into words


class TokenSpan(NamedTuple):
    """An id, the text that it stands for, and its first and past-the-end character in the piece."""

    id: int
    text: str
    begin: int
    end: int


class MergeList(Mapping[int, tuple[int, int]]):
    """Merges as a flat list of three ids each, in the order of merging: left, right, and the id that they make.

    No two merges have the same pair. The dictionary of all merges is made when the first one is looked up.

    >>> MergeList(array("I", [0, 1, 2]))[0 << SHIFT | 1]
    (0, 2)
    """

    def __init__(self, ids: array[int]) -> None:
        self.ids = ids

    @cached_property
    def table(self) -> dict[int, tuple[int, int]]:
        """The rank and the id made of each pair, as a dictionary."""
        ids = self.ids
        pairs = [left << SHIFT | right for left, right in zip(ids[::3], ids[1::3], strict=True)]
        return dict(zip(pairs, enumerate(ids[2::3]), strict=True))

    def __getitem__(self, pair: int) -> tuple[int, int]:
        return self.table[pair]

    def __iter__(self) -> Iterator[int]:
        return iter(self.table)

    def __len__(self) -> int:
        return len(self.ids) // 3

    @staticmethod
    def of(ids: Mapping[str, int], items: Sequence[object], prefix: int = 0) -> MergeList | None:
        """Read merges natively, each "left right" (text or UTF-8) or [left, right].

        `prefix` characters of the right token are dropped when the two join. Return None without the native
        backend, or if one of `items` is not a merge of two tokens into a third.
        """
        native = backend.native()
        if native is None:
            return None
        try:
            found = native.merge_ids(list(ids), array("I", ids.values()), items, prefix)
        except (ValueError, OverflowError):
            return None
        return None if found is None else MergeList(array("I", found))


def in_order(merges: PairMerges) -> array[int]:
    """Return merges in the order of their ranks, as three ids each: left, right, made."""
    if isinstance(merges, MergeList):
        return merges.ids
    mask = (1 << SHIFT) - 1
    by_rank = sorted(merges.items(), key=lambda item: item[1][0])
    return array("I", chain.from_iterable((pair >> SHIFT, pair & mask, made) for pair, (_, made) in by_rank))


class PairBpe:
    """The rules of merging by pairs; `name` is what messages call the vocabulary.

    >>> model = PairBpe(Pairs({"a": 0, "b": 1, "ab": 2}, {0 << SHIFT | 1: (0, 2)}))
    >>> model.tokenize("abb")
    (2, 1)
    """

    model_kind: ClassVar[ModelKind] = "merges"
    why_no_ranks: ClassVar[str] = ""

    def __init__(self, data: Pairs, name: str = "the vocabulary") -> None:
        self.data, self._name = data, name
        self.ids, self.ignore_merges = data.ids, data.ignore_merges

    def merge_order(self) -> MergeOrder:
        """Return a function that gives the rank of the merge of two ids into a third."""
        merges = self._table
        return lambda left, right, _: merges[left << SHIFT | right][0]

    def scores(self) -> Sequence[float]:
        """Return an empty sequence: this model has no scores."""
        return ()

    def tokenize(self, piece: str) -> tuple[int, ...]:
        """Return the ids of a piece."""
        if self.ignore_merges and (id := self.ids.get(piece)) is not None:
            return (id,)
        if len(piece) > _LONG and self._word_pattern is not None:
            return tuple(id for word in self._word_pattern.findall(piece) for id in self._word_ids[word])
        return tuple(id for id, _ in self._word(piece))

    @cached_property
    def _word_pattern(self) -> re.Pattern[str] | None:
        """The pattern that cuts a long piece before SentencePiece's spaces; None if merges may cross such a place."""
        if not self.is_plain or VISIBLE_SPACE not in self.ids:
            return None
        if self.data.unk_token is None and not all(byte_token(byte) in self.ids for byte in range(256)):
            return None  # unknown characters are dropped, and their neighbours merge
        texts, inside = self._texts, re.compile(f"[^{VISIBLE_SPACE}]{VISIBLE_SPACE}")
        if any(inside.search(texts[made]) for _, made in self._table.values()):
            return None
        return re.compile(f"{VISIBLE_SPACE}*[^{VISIBLE_SPACE}]+|{VISIBLE_SPACE}+")

    @cached_property
    def _word_ids(self) -> BoundedCache[tuple[int, ...]]:
        return BoundedCache(lambda word: tuple(id for id, _ in self._word(word)))

    def tokens(self, piece: str) -> list[TokenSpan]:
        """Return the tokens of a piece with their places.

        A byte's token has the place of its character, a suffix that of the last character.
        """
        if self.ignore_merges and (id := self.ids.get(piece)) is not None:
            return [TokenSpan(id, piece, 0, len(piece))]
        ends: list[int] = []
        for at, char in enumerate(piece):
            ends += [at] * len(char.encode())
        ends += [len(piece) - 1] * len(piece) * len((self.data.prefix + self.data.suffix).encode())
        texts, found, at = self.texts(), [], 0
        for id, size in self._word(piece):
            found.append(TokenSpan(id, texts[id], ends[at], ends[at + size - 1] + 1))
            at += size
        return found

    @property
    def is_plain(self) -> bool:
        """Whether characters are merged as they are, without prefix and suffix."""
        return not (self.data.prefix or self.data.suffix)

    def ranks(self) -> Ranked | None:
        """Return the model as ranks of the bytes that its characters stand for; None if ranks cannot express it."""
        return ranks_of_texts(self.ids, in_order(self.data.merges), ignore_merges=self.data.ignore_merges)

    @cached_property
    def _table(self) -> PairMerges:
        """The merges in the form whose look-up is fastest."""
        return self.data.merges.table if isinstance(self.data.merges, MergeList) else self.data.merges

    def texts(self) -> dict[int, str]:
        """Return the text of each id."""
        return self._texts

    def parents(self, id: int) -> tuple[int, int] | None:
        """Return the two ids that merge into an id; None if none do."""
        text, prefix, suffix = self._texts.get(id, ""), self.data.prefix, self.data.suffix
        goes_on = bool(prefix) and text.startswith(prefix)
        ends = bool(suffix) and text.endswith(suffix)
        letters = text[len(prefix) * goes_on : len(text) - len(suffix) * ends]
        last = len(letters) - 1
        names = (
            (prefix if at or goes_on else "") + letter + (suffix if ends and at == last else "")
            for at, letter in enumerate(letters)
        )
        parts = [self.ids.get(name) for name in names]
        known = [part for part in parts if part is not None]
        return last_two_ids(known, self._table, id) if len(known) == len(parts) else None

    @cached_property
    def _texts(self) -> dict[int, str]:
        return texts_of(self.ids)

    def _word(self, piece: str) -> list[tuple[int, int]]:
        """Return (id, number of the piece's bytes) of each token of a piece."""
        parts = self._parts(piece)
        return merge(parts, self._table) if len(parts) > 1 else parts

    def _parts(self, piece: str) -> list[tuple[int, int]]:
        parts: list[tuple[int, int]] = []
        unknown = 0  # bytes of unknown characters that are no part yet
        last = len(piece) - 1
        get, data = self.ids.get, self.data
        for at, char in enumerate(piece):
            text = (data.prefix if at else "") + char + (data.suffix if at == last else "")
            size = 1 if char < "\x80" else len(char.encode())
            if (id := get(text)) is not None:
                if unknown:
                    parts.append((self._unknown_id(char), unknown))
                    unknown = 0
                parts.append((id, size))
                continue
            if data.byte_fallback:
                # The library adds bytes even before pending unknown characters, which then come too late.
                ids = [get(byte_token(byte)) for byte in text.encode()]
                if None not in ids:
                    parts += [(id, 1) for id in ids if id is not None]
                    continue
            if data.unk_token is not None:
                if unknown and not data.fuse_unk:
                    parts.append((self._unknown_id(char), unknown))
                    unknown = 0
                unknown += size
        if unknown:
            parts.append((self._unknown_id(piece[-1]), unknown))
        return parts

    def _unknown_id(self, char: str) -> int:
        id = self.ids.get(self.data.unk_token or "")
        if id is None:
            name = (self.data.unk_token or "")[:40]
            raise InputError(f"{char!r} is not a token, and {self._name} has no {name!r} for unknown text")
        return id


def last_two_ids(parts: Sequence[int], merges: PairMerges, made: int) -> tuple[int, int] | None:
    """Return the two ids that merge into `made`, found by merging its single characters; None if none do."""
    left = merge([(part, 1) for part in parts], merges, 2)
    if len(left) != 2:
        return None
    pair = left[0][0], left[1][0]
    found = merges.get(pair[0] << SHIFT | pair[1])
    return pair if found is not None and found[1] == made else None


def merge(
    parts: Sequence[tuple[int, int]],
    merges: PairMerges,
    leave: int = 1,
    merge_all: Callable[[list[int], Join[int]], list[int]] | None = None,
) -> list[tuple[int, int]]:
    """Return parts (id, size), merged until `leave` are left or none can merge; the sizes of merged parts add up.

    `merge_all` is another way to merge than `merge_parts`.
    """
    ids = [id for id, _ in parts]
    ends = list(accumulate(size for _, size in parts))
    get = merges.get

    def join(left: int, right: int) -> tuple[float, int] | None:
        return get(left << SHIFT | right)

    starts = merge_parts(ids, join, leave) if merge_all is None else merge_all(ids, join)
    bounds = [0, *(ends[at - 1] for at in starts[1:]), *ends[-1:]]
    return [(ids[at], end - begin) for at, (begin, end) in zip(starts, pairwise(bounds), strict=True)]
