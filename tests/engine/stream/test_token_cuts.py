"""Tokens are cut out of a text as llama.cpp does it: the longest in all of it first, then the next in what is left."""

from __future__ import annotations

import random

import pytest

from tokcli.engine.spec.added_token import AddedToken
from tokcli.engine.spec.image import Spaces
from tokcli.engine.stream.token_cuts import TokenCuts

TEXTS = ["<a>", "<ab>", "<a", ">b", "ab", "  ", "<", "a>b"]


def cut_naively(text: str, tokens: list[AddedToken], spaces: str) -> list[tuple[int, int, int | None]]:
    """Look for each token in all that is left, token after token."""
    parts: list[tuple[int, int, int | None]] = [(0, len(text), None)]
    for token in sorted(tokens, key=lambda one: -len(one.content)):
        left: list[tuple[int, int, int | None]] = []
        for begin, end, number in parts:
            while number is None and (at := text.find(token.content, begin, end)) >= 0:
                first, after = at, at + len(token.content)
                while token.lstrip and first > begin and text[first - 1] in spaces:
                    first -= 1
                while token.rstrip and after < end and text[after] in spaces:
                    after += 1
                left += [(begin, first, None), (first, after, token.id)]
                begin = after
            left.append((begin, end, number))
        parts = [(begin, end, number) for begin, end, number in left if begin < end]
    return [part for part in parts if part[0] < part[1]]


@pytest.mark.parametrize("spaces", ["ascii", "unicode"])
def test_the_longest_token_is_cut_out_first(spaces: Spaces) -> None:
    rnd = random.Random(3)
    blanks = " \t\n\v\f\r" if spaces == "ascii" else " \t\n\v\f\r\x1c\x85\xa0\u2003"
    for _ in range(2000):
        flags = [
            {"lstrip": rnd.random() < 0.3, "rstrip": rnd.random() < 0.3, "special": rnd.random() < 0.5} for _ in TEXTS
        ]
        every = [AddedToken(text, n, **given) for n, (text, given) in enumerate(zip(TEXTS, flags))]
        some = rnd.sample(every, rnd.randrange(1, 5))
        allowed = frozenset(token.content for token in some if rnd.random() < 0.7)
        text = "".join(rnd.choices([*TEXTS, " ", "\n", "\xa0", "\x1c", "b", "x"], k=rnd.randrange(9)))
        found = [token for token in some if not token.special or token.content in allowed]
        cuts = TokenCuts(some, spaces)
        assert list(cuts.find(text, allowed)) == cut_naively(text, found, blanks), (text, found)
        assert cuts.is_in(text, allowed) == any(number is not None for *_, number in cuts.find(text, allowed))
