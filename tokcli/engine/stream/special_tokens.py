"""Special tokens in text, such as `<|endoftext|>`: finding them, and refusing those that the caller did not allow.

A special token has one id of its own; text never becomes one unless the caller asks for it. Cutting streams at special
tokens is left to `chunks.py` and `parts.py`.
"""

from __future__ import annotations

from collections.abc import Iterator
from collections.abc import Set as AbstractSet
from functools import lru_cache
from typing import TYPE_CHECKING

from tokcli.engine.base.arguments import names_in, wrong_type
from tokcli.errors import DisallowedSpecialTokenError

if TYPE_CHECKING:
    from collections.abc import Collection
    from typing import Literal, TypeAlias

    from tokcli.engine.base.longest_match import LongestMatch

    Which: TypeAlias = Literal["all"] | Collection[str]  # all special tokens, or those named


@lru_cache(maxsize=128)
def finder(tokens: frozenset[str]) -> LongestMatch[str]:
    """Return the finder of special tokens in text: of several that begin at one place, it finds the longest."""
    from tokcli.engine.base.longest_match import LongestMatch  # native code finds them by itself

    return LongestMatch(tokens)


@lru_cache(maxsize=16)
def _only(tokens: frozenset[str]) -> frozenset[str]:
    """Return one object for all equal sets: comparing two large sets would take as long as encoding many records."""
    return tokens


@lru_cache(maxsize=16)
def together(some: frozenset[str], others: frozenset[str]) -> frozenset[str]:
    """Return the union of two sets of tokens; it is cached, since there may be many tokens and many records."""
    return _only(some | others) if some and others else some or others


@lru_cache(maxsize=16)
def without(some: frozenset[str], others: frozenset[str]) -> frozenset[str]:
    """Return the tokens of one set that are not in another; the result is cached."""
    return _only(some - others) if some and others else some


def resolve(allowed: object, disallowed: object, known: frozenset[str]) -> tuple[frozenset[str], frozenset[str]]:
    """Return tiktoken's two arguments as two sets: the tokens that become their id, and those that are an error.

    TypeError for arguments that tiktoken does not take.

    >>> resolve(set(), "all", frozenset({"<|end|>"}))
    (frozenset(), frozenset({'<|end|>'}))
    """
    if isinstance(allowed, AbstractSet):
        found = known & names_in(allowed, "allowed_special")
    elif isinstance(allowed, str) and allowed == "all":
        found = known
    else:
        raise wrong_type("allowed_special", '"all" or a set of str', allowed)
    if isinstance(disallowed, str) and disallowed == "all":
        return found, without(known, found)  # nothing is copied twice, for there may be many
    return found, names_in(disallowed, "disallowed_special")


def refuse(text: str, disallowed: frozenset[str]) -> None:
    """Raise DisallowedSpecialTokenError if the text contains one of these tokens."""
    for begin, end in finder(disallowed).find(text):
        raise DisallowedSpecialTokenError.found(text[begin:end], begin, "character")


def segments(text: str, allowed: frozenset[str]) -> Iterator[tuple[str, bool]]:
    """Yield (segment, whether it is a special token) for a text cut at the allowed ones; no segment is empty.

    >>> list(segments("a<|end|>b", frozenset({"<|end|>"})))
    [('a', False), ('<|end|>', True), ('b', False)]
    """
    at = 0
    for begin, end in finder(allowed).find(text):
        if begin > at:
            yield text[at:begin], False
        yield text[begin:end], True
        at = end
    if at < len(text):
        yield text[at:], False
