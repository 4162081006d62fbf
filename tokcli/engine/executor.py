"""`Executor`: whole texts to ids, natively where a tokenizer has a native twin, else by its rules in Python.

A whole text that the twin refuses is encoded by the rules, here and nowhere else.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Sequence
from functools import cached_property
from itertools import accumulate, chain
from typing import TYPE_CHECKING, TypeVar

from tokcli.engine.base.arguments import NONE
from tokcli.engine.native_models.text_model import Refused
from tokcli.engine.stream.parallel import ordered
from tokcli.engine.stream.utf8 import plain_text, without_surrogates
from tokcli.engine.tokens import joined_ids

if TYPE_CHECKING:
    from tokcli.engine.native_models.text_model import NativeText, TwinFor
    from tokcli.engine.stream.utf8 import TextOrUtf8
    from tokcli.engine.text_tokenizer import NextTokens, TextTokenizer
    from tokcli.engine.tokens import Tokens

Ids = TypeVar("Ids", list[int], memoryview)

LEAST_FOR_THREADS = (
    1 << 18
)  # characters; with fewer, threads lose more by learning the texts' words each anew than they gain
LARGEST_GROUP = 64  # texts that a thread encodes before it takes others


class Executor:
    """Turns whole texts into ids for a tokenizer, `inner`.

    `allowed` are the special tokens that become their id; all others are ordinary text. A text is a str, of which lone
    surrogates become U+FFFD, or its UTF-8. Arrays of ids are memoryviews of uint32; `threads` share the work.
    """

    def __init__(self, inner: TextTokenizer) -> None:
        self.inner = inner

    @cached_property
    def twin(self) -> TwinFor | None:
        """The function that gives the native twin for the special tokens that become ids, if there is a twin."""
        return self.inner.twins

    @cached_property
    def _native(self) -> TwinFor:
        return self.twin or _refused

    def encode(self, text: str, allowed: frozenset[str] = NONE) -> list[int]:
        """Return the ids of a text."""
        try:
            return self._native(allowed).encode(text, allowed)
        except Refused:
            return self.inner.whole.encode(without_surrogates(text), allowed)

    def count(self, text: TextOrUtf8, allowed: frozenset[str] = NONE) -> int:
        """Return the number of ids of a text."""
        try:
            return self._native(allowed).count(text, allowed)
        except Refused:
            return self.inner.whole.count(text, allowed)

    def encode_array(self, text: TextOrUtf8, allowed: frozenset[str] = NONE) -> memoryview:
        """Return the ids of a text as an array."""
        try:
            return self._native(allowed).encode_array(text, allowed)
        except Refused:
            return self.inner.whole.encode_array(text, allowed)

    def encode_batch(self, texts: Sequence[str], threads: int) -> list[list[int]]:
        """Return the ids of each text."""
        try:
            return self._native(NONE).encode_batch(list(texts), threads)
        except Refused:
            return self._of_each(self.encode, texts, threads)

    def encode_array_batch(self, texts: Sequence[str], threads: int) -> tuple[memoryview, memoryview]:
        """Return all texts' ids in one array, and len(texts) + 1 offsets (uint64) at which each text's ids begin."""
        try:
            return self._native(NONE).encode_array_batch(list(texts), threads)
        except Refused:
            arrays = self._of_each(self.encode_array, texts, threads)
        return joined_ids(arrays), memoryview(array("Q", accumulate(map(len, arrays), initial=0)))

    def _of_each(self, work: Callable[[str], Ids], texts: Sequence[str], threads: int) -> list[Ids]:
        """Return `work(text)` of each text; threads share many texts, in groups, where native code does the work."""
        if threads == 1 or not self.inner.is_native or sum(map(len, texts)) < LEAST_FOR_THREADS:
            return list(map(work, texts))
        size = max(1, min(LARGEST_GROUP, len(texts) // (4 * threads)))
        groups = (texts[at : at + size] for at in range(0, len(texts), size))
        return list(chain.from_iterable(ordered(lambda group: list(map(work, group)), groups, threads, may_wait=False)))

    def place(self, text: TextOrUtf8, allowed: frozenset[str] = NONE) -> Tokens:
        """Return the tokens of a text with their places in characters; InputError where these are not known."""
        try:
            twin = self._native(allowed)
            if twin.counts_blanks or not self.inner.trims_spans:
                return twin.encode_spans(text, allowed)
        except Refused:
            pass
        return self.inner.whole.encode_spans(plain_text(text), allowed)

    def encode_next(
        self, text: TextOrUtf8, allowed: frozenset[str], before: str, total: float, *, places: bool
    ) -> NextTokens:
        """Return the tokens of a text that continues another, and the sum of scores after it; see `TextTokenizer`."""
        try:
            return self._native(allowed).encode_next(text, allowed, before, total, places=places)
        except Refused:
            return self.inner.whole.encode_next(text, allowed, before, total, places=places)


def _refused(_allowed: frozenset[str]) -> NativeText:
    raise Refused
