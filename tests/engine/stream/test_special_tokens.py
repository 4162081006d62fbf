"""Special tokens are found where they stand and nowhere else."""

from __future__ import annotations

import pickle
import random

import pytest

import tokcli
from tokcli.engine.stream import special_tokens
from tokcli.engine.stream.utf8 import LONG_TEXT, SpecialFinder
from tokcli.errors import DisallowedSpecialTokenError


def test_a_refused_token_is_named_with_its_place_and_the_way_out() -> None:
    with pytest.raises(DisallowedSpecialTokenError, match=r"'<\|endoftext\|>'.*character 6") as caught:
        tokcli.get_encoding("o200k_base").encode("hello <|endoftext|>")
    assert "allowed_special" in caught.value.hint
    assert (caught.value.token, caught.value.offset) == ("<|endoftext|>", 6)
    again = pickle.loads(pickle.dumps(caught.value))
    assert (str(again), again.token, again.offset) == (str(caught.value), "<|endoftext|>", 6)


def test_the_longest_of_tokens_that_begin_alike_is_found() -> None:
    found = special_tokens.segments("<a><b>", frozenset({"<a>", "<a><b>"}))
    assert list(found) == [("<a><b>", True)]


def test_characters_with_a_meaning_in_patterns_are_taken_as_they_are() -> None:
    assert list(special_tokens.segments("a.b[x]", frozenset({".", "[x]"}))) == [
        ("a", False),
        (".", True),
        ("b", False),
        ("[x]", True),
    ]


def test_without_special_tokens_all_is_text() -> None:
    assert list(special_tokens.segments("<|x|>", frozenset())) == [("<|x|>", False)]
    assert list(special_tokens.segments("", frozenset({"<|x|>"}))) == []


def test_an_empty_special_token_is_never_found() -> None:
    assert list(special_tokens.segments("ab", frozenset({""}))) == [("ab", False)]


@pytest.mark.parametrize("first", ["[", "[<", "[<{", "[<{@", "[<{@#", "\u4e2d\u4e8c", ""])
@pytest.mark.parametrize("every", [3, 40, 200, 9000])
def test_tokens_that_begin_with_few_bytes_or_many_are_found_in_utf8(first: str, every: int) -> None:
    rnd = random.Random(every)
    tokens = frozenset(letter + name for letter in first for name in ("a]", "b>", "b>}"))
    others = [*first, "a]", "b>", "ab", " ", "\u4e2d", "\u4e8c"]
    text = "".join(rnd.choice([*tokens, *others] if rnd.randrange(every) == 0 else ["x"]) for _ in range(3 * LONG_TEXT))
    data = text.encode()
    found = list(SpecialFinder(tokens).find(data, len(data)))
    begins = [len(text[:begin].encode()) for begin, _ in special_tokens.finder(tokens).find(text)]
    assert [begin for begin, _ in found] == begins
    assert all(data.startswith(token.encode(), begin) for begin, token in found)
