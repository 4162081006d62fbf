"""The native twin of tokenizers that are not byte-level: it has tables, and learns what single characters become.

It answers exactly as the Python code does, or not at all: None means that Python has to do a text.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from typing import Any

_ROUNDS = 6  # of learning, for one text: a run of characters may be asked for after its characters are known
_FOUND, _IGNORED = 1, 2  # TextModel::kFound, kIgnored

Named = tuple[str, bool]  # an added token's content, and whether it is special
Learned = tuple[Mapping[int, bytes | None], Mapping[int, int], Mapping[bytes, bytes]]
Learn = Callable[[list[int], list[int], list[bytes]], Learned]


class NativeText:
    """A native model, what it asks when it meets a character for the first time, and its added tokens."""

    def __init__(
        self,
        model: Any,
        learn: Learn | None = None,
        raw: Iterable[Named] = (),
        normalized: Iterable[Named] = (),
    ) -> None:
        self._model, self._learn = model, learn
        kinds = tuple(raw), tuple(normalized)

        def states(allowed: frozenset[str]) -> tuple[bytes, bytes]:
            found = [
                bytes(_IGNORED if special and text not in allowed else _FOUND for text, special in tokens)
                for tokens in kinds
            ]
            return found[0], found[1]

        self._states = lru_cache(maxsize=8)(states)
        self.raw, self.normalized = kinds

    def image(self) -> bytes:
        """The tables and what was learned of characters, which `TextModel` opens again."""
        image: bytes = self._model.image()
        return image

    def encode(self, text: str, allowed: frozenset[str]) -> list[int] | None:
        """The ids of a text."""
        ids: list[int] | None = self._ask(self._model.encode, text, allowed)
        return ids

    def encode_array(self, text: str, allowed: frozenset[str]) -> memoryview | None:
        """The ids of a text as uint32."""
        ids = self._ask(self._model.encode_ids, text, allowed)
        return None if ids is None else memoryview(ids).cast("I")

    def count(self, text: str, allowed: frozenset[str]) -> int | None:
        """How many ids a text has."""
        count: int | None = self._ask(self._model.count, text, allowed)
        return count

    def _ask(self, method: Callable[..., Any], text: str, allowed: frozenset[str]) -> Any:
        states = self._states(allowed)
        for _ in range(_ROUNDS):
            answer = method(text, *states)
            if not isinstance(answer, tuple):
                return answer
            if self._learn is None:
                return None
            self._model.learn(*self._learn(*answer))
        return None
