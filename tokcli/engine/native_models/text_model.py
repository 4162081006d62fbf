"""`NativeText`: the native twin of a tokenizer: all of its stages from text to ids.

A twin gives the ids that the rules in Python give, or raises `Refused`. The other modules of this folder build twins,
with the native code's constants and tables from here; _native.pyi says what each method takes.
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Literal, TypeVar, cast

from tokcli.engine import Protocol, backend
from tokcli.engine.base.arguments import NONE
from tokcli.engine.stream.parallel import threads_inside
from tokcli.engine.tokens import Tokens

if TYPE_CHECKING:
    from typing_extensions import Buffer

    from tokcli.engine import _native
    from tokcli.engine.spec.image import RanksSpec
    from tokcli.engine.stream.utf8 import TextOrUtf8

_FOUND, _IGNORED = 1, 2  # AddedTokens::kFound, kIgnored

_LONG = 1 << 16  # characters: threads share none that is shorter (and texts of a few words are many)
WHOLE, AT_SPACES, WHERE_POSSIBLE = range(3)  # Words
NEVER_WHOLE, ANY_WHOLE, LINES_WHOLE = range(3)  # WholeFirst
EACH_WORD, SUMS_32, SUMS_64 = range(3)  # Kind
NEVER, ALWAYS, FIRST = range(3)  # Prefix
PREPEND, REPLACE, SQUEEZE, CHARS, STRIP, SPACES = range(6)  # Step::Kind

Found = TypeVar("Found")
PlacedIds = tuple[memoryview, memoryview, memoryview, "memoryview | None"]
"""The ids of records (uint32), where those of each begin and the last end, and two places for each id (uint64).

