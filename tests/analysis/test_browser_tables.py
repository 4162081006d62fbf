"""The tables for a browser say what the tokenizer does, and there are none where they could not."""

from __future__ import annotations

from pathlib import Path

import pytest
from support import ROOT

import tokcli
from tokcli.analysis import browser_tables as tables
from tokcli.analysis.browser_tables import browser_tables

FORMATS = ROOT / "tests" / "data" / "formats"


@pytest.mark.parametrize("name", ["cl100k_base", "gpt2"])
def test_registered_encodings_have_their_ranks_and_special_tokens(name: str) -> None:
    encoding = tokcli.get_encoding(name)
    found = browser_tables(encoding)
    assert found is not None
    assert (found.ranks, found.whole, found.added, found.form) == (encoding._mergeable_ranks, {}, {}, None)
    assert set(found.special) == encoding.special_tokens_set


def test_the_pattern_lists_the_characters_of_properties_since_browsers_have_other_versions_of_unicode() -> None:
    found = browser_tables(tokcli.get_encoding("cl100k_base"))
    assert found is not None
    assert r"\p" not in found.pattern and r"\P" not in found.pattern and r"\s" not in found.pattern
    assert r"\u{105C0}-\u{105F3}" in found.pattern  # letters that are new in Unicode 16.0


@pytest.mark.parametrize("name", ["bpe.model", "unigram.model", "unigram.tokenizer.json", "wordpiece.tokenizer.json",
                                  "byte-level.tokenizer.json"])  # fmt: skip
def test_other_tokenizers_have_none(name: str) -> None:
    assert browser_tables(tokcli.load_encoding(FORMATS / name)) is None


def test_patterns_that_browsers_cannot_run_and_vocabularies_that_are_too_large_have_none(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for pattern in (r"(?m:^a)|\w+|\W", r"(?:\w+)+!|\w|\W"):  # what JavaScript lacks; what takes exponential time
        own = tokcli.train(["low lower"] * 3, 258, pat_str=pattern)
        assert browser_tables(own) is None
    plain = tokcli.train(["low lower"] * 3, 258)
    assert browser_tables(plain) is not None
    monkeypatch.setattr(tables, "MAX_BYTES", 100)
    assert browser_tables(plain) is None
