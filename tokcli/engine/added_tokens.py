"""The added tokens of a tokenizer.json: found in text before anything else, whatever the model makes of it.

Those that are `normalized` are found in normalized text, the others in the text as it came.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from tokcli.engine import unicode_classes as classes

Found = tuple[int, int, int | None]  # from, to, the id of the token that stands there (None: text)


@dataclass(frozen=True)
class AddedToken:
    """A token, its id, and how it is found: `lstrip` and `rstrip` take white space beside it with it."""

    content: str
    id: int
    single_word: bool = False
    lstrip: bool = False
    rstrip: bool = False
    normalized: bool = False
    special: bool = False


class AddedTokenFinder:
    """Finds some added tokens, each by a text of its own (its content, normalized or not).

    >>> finder = AddedTokenFinder([("<mask>", AddedToken("<mask>", 7, lstrip=True))])
    >>> list(finder.find("a <mask>b"))
    [(0, 1, None), (1, 8, 7), (8, 9, None)]
    """

    def __init__(self, tokens: Iterable[tuple[str, AddedToken]], ignored: frozenset[str] = frozenset()) -> None:
        self._tokens: dict[str, AddedToken] = {}
        for text, token in tokens:
            if text:
                self._tokens.setdefault(text, token)
        self._ignored = ignored  # contents that are found, and then taken as text
        texts = sorted(self._tokens, key=lambda text: (-len(text), text))
        self._pattern = re.compile("|".join(map(re.escape, texts))) if texts else None

    def find(self, text: str) -> Iterator[Found]:
        """The text cut at the tokens in it: together the parts are all of it; none for an empty text."""
        at = 0
        for match in self._pattern.finditer(text) if self._pattern else ():
            token = self._tokens[match[0]]
            begin, end = match.span()
            if token.content in self._ignored or (token.single_word and not _stands_alone(text, begin, end)):
                continue
            if token.lstrip:
                begin = max(_space_before(text, begin), at)
            if token.rstrip:
                end = _space_after(text, end)
            if at < begin:
                yield at, begin, None
            if begin < end:  # else the token before has taken all of it, as white space
                yield begin, end, token.id
            at = end
        if at < len(text):
            yield at, len(text), None


def _stands_alone(text: str, begin: int, end: int) -> bool:
    word = classes.one("WORD")
    return not (begin and word.match(text, begin - 1)) and not word.match(text, end)


_SPACES = re.compile(f"[{classes.SPACE}]*")


def _space_after(text: str, end: int) -> int:
    match = _SPACES.match(text, end)
    return match.end() if match else end


def _space_before(text: str, begin: int) -> int:
    space = classes.one("SPACE")
    while begin and space.match(text, begin - 1):
        begin -= 1
    return begin


def finders(
    tokens: Sequence[AddedToken], normalize: Callable[[str], str], allowed: frozenset[str]
) -> tuple[AddedTokenFinder, AddedTokenFinder]:
    """The finders for text as it came and for normalized text; special tokens not in `allowed` stay text."""
    ignored = frozenset(token.content for token in tokens if token.special and token.content not in allowed)
    tokens = sorted(tokens, key=lambda token: not token.special)  # of two that normalize alike, the first special one
    raw = [(token.content, token) for token in tokens if not token.normalized]
    normalized = [(normalize(token.content), token) for token in tokens if token.normalized]
    return AddedTokenFinder(raw, ignored), AddedTokenFinder(normalized, ignored)


def are_apart(some: Sequence[str], others: Sequence[str]) -> bool:
    """Whether no text of one group can overlap one of the other: then it does not matter which are looked for first.

    >>> are_apart(["<a>", "<b>"], ["<c>"]), are_apart(["<a>"], [">="])
    (True, False)
    """
    for left, right in ((some, others), (others, some)):
        beginnings = {text[:end] for text in right for end in range(1, len(text) + 1)}
        if any(text[start:] in beginnings for text in left for start in range(len(text))):
            return False
        all_left = "\n".join(left)
        if any(text in all_left for text in right):
            return False
    return True