Also, of ranks alone, their `Tokens.blanks` (uint32).
"""
NamedToken = tuple[str, bool]  # an added token's content, and whether it is special


class Refused(Exception):
    """A text that native code does not encode: one with a byte or a character for which it lacks a token or a class."""


class NativeText:
    """A native model and its added tokens: it encodes whole texts exactly as the rules in Python do.

    Each method raises Refused for a text that only the rules can encode, and ValueError for bytes that are no UTF-8.
    `raw` are the added tokens that are found in the text as given, `normalized` those found in normalized text;
    `vocabulary_image` is that of the ranks, for a model that has ranks, which `ranks` describes, and
    `programs` those that cut text for ranks without a pattern.
    """

    def __init__(
        self,
        model: _native.TextModel,
        raw: Iterable[NamedToken] = (),
        normalized: Iterable[NamedToken] = (),
        *,
        vocabulary_image: Buffer | None = None,
        ranks: RanksSpec | None = None,
        programs: bytes = b"",
    ) -> None:
        self.model, self.vocabulary_image, self.ranks, self.programs = model, vocabulary_image, ranks, programs
        self.raw, self.normalized = tuple(raw), tuple(normalized)

        def states(allowed: frozenset[str]) -> tuple[bytes, bytes]:
            raw, normalized = (
                bytes(_IGNORED if special and text not in allowed else _FOUND for text, special in tokens)
                for tokens in (self.raw, self.normalized)
            )
            return raw, normalized

        self._cached_states = lru_cache(maxsize=8)(states)
        self._no_states = states(NONE)

    def _states(self, allowed: frozenset[str]) -> tuple[bytes, bytes]:
        return self._cached_states(allowed) if allowed else self._no_states

    @property
    def counts_blanks(self) -> bool:
        """Whether the tokens that have places also have their `blanks`: those of ranks."""
        return self.vocabulary_image is not None

    def image(self) -> bytes:
        """Return the tables as bytes that a native model can open."""
        return self.model.image()

    def encode(self, text: TextOrUtf8, allowed: frozenset[str]) -> list[int]:
        """Return the ids of a text, in which the special tokens in `allowed` become ids."""
        raw, normalized = self._cached_states(allowed) if allowed else self._no_states
        ids = self.model.encode(text, raw, normalized, 1 if len(text) < _LONG else threads_inside(), True)
        if ids is None:
            raise Refused
        return ids

    def encode_array(self, text: TextOrUtf8, allowed: frozenset[str]) -> memoryview:
        """Return the ids of a text as an array (uint32)."""
        raw, normalized = self._cached_states(allowed) if allowed else self._no_states
        return _array("I", self.model.encode(text, raw, normalized, 1 if len(text) < _LONG else threads_inside()))

    def encode_next(
        self, text: TextOrUtf8, allowed: frozenset[str], before: str, total: float, *, places: bool
    ) -> tuple[Tokens, float]:
        """Return the tokens of a text that continues another, and the sum of scores after it; see `TextTokenizer`."""
        ids, total, spans, _ = _taken(
            self.model.encode_part(text, *self._states(allowed), threads_inside(), not before, True, total, places)
        )
        return _tokens(ids, spans), total

    def encode_batch(self, texts: list[str], threads: int) -> list[list[int]]:
        """Return the ids of each text, in which no special token is looked for."""
        made = self.model.encode_batch(texts, *self._states(NONE), threads, True)
        if None in made:
            raise Refused
        return cast("list[list[int]]", made)

    def encode_array_batch(self, texts: list[str], threads: int) -> tuple[memoryview, memoryview]:
        """Return the ids of all texts, and where those of each begin and the last ones end (uint64)."""
        ids, offsets = _taken(self.model.encode_batch(texts, *self._states(NONE), threads, False))
        return _array("I", ids), _array("Q", offsets)

    def count(self, text: TextOrUtf8, allowed: frozenset[str]) -> int:
        """Return the number of ids of a text."""
        raw, normalized = self._cached_states(allowed) if allowed else self._no_states
        return _taken(self.model.count(text, raw, normalized, 1 if len(text) < _LONG else threads_inside()))

    def encode_spans(
        self, text: TextOrUtf8, allowed: frozenset[str], *, begins: bool = True, ends: bool = True
    ) -> Tokens:
        """Return the tokens of a text, or of a part of one, with their places in characters.

        Of a part, as `part_ends` gives them, `begins` and `ends` say whether the whole text begins and ends with it.
        """
        ids, _, spans, blanks = _taken(
            self.model.encode_part(text, *self._states(allowed), threads_inside(), begins, ends, 0.0, True)
        )
        return _tokens(ids, spans, blanks)

    def piece_ends(self, text: bytes) -> bytes:
        """Return the bytes (uint64) at which the pieces of a text end, which no special token is among."""
        return _taken(self.model.split(text, *self._states(NONE), threads_inside()))

    def part_ends(self, text: memoryview, size: int) -> memoryview:
        """Return the bytes (uint64) at which parts of a text end whose tokens and places are found one by one.

        Each has `size` bytes or a few more. There are none where the text has to be seen whole, or has added tokens.
        """
        return _array("Q", self.model.part_ends(text, *self._states(NONE), size))

    def place_records(self, data: Buffer, ends: Buffer, separator_size: int) -> PlacedIds:
        """Return what `RecordEncoder.encode_records` does, with places of the ids in their records, and blanks."""
        states = self._states(NONE)
        found = self.model.encode_records(memoryview(data), ends, separator_size, *states, b"", True, True)
        ids, offsets, spans, blanks = _taken(found)
        return (
            _array("I", ids),
            _array("Q", offsets),
            _array("Q", spans),
            None if blanks is None else _array("I", blanks),
        )

    def records_in(self, data: bytes, allowed: frozenset[str], before: bytes = b"") -> NativeRecords | None:
        """Return what encodes the records in a buffer of UTF-8 at once; None where they go one by one.

        The special tokens in `allowed` become ids. `before` (UTF-8) is put before each record that is not empty.
        """
        del data
        return NativeRecords(self.model, self._states(allowed), before)


class RecordEncoder(Protocol):
    """Encodes many records in one call.

    The records are in one buffer; each ends before one of `ends` (uint64), where its separator ends. Each method raises
    Refused where a record cannot be encoded so.
    """

    def encode_records(self, data: Buffer, ends: Buffer, separator_size: int) -> tuple[memoryview, memoryview]:
        """Return the ids of all records (uint32), and where those of each begin and the last ones end (uint64)."""

    def count_records(self, data: Buffer, ends: Buffer, separator_size: int) -> memoryview:
        """Return the number of ids of each record (uint32)."""


class NativeRecords(RecordEncoder):
    """Encodes many records at once with a native model."""

    def __init__(self, model: _native.TextModel, states: tuple[bytes, bytes], before: bytes) -> None:
        self._model, self._more = model, (*states, before)

    def encode_records(self, data: Buffer, ends: Buffer, separator_size: int) -> tuple[memoryview, memoryview]:
        """Return the ids of all records, and where those of each begin and the last ones end (uint64)."""
        found = self._model.encode_records(memoryview(data), ends, separator_size, *self._more, True, False)
        ids, offsets = _taken(found)
        return _array("I", ids), _array("Q", offsets)

    def count_records(self, data: Buffer, ends: Buffer, separator_size: int) -> memoryview:
        """Return the number of ids of each record."""
        made = self._model.encode_records(memoryview(data), ends, separator_size, *self._more, False, False)
        return _array("I", made)


def _taken(found: Found | None) -> Found:
    """Return what native code found; raise Refused if that is None."""
    if found is None:
        raise Refused
    return found


def _array(typecode: Literal["I", "Q"], numbers: Buffer | None) -> memoryview:
    """Return numbers that native code made as an array; raise Refused if there are none."""
    return memoryview(_taken(numbers)).cast(typecode)


TwinFor = Callable[[frozenset[str]], NativeText]
"""Gives the twin for the special tokens that become their ids."""


def _tokens(ids: Buffer, spans: Buffer | None, blanks: Buffer | None = None) -> Tokens:
    """Return ids (uint32) with their spans (uint64) and their blanks (uint32), where these are known."""
    return Tokens(
        memoryview(ids).cast("I"),
        spans=None if spans is None else memoryview(spans).cast("Q"),
        blanks=None if blanks is None else memoryview(blanks).cast("I"),
    )


def model_of(ids: Mapping[str, int]) -> _native.TextModel:
    """Make a native model with these tokens; what it does with them has yet to be set.

    ValueError if a text cannot be encoded in UTF-8, OverflowError if an id has more than 32 bits.
    """
    return model_of_bytes(list(map(str.encode, ids)), ids.values())


def model_of_bytes(tokens: Sequence[bytes], ids: Iterable[int]) -> _native.TextModel:
    """Make a native model as `model_of` does, from tokens given as bytes, none of them empty."""
    model: _native.TextModel = backend.code().TextModel(b"".join(tokens), array("I", map(len, tokens)), array("I", ids))
    return model


def opened_model(image: memoryview) -> _native.TextModel:
    """Return the native model in an image, which stays where it is; ValueError where there is none."""
    if not backend.is_native():
        raise ValueError("there is no native backend")
    model: _native.TextModel = backend.code().TextModel(image)
    return model


def orders_of(scores: Sequence[float]) -> array[int]:
    """Return a number for each score that is lower for a higher score, and equal for equal ones.

    ValueError if a score is not finite.

    >>> orders_of([-1.0, 0.5, -1.0]).tolist()
    [1, 0, 1]
    """
    if not are_finite(scores):
        raise ValueError("a score is not finite")
    order = {score: number for number, score in enumerate(sorted(set(scores), reverse=True))}
    return array("I", map(order.__getitem__, scores))


def are_finite(scores: Sequence[float]) -> bool:
    """Return whether all scores are finite numbers, which the native code's sums need."""
    return all(map(math.isfinite, scores))
