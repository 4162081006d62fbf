"""The words for a pattern's alternatives: true where there are any, and none where they would say too little."""

from __future__ import annotations

import pytest

from tokcli import get_encoding
from tokcli.analysis.pattern.explain import explain
from tokcli.engine.pretokenizers import known_patterns


@pytest.mark.parametrize(
    ("pattern", "words"),
    [
        (r"\p{N}{1,3}", "1 to 3 digits"),
        (r"\p{N}{3}", "3 digits"),
        (r"\p{N}{2,}", "2 or more digits"),
        (r" ?\p{L}+", "Optional space; one or more letters"),
        (r" ?[^\s\p{L}\p{N}]++", "Optional space; one or more characters other than white space, letters and digits"),
        (r"\s+(?!\S)", "White space; before white space or the end"),
        (r"\s*[\r\n]+", "Any white space; one or more line breaks"),
        (r"\s++$", "White space; at the end"),
        (r"'(?i:s|t)", "\u201c'\u201d; \u201cs\u201d or \u201ct\u201d, in any case"),
        (r"[a-z0-9_]+", "One or more letters a to z, digits 0 to 9 or _"),
        (r"(?:ab)+", "\u201cab\u201d, once or more"),
        (r"\.{3}x", "3 .; \u201cx\u201d"),
        (r"(?<=a)b", "After \u201ca\u201d; \u201cb\u201d"),
        (r".", "One character other than a line break"),
    ],
)
def test_an_alternative_in_words(pattern: str, words: str) -> None:
    assert explain(f"{pattern}|\\s") == [words, "White space"]


@pytest.mark.parametrize(
    "pattern", [r"(a)\1", r"\p{Script=Deseret}+", "[" + "abcdefghijklmnop" + "]", r"[[a-c]--b]", r"\P{L}"]
)
def test_what_takes_too_many_words_has_none(pattern: str) -> None:
    assert explain(f"a|{pattern}") == ["\u201ca\u201d", ""]


@pytest.mark.parametrize("name", ["gpt2", "p50k_base", "cl100k_base", "o200k_base"])
def test_every_alternative_of_openais_patterns_has_words(name: str) -> None:
    pattern = get_encoding(name)._pat_str
    assert all(explain(pattern))


def test_every_known_pattern_is_explained_or_left_as_it_is() -> None:
    patterns = [value for name, value in vars(known_patterns).items() if name.isupper() and isinstance(value, str)]
    found = [words for pattern in patterns for words in explain(pattern)]
    assert len(patterns) > 10
    assert sum(map(bool, found)) > 0.7 * len(found)
