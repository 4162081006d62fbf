"""The added tokens of a tokenizer.json, which are found in text before the model sees it.

Those that are `normalized` are found in normalized text, the others in the text as given.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence

from tokcli.engine.base.longest_match import LongestMatch
from tokcli.engine.spec.added_token import AddedToken as AddedToken
from tokcli.engine.unicode import classes
from tokcli.engine.unicode.ranges import SPACE, SPACES

FoundText = tuple[int, int, int | None]  # begin, end, and the id of the token that is found there (None: text)

_MOST_COMPARED = 1 << 26  # squares of lengths: a fraction of a second; 1,000 tokens of 100 characters have 10,000,000


class AddedTokenFinder:
    """Finds added tokens in text, each by the text given with it. Tokens whose content is in `ignored` stay text.

    A token that the normalizer makes empty is found wherever no other begins: it cuts the text there, without an id.

    >>> finder = AddedTokenFinder([("<mask>", AddedToken("<mask>", 7, lstrip=True))])
    >>> list(finder.find("a <mask>b"))
    [(0, 1, None), (1, 8, 7), (8, 9, None)]
    """

    def __init__(self, tokens: Iterable[tuple[str, AddedToken]], ignored: frozenset[str] = frozenset()) -> None:
        self.tokens: dict[str, AddedToken] = {}
        for text, token in tokens:
            if token.content:
                self.tokens.setdefault(text, token)
        self.ignored = ignored  # contents; where one of them is found, no other token is
        self._match = LongestMatch(self.tokens)

    def find(self, text: str) -> Iterator[FoundText]:
        """Yield the tokens in a text and the stretches between them; together they are the whole text."""
        yield from _with_stretches(self._found(text), len(text))

    def _found(self, text: str) -> Iterator[tuple[int, int, int]]:
        at, blanks_end = 0, -1  # the end of the white space that `rstrip` takes: kept, for many tokens may be in it
        for begin, end in self._matches(text):
            token = self.tokens[text[begin:end]]
            if token.content in self.ignored or (token.single_word and not _is_single_word(text, begin, end)):
                continue
            if token.lstrip:
                begin = at + len(text[at:begin].rstrip(SPACES))
            if token.rstrip:
                if end > blanks_end and (blanks := _SPACES.match(text, end)):
                    blanks_end = blanks.end()
                end = blanks_end
            yield begin, end, token.id
            at = end

    def _matches(self, text: str) -> Iterator[tuple[int, int]]:
        if "" not in self.tokens:
            yield from self._match.find(text)
            return
        at, before = 0, -1
        for begin, end in self._match.find(text):
            yield from ((place, place) for place in range(at, begin) if place != before)
            yield begin, end
            at = before = end
        yield from ((place, place) for place in range(at, len(text) + 1) if place != before)


def _with_stretches(found: Iterable[tuple[int, int, int]], size: int) -> Iterator[FoundText]:
    """Yield the tokens that were found in a text of `size` characters, and the stretches of text between them."""
    at = 0
    for begin, end, id in found:
        if at < begin:
            yield at, begin, None
        if begin < end:  # else the token before has taken this one as white space, or it is empty
            yield begin, end, id
        at = end
    if at < size:
        yield at, size, None


def _is_single_word(text: str, begin: int, end: int) -> bool:
    word = classes.one("WORD")
    return not (begin and word.match(text, begin - 1)) and not word.match(text, end)


_SPACES = re.compile(f"[{SPACE}]*")


def special_first(tokens: Iterable[AddedToken]) -> list[AddedToken]:
    """Return the tokens with the special ones first: of two with the same normalized text, the first is found."""
    return sorted(tokens, key=lambda token: not token.special)


def finders(
    tokens: Sequence[AddedToken], texts: Mapping[int, str], allowed: frozenset[str]
) -> tuple[AddedTokenFinder, AddedTokenFinder]:
    """Return the finders for the text as given and for normalized text, of the text of each id that is looked for.

    Special tokens not in `allowed` stay text.
    """
    ignored = frozenset(token.content for token in tokens if token.special and token.content not in allowed)
    tokens = special_first(tokens)
    raw, normalized = (
        AddedTokenFinder([(texts[token.id], token) for token in tokens if token.normalized == wanted], ignored)
        for wanted in (False, True)
    )
    return raw, normalized


def are_apart(some: Sequence[str], others: Sequence[str]) -> bool:
    """Return whether no text of one group can overlap one of the other, so that either group may be found first.

    It also returns False for texts so long that finding out would take long.

    >>> are_apart(["<a>", "<b>"], ["<c>"]), are_apart(["<a>"], [">="])
    (True, False)
    """
    if sum(len(text) ** 2 for group in (some, others) for text in group) > _MOST_COMPARED:
        return False
    return not (_begin_within(some, others) or _begin_within(others, some))


def _begin_within(texts: Sequence[str], others: Sequence[str]) -> bool:
    """Return whether one of `others` begins within one of `texts`, whether or not it also ends there."""
    firsts, ordered, match = {other[:1] for other in others}, sorted(others), LongestMatch(others)
    for text in texts:
        for start, char in enumerate(text):
            if char not in firsts:
                continue
            rest = text[start:]
            at = bisect_left(ordered, rest)  # the first of those that may start with the rest
            if (at < len(ordered) and ordered[at].startswith(rest)) or match.end(text, start) > start:
                return True
    return False
