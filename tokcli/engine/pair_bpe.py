"""Byte pair encoding by a list of merges, as tokenizer.json, GGUF and GPT-2's files have it: characters to tokens.

What merges is a pair of tokens, not (as in bpe.py) any two whose bytes together are a token; ids say nothing about the
order. The rules are those of Hugging Face's model BPE: unknown characters, bytes in their place, prefix and suffix.
"""

from __future__ import annotations

import heapq
import re
from array import array
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from itertools import chain

from tokcli.engine import backend
from tokcli.engine.models import Token, byte_token, texts_of
from tokcli.engine.ranked import Ranked, ranks_of_texts
from tokcli.errors import InputError

Merges = Mapping[int, tuple[int, int]]  # left << SHIFT | right -> (rank, id of both together)
SHIFT = 32
_SPACE = "\u2581"
_LONG = 64  # characters, from which on a piece is worth cutting


class MergeList(Mapping[int, tuple[int, int]]):
    """`Merges` that are known as a list: in their order three ids each, left, right, and what they make.

    No two have the same parts. Objects for all of them are made only where one is asked for.

    >>> MergeList(array("I", [0, 1, 2]))[0 << SHIFT | 1]
    (0, 2)
    """

    def __init__(self, ids: array[int]) -> None:
        self.ids = ids

    @cached_property
    def table(self) -> dict[int, tuple[int, int]]:
        """The mapping itself."""
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
        """Merges of tokens, each "left right" (text, or UTF-8) or [left, right], of which `prefix` characters of the
        right one are left out; None where native code cannot read them, or not all of them are merges.
        """
        native = backend.native()
        if native is None:
            return None
        try:
            found = native.merge_ids(list(ids), array("I", ids.values()), items, prefix)
        except (ValueError, OverflowError):
            return None
        return None if found is None else MergeList(array("I", found))


def in_order(merges: Merges) -> array[int]:
    """Merges by their ranks, as three ids each in a row: left, right, made."""
    if isinstance(merges, MergeList):
        return merges.ids
    mask = (1 << SHIFT) - 1
    by_rank = sorted(merges.items(), key=lambda item: item[1][0])
    return array("I", chain.from_iterable((pair >> SHIFT, pair & mask, made) for pair, (_, made) in by_rank))


