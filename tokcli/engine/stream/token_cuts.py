"""`TokenCuts`: the tokens that are cut out of a text before a model sees what is left, the longest first."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cached_property, lru_cache
from heapq import heapify, heappop, heappush
from typing import NamedTuple

from tokcli.engine.base.longest_match import LongestMatch
from tokcli.engine.spec.added_token import AddedToken
from tokcli.engine.spec.image import Spaces

_SPACES: Mapping[Spaces, Callable[[str], bool]] = {"ascii": " \t\n\v\f\r".__contains__, "unicode": str.isspace}


class _Finder(NamedTuple):
    """What finds some tokens: each is looked for in what those before it in the order left."""

    match: LongestMatch[str]
    tokens: list[AddedToken]
    order: dict[str, int]


class TokenCuts:
    """Finds tokens in texts, each in what longer ones left; `spaces` says what white space is.

    >>> cuts = TokenCuts([AddedToken("<a>", 1, special=True, lstrip=True), AddedToken("<", 2)], "unicode")
    >>> list(cuts.find("b <a>c", frozenset({"<a>"}))), list(cuts.find("<a", frozenset()))
    ([(0, 1, None), (1, 5, 1), (5, 6, None)], [(0, 1, 2), (1, 2, None)])
    """

    def __init__(self, tokens: Iterable[AddedToken], spaces: Spaces) -> None:
        ordered = sorted(tokens, key=lambda token: -len(token.content.encode("utf-8", "surrogateescape")))
        self._tokens, self.spaces, self._is_space = ordered, spaces, _SPACES[spaces]

    @cached_property
    def _search(self) -> Callable[[frozenset[str]], _Finder]:
        return lru_cache(maxsize=8)(self._search_for)

    def _search_for(self, allowed: frozenset[str]) -> _Finder:
        found: dict[str, AddedToken] = {}
        for token in self._tokens:
            if not token.special or token.content in allowed:
                found.setdefault(token.content, token)
        return _Finder(LongestMatch(found), list(found.values()), {text: at for at, text in enumerate(found)})

    def texts(self, allowed: frozenset[str]) -> frozenset[str]:
        """Return the texts of the tokens that are found where these special ones are allowed."""
        return frozenset(self._search(allowed).order)

    def is_in(self, text: str, allowed: frozenset[str]) -> bool:
        """Return whether a text has one of the tokens."""
        return any(True for _ in self._search(allowed).match.find(text))

    def find(self, text: str, allowed: frozenset[str]) -> Iterator[tuple[int, int, int | None]]:
        """Yield (begin, end, id) of each token with the white space that it takes, and of text between (id: None)."""
        match, tokens, order = self._search(allowed)
        waiting = [(order[text[begin:end]], begin) for begin, end in match.everywhere(text)]
        heapify(waiting)
        is_taken = bytearray(len(text) if waiting else 0)
        found: list[tuple[int, int, int]] = []
        while waiting:
            at, begin = heappop(waiting)
            end = begin + len(tokens[at].content)
            if (taken := is_taken.find(1, begin, end)) < 0:
                begin, end = self._with_spaces(text, is_taken, begin, end, tokens[at])
                is_taken[begin:end] = b"\1" * (end - begin)
                found.append((begin, end, tokens[at].id))
            elif (end := match.end(text, begin, taken)) > begin:  # a shorter one, in what is left
                heappush(waiting, (order[text[begin:end]], begin))
        at = 0
        for begin, end, id in sorted(found):
            if at < begin:
                yield at, begin, None
            yield begin, end, id
            at = end
        if at < len(text):
            yield at, len(text), None

    def _with_spaces(self, text: str, is_taken: bytearray, begin: int, end: int, token: AddedToken) -> tuple[int, int]:
        """Return the place of a token that was found, with the white space beside it that is still there."""
        while token.lstrip and begin and not is_taken[begin - 1] and self._is_space(text[begin - 1]):
            begin -= 1
        while token.rstrip and end < len(text) and not is_taken[end] and self._is_space(text[end]):
            end += 1
        return begin, end
