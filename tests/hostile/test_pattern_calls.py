"""Patterns whose groups call themselves: those that never end are refused before anything is compiled."""

from __future__ import annotations

import pytest

from tokcli.engine.pretokenizers.pretokenizer import PreTokenizer
from tokcli.errors import PatternError


@pytest.mark.parametrize(
    "pattern",
    [
        "(?R)",
        "(?R)|a",
        "a|(?0)",
        "(?R)?a",
        "(a|(?1))",
        "(?<x>(?&x)*b)|a",
        "(?P<n>(?P>n)|b)",
        "((?2)a)((?1)b)",
        "(?=(?R))a",
    ],
)
def test_a_group_that_calls_itself_first_is_refused(pattern: str) -> None:
    """`regex` took a gigabyte to find out that it never ends."""
    with pytest.raises(PatternError, match="calls itself before it matches anything"):
        PreTokenizer(pattern)


@pytest.mark.parametrize(
    ("pattern", "pieces"),
    [
        (r"\((?:[^()]|(?R))*\)|(?s:.)", ["a", "((b)c)", "d"]),
        (r"(?<n>\((?:[^()]|(?&n))*\))|(?s:.)", ["a", "((b)c)", "d"]),
        (r"(a)|\((?1)?|(?s:.)", ["a", "(", "(", "b", ")", "c", ")", "d"]),
    ],
)
def test_a_group_that_calls_itself_later_is_taken(pattern: str, pieces: list[str]) -> None:
    assert PreTokenizer(pattern).split("a((b)c)d") == pieces
