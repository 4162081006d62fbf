"""How the tokens of a vocabulary could cover a piece without merging: the longest token at each place, and the fewest.

Merging need not give either: an early merge of low rank may tear a longer token. What merging gives is left to
merge_steps.py.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from tokcli.engine.encoding import Encoding

WayName = Literal["greedy", "fewest"]


@dataclass(frozen=True)
class OtherWay:
    """Tokens that cover a piece in another way than its own: `greedy` (the longest at each place), or the `fewest`."""

    name: WayName
    parts: tuple[bytes, ...]
    ids: tuple[int, ...]


class TokenCovers:
    """The tokens with which pieces can be covered: those that merges, or paths, may lead to.

    >>> import tokcli
    >>> [(way.name, way.ids) for way in TokenCovers(tokcli.get_encoding("cl100k_base")).beside(b" BPE", [426, 1777])]
    [('greedy', (30167, 36))]
    """

    def __init__(self, encoding: Encoding) -> None:
        tokenizer = encoding.tokenizer
        unusual = tokenizer.token_kinds()
        self._ids = {token: id for token, id in tokenizer.ranks().items() if token and id not in unusual}
        self._longest = max(map(len, self._ids), default=0)

    def beside(self, data: bytes, ids: Sequence[int]) -> tuple[OtherWay, ...]:
        """Return how else tokens could cover the bytes that have these ids: greedily, if that differs, and by fewer."""
        if len(ids) < 2:
            return ()
        found: list[OtherWay] = []
        greedy = self._greedy(data)
        if greedy is not None and [self._ids[part] for part in greedy] != list(ids):
            found.append(self._way("greedy", greedy))
        fewest = self._fewest(data)
        if fewest is not None and len(fewest) < len(ids):
            found.append(self._way("fewest", fewest))
        return tuple(found)

    def _way(self, name: WayName, parts: list[bytes]) -> OtherWay:
        return OtherWay(name, tuple(parts), tuple(self._ids[part] for part in parts))

    def _tokens_at(self, data: bytes, begin: int) -> list[bytes]:
        """Return the tokens that bytes have at a place, the longest first."""
        ends = range(min(begin + self._longest, len(data)), begin, -1)
        return [part for end in ends if (part := data[begin:end]) in self._ids]

    def _greedy(self, data: bytes) -> list[bytes] | None:
        """Return the longest token at each place, from left to right; None if a place has none."""
        parts: list[bytes] = []
        at = 0
        while at < len(data):
            part = next(iter(self._tokens_at(data, at)), None)
            if part is None:
                return None
            parts.append(part)
            at += len(part)
        return parts

    def _fewest(self, data: bytes) -> list[bytes] | None:
        """Return the fewest tokens that cover the bytes, with the longest first tokens; None if none do."""
        first: list[bytes | None] = [None] * (len(data) + 1)  # the first token of the best way from each place on
        counts = [len(data) + 1] * len(data) + [0]
        for begin in range(len(data) - 1, -1, -1):
            for part in self._tokens_at(data, begin):
                if (count := counts[begin + len(part)] + 1) < counts[begin]:
                    counts[begin], first[begin] = count, part
        parts: list[bytes] = []
        at = 0
        while at < len(data):
            best = first[at]
            if best is None:
                return None
            parts.append(best)
            at += len(best)
        return parts
