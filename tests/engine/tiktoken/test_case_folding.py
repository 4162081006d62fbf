"""Flag i means what the library of each tokenizer means by it: tiktoken folds a character to one, Oniguruma to several."""

from __future__ import annotations

import pytest
import tiktoken
import tokenizers

import tokcli
from tokcli.engine.pipeline.finders import PatternFinder

LETTERS = ["ß", "ss", "ſs", "fi", "ﬁ", "ff", "st", "pass", "ẖ", "K", "[ß]", "[^ß]", "[a-s]"]
TEXTS = ["ss", "SS", "ß", "ẞ", "ſs", "fi", "ﬁ", "ﬀ", "ﬆ", "st", "h\u0331", "ẖ", "paß", "PASS", "k", "\u212a"]


@pytest.mark.parametrize("letters", LETTERS)
def test_a_pat_str_folds_case_as_tiktoken_does(letters: str) -> None:
    pat_str = f"(?i:{letters})|(?s:.)"
    tokens = dict.fromkeys([bytes([byte]) for byte in range(256)])
    for data in map(str.encode, TEXTS):  # a piece is a token of its own, so that the ids say how the text was cut
        tokens |= dict.fromkeys(data[:size] for size in range(2, len(data) + 1))
    ranks = {token: rank for rank, token in enumerate(tokens)}
    theirs = tiktoken.Encoding("x", pat_str=pat_str, mergeable_ranks=ranks, special_tokens={})
    ours = tokcli.Encoding("x", pat_str=pat_str, mergeable_ranks=ranks, special_tokens={})
    assert [ours.encode(text) for text in TEXTS] == [theirs.encode(text) for text in TEXTS]


@pytest.mark.parametrize("letters", LETTERS)
def test_a_pattern_of_a_tokenizer_json_folds_case_as_oniguruma_does(letters: str) -> None:
    pattern = f"(?i:{letters})|(?m:.)"
    theirs = tokenizers.pre_tokenizers.Split(tokenizers.Regex(pattern), "removed", invert=True)
    ours = PatternFinder(pattern)
    for text in TEXTS:
        assert [text[begin:end] for begin, end in ours.find(text)] == [one for one, _ in theirs.pre_tokenize_str(text)]
