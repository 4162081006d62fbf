"""Special tokens: finding them in text, and what to do about those that were not asked for.

A special token is text that stands for one id of its own, such as `<|endoftext|>`. Text never becomes one unasked.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from collections.abc import Set as AbstractSet
from functools import lru_cache
from typing import Literal

from tokcli.errors import DisallowedSpecialTokenError

Which = Literal["all"] | Collection[str]  # of the special tokens: all, or those named


@lru_cache(maxsize=128)
def finder(tokens: frozenset[str]) -> re.Pattern[str] | None:
    """A pattern that finds any of some special tokens, the longest where several begin; None where there are none."""
    names = sorted((t for t in tokens if t), key=lambda token: (-len(token), token))
    return re.compile("|".join(map(re.escape, names))) if names else None


@lru_cache(maxsize=16)
def byte_finder(tokens: frozenset[str]) -> re.Pattern[bytes]:
    """The same in UTF-8, for one token or more."""
    names = sorted(tokens, key=lambda token: (-len(token), token))
    return re.compile(b"|".join(re.escape(name.encode()) for name in names))


def resolve(allowed: Which, disallowed: Which, known: AbstractSet[str]) -> tuple[frozenset[str], frozenset[str]]:
    """tiktoken's two arguments as sets of tokens: those that get their id, and those that are an error.

    >>> resolve(set(), "all", {"<|end|>"})
    (frozenset(), frozenset({'<|end|>'}))
    """
    allowed = frozenset(known if allowed == "all" else allowed)
    disallowed = frozenset(known - allowed if disallowed == "all" else disallowed)
    return allowed, disallowed


def refuse(text: str, disallowed: frozenset[str]) -> None:
    """DisallowedSpecialTokenError if one of these tokens stands in the text."""
    pattern = finder(disallowed)
    if pattern and (match := pattern.search(text)):
        raise DisallowedSpecialTokenError(
            f"special token {match[0]!r} stands in the text at character {match.start()}",
            f"Pass allowed_special={{{match[0]!r}, ...}} to encode it as the special token, "
            "or disallowed_special=() to encode it as ordinary text.",
            token=match[0],
            offset=match.start(),
        )


def segments(text: str, allowed: frozenset[str]) -> Iterator[tuple[str, bool]]:
    """The text cut at the special tokens that are allowed: (segment, whether it is one), none of them empty.

    >>> list(segments("a<|end|>b", frozenset({"<|end|>"})))
    [('a', False), ('<|end|>', True), ('b', False)]
    """
    pattern = finder(allowed)
    at = 0
    if pattern:
        for match in pattern.finditer(text):
            if match.start() > at:
                yield text[at : match.start()], False
            yield match[0], True
            at = match.end()
    if at < len(text):
        yield text[at:], False


def longest(tokens: Mapping[str, int] | AbstractSet[str]) -> int:
    """The length of the longest of some tokens, in code points; 0 for none."""
    return max(map(len, tokens), default=0)