@dataclass(frozen=True)
class PairBpe:
    """A vocabulary and its merges.

    >>> model = PairBpe({"a": 0, "b": 1, "ab": 2}, {0 << 32 | 1: (0, 2)})
    >>> model.encode("abb")
    (2, 1)
    """

    ids: Mapping[str, int]
    merges: Merges = field(repr=False)
    unk_token: str | None = None
    fuse_unk: bool = False
    byte_fallback: bool = False
    ignore_merges: bool = False  # of a piece that is a token
    prefix: str = ""  # of every character but the first
    suffix: str = ""  # of the last one
    name: str = "the vocabulary"

    def encode(self, piece: str) -> tuple[int, ...]:
        """The ids of a piece."""
        if self.ignore_merges and (number := self.ids.get(piece)) is not None:
            return (number,)
        if len(piece) > _LONG and self._word_pattern is not None:
            return tuple(number for word in self._word_pattern.findall(piece) for number in self._word_ids(word))
        return tuple(number for number, _ in self._word(piece))

    @cached_property
    def _word_pattern(self) -> re.Pattern[str] | None:
        """Cuts a long piece where nothing can merge: before SentencePiece's spaces, if no merge has one inside."""
        if self.prefix or self.suffix or _SPACE not in self.ids:
            return None
        if self.unk_token is None and not all(byte_token(byte) in self.ids for byte in range(256)):
            return None  # what is unknown is nothing, and what stands around it merges
        texts, inside = self._texts, re.compile(f"[^{_SPACE}]{_SPACE}")
        if any(inside.search(texts[made]) for _, made in self._table.values()):
            return None
        return re.compile(f"{_SPACE}*[^{_SPACE}]+|{_SPACE}+")

    @cached_property
    def _word_ids(self) -> Callable[[str], tuple[int, ...]]:
        return lru_cache(maxsize=1 << 16)(lambda word: tuple(number for number, _ in self._word(word)))

    def tokens(self, piece: str) -> list[Token]:
        """The same, and where they stand."""
        if self.ignore_merges and (number := self.ids.get(piece)) is not None:
            return [Token(number, piece, 0, len(piece))]
        # a byte's token stands in its character, those of a suffix in the last one
        ends: list[int] = []
        for at, char in enumerate(piece):
            ends += [at] * len(char.encode())
        ends += [len(piece) - 1] * len(piece) * len((self.prefix + self.suffix).encode())
        texts, found, at = self.texts(), [], 0
        for number, size in self._word(piece):
            found.append(Token(number, texts[number], ends[at], ends[at + size - 1] + 1))
            at += size
        return found

    @property
    def is_plain(self) -> bool:
        """Whether there is nothing to it but merging."""
        return not (self.prefix or self.suffix)

    def ranks(self) -> Ranked | None:
        """The same as ranks by bytes, where characters stand for bytes: see `ranks_of_merges`."""
        return ranks_of_texts(self.ids, in_order(self.merges), finds_whole=self.ignore_merges)

    @cached_property
    def _table(self) -> Merges:
        """The merges as they are asked for quickest."""
        return self.merges.table if isinstance(self.merges, MergeList) else self.merges

    def texts(self) -> dict[int, str]:
        """The text of each id."""
        return self._texts

    def parents(self, number: int) -> tuple[int, int] | None:
        """The two ids that merge into an id; None where none do."""
        text = self._texts.get(number, "")
        goes_on = bool(self.prefix) and text.startswith(self.prefix)
        ends = bool(self.suffix) and text.endswith(self.suffix)
        letters = text[len(self.prefix) * goes_on : len(text) - len(self.suffix) * ends]
        last = len(letters) - 1
        names = (
            (self.prefix if at or goes_on else "") + letter + (self.suffix if ends and at == last else "")
            for at, letter in enumerate(letters)
        )
        parts = [self.ids.get(name) for name in names]
        known = [part for part in parts if part is not None]
        return last_two_ids(known, self._table, number) if len(known) == len(parts) else None

    @cached_property
    def _texts(self) -> dict[int, str]:
        return texts_of(self.ids)

    def _word(self, piece: str) -> list[tuple[int, int]]:
        """(id, bytes of the piece) of what merging leaves."""
        parts = self._parts(piece)
        return merge(parts, self._table) if len(parts) > 1 else parts

    def _parts(self, piece: str) -> list[tuple[int, int]]:
        parts: list[tuple[int, int]] = []
        unknown = 0  # bytes of what is unknown and not yet a part
        last = len(piece) - 1
        get = self.ids.get
        for at, char in enumerate(piece):
            text = (self.prefix if at else "") + char + (self.suffix if at == last else "")
            size = 1 if char < "\x80" else len(char.encode())
            if (number := get(text)) is not None:
                if unknown:
                    parts.append((self._unknown_id(char), unknown))
                    unknown = 0
                parts.append((number, size))
                continue
            if self.byte_fallback:
                # the library adds bytes even before what was unknown, which is then in the wrong place
                numbers = [get(byte_token(byte)) for byte in text.encode()]
                if None not in numbers:
                    parts += [(number, 1) for number in numbers if number is not None]
                    continue
            if self.unk_token is not None:
                if unknown and not self.fuse_unk:
                    parts.append((self._unknown_id(char), unknown))
                    unknown = 0
                unknown += size
        if unknown:
            parts.append((self._unknown_id(piece[-1]), unknown))
        return parts

    def _unknown_id(self, char: str) -> int:
        number = self.ids.get(self.unk_token or "")
        if number is None:
            name = (self.unk_token or "")[:40]
            raise InputError(f"{char!r} is no token, and {self.name} has no {name!r} to stand for it")
        return number


def last_two_ids(parts: Sequence[int], merges: Merges, made: int) -> tuple[int, int] | None:
    """The two ids that merge into `made`, as merging its own parts comes to them; None where it does not."""
    left = merge([(part, 1) for part in parts], merges, 2)
    if len(left) != 2:
        return None
    pair = left[0][0], left[1][0]
    found = merges.get(pair[0] << SHIFT | pair[1])
    return pair if found is not None and found[1] == made else None


def merge(parts: Sequence[tuple[int, int]], merges: Merges, leave: int = 1) -> list[tuple[int, int]]:
    """What merging leaves of (id, size) parts, at least `leave`: the lowest rank first, the leftmost of equals.

    O(n log n): a heap of (rank, position, id made), stale entries skipped, and a linked list of parts.
    """
    ids = [number for number, _ in parts]
    sizes = [size for _, size in parts]
    count = len(ids)
    following = list(range(1, count + 1))  # count: there is none
    previous = list(range(-1, count - 1))
    get = merges.get
    heap = [
        (found[0], at, found[1])
        for at in range(count - 1)
        if (found := get(ids[at] << SHIFT | ids[at + 1])) is not None
    ]
    if not heap:
        return list(parts)
    heapq.heapify(heap)
    pop, push = heapq.heappop, heapq.heappush
    left_over = count
    while heap and left_over > leave:
        _, at, made = pop(heap)
        if ids[at] < 0 or (right := following[at]) == count:
            continue
        found = get(ids[at] << SHIFT | ids[right])
        if found is None or found[1] != made:
            continue
        left_over -= 1
        ids[at] = made
        sizes[at] += sizes[right]
        ids[right] = -1  # gone
        behind = following[at] = following[right]
        if behind < count:
            previous[behind] = at
            if (found := get(made << SHIFT | ids[behind])) is not None:
                push(heap, (found[0], at, found[1]))
        before = previous[at]
        if before >= 0 and (found := get(ids[before] << SHIFT | made)) is not None:
            push(heap, (found[0], before, found[1]))
    return [(number, size) for number, size in zip(ids, sizes, strict=True) if number >= 0]
