"""`TextCuts`: where a text may be cut so that its parts, encoded one after the other, have the ids of the whole.

A text is cut before white space, after a letter, a digit or a sign that nothing before or after it changes: the space
then begins a part, as it begins a word. Whether a vocabulary's tokens and rules allow that at a place is for its family
to say (the other modules of this folder).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import Protocol

AROUND = 1100  # characters on both sides of a cut that rules may see: more than a charsmap's rule can be for
LETTERS = "aeotxz0"  # one of these stands before a part in the place of the text that is before it

# Characters that stay by themselves: none is white space, a mark, or joined to what is before it by a normal form or as
# a grapheme cluster, and none belongs to what follows it.
_SETTLED = (
    "!-~\u00a1\u00a3-\u00a5\u00a7\u00ab\u00b0\u00b1\u00b5\u00b6\u00bb-\u00bf\u00c0-\u024f\u0391-\u03a1\u03a3-\u03ff"
    "\u0400-\u0481\u048a-\u052f\u0531-\u0556\u0561-\u0587\u05d0-\u05ea\u0620-\u064a\u0904-\u0939\u0964\u0965"
    "\u0e01-\u0e30\u2013\u2014\u2018-\u201f\u2026\u3001\u3002\u3008-\u3011\u3041-\u3096\u30a1-\u30fa"
    "\u4e00-\u9fff\uac00-\ud7a3\uff01-\uff5e"
)
_PLACE = re.compile(f"(?<=[{_SETTLED}\\s][{_SETTLED}])[ \\n](?![^{_SETTLED}\\s])")


class TextCuts(Protocol):
    """Where the texts of one tokenizer may be cut."""

    in_order: bool = False
    """Whether what is before a part may decide its ids: the sum of the scores before it, or an unknown word."""
    unknown: int | None = None
    """The id that is one with the last id of the part before, if that is the same; None where none may be."""

    def is_cut(self, text: str, at: int) -> bool:
        """Return whether a text may be cut before the white space at `at`, which one of `places` gave.

        `text` holds AROUND characters on each side of it, or all that there are.
        """


def places(text: str, begin: int, end: int) -> Iterator[int]:
    """Yield the indexes in text[begin:end] of white space before which a text might be cut, the last first.

    >>> list(places("one two  three\\u0301 four", 0, 20))
    [7, 3]
    """
    found = [match.start() for match in _PLACE.finditer(text, begin, end + 1)]  # the pattern looks one further
    return (at for at in reversed(found) if at < end)


class NeighbourTable:
    """Which characters are right before another one in any of some texts, such as tokens.

    >>> NeighbourTable(["▁the", "a▁b", "▁▁"]).holds("a", "▁"), NeighbourTable(["▁the"]).holds("e", "▁")
    (True, False)
    """

    def __init__(self, texts: Iterable[str]) -> None:
        self._texts = "\0".join(texts)
        self._before = lru_cache(maxsize=16)(self._characters_before)

    def holds(self, left: str, right: str) -> bool:
        """Return whether a text has these two characters side by side."""
        return left in self._before(right)

    def _characters_before(self, right: str) -> frozenset[str]:
        return frozenset(re.findall(f"(?s:(.)(?={re.escape(right)}))", self._texts)) - {"\0"}


class CutsBesideTokens(TextCuts):
    """The cuts of a model where no special token ends, or holds both sides: these are cut out of text before."""

    def __init__(self, inner: TextCuts, tokens: Iterable[str]) -> None:
        self._texts = tuple(tokens)
        self._neighbours = NeighbourTable(self._texts)
        self._inner, self.in_order, self.unknown = inner, inner.in_order, inner.unknown

    def is_cut(self, text: str, at: int) -> bool:
        """Return whether a text may be cut before the white space at `at`; see `TextCuts`."""
        if text[:at].endswith(self._texts) or self._neighbours.holds(text[at - 1], text[at]):
            return False
        return self._inner.is_cut(text, at)
