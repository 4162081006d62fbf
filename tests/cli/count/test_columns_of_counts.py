"""Columns of counts: -e and -m may be repeated and mixed, and each column has the name that was typed."""

from __future__ import annotations

import json

import pytest
from support import noted, ok, refused


def test_several_models_are_columns_as_several_encodings_are() -> None:
    models = ok("count", "-m", "gpt-4o", "-m", "gpt-4", "-t", "hello world")
    encodings = ok("count", "-e", "o200k_base", "-e", "cl100k_base", "-t", "hello world")
    assert models.splitlines()[0].split() == [b"gpt-4o", b"gpt-4", b"path"]
    assert [row.split() for row in models.splitlines()[1:]] == [row.split() for row in encodings.splitlines()[1:]]


def test_models_and_encodings_are_columns_in_the_order_in_which_they_were_typed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    names = ["-e", "gpt2", "-m", "gpt-4o", "-e", "cl100k_base", "-m", "gpt-4"]
    expected = ["gpt2", "gpt-4o", "cl100k_base", "gpt-4"]
    assert [*json.loads(ok("count", *names, "-t", "x", "--json"))["total"]] == expected
    monkeypatch.setenv("TOKCLI_ENCODING", "p50k_base")  # a default, which is no column beside what is typed
    assert [*json.loads(ok("count", *names, "-t", "x", "--json"))["total"]] == expected
    assert ok("count", "-m", "gpt-4o", "-t", "x") == b"1\n"


@pytest.mark.parametrize("names", [["-m", "gpt-4o", "-m", "GPT-4o"], ["-e", "gpt2", "-m", "gpt2"]])
def test_a_column_that_is_named_twice_is_refused(names: list[str]) -> None:
    words = refused("count", *names, "-t", "x")
    assert words == f"Error: '{names[-1].lower()}' is given twice\nLeave one out: its name is that of its column.\n"


def test_an_estimate_stands_in_a_column_beside_exact_counts() -> None:
    asked = ["count", "--estimate", "-m", "gpt-4o", "-m", "claude-opus-4-6", "-t", "word " * 100]
    answer = json.loads(ok(*asked, "--json"))
    assert answer["total"] == {"gpt-4o": 101, "claude-opus-4-6": 119}
    assert answer["exact"] is False
    assert (answer["low"], answer["high"]) == ({"claude-opus-4-6": 111}, {"claude-opus-4-6": 131})
    assert (
        json.loads(ok(*asked, "--json", "--total"))
        == {key: answer[key] for key in ("exact", "low", "high")} | answer["total"]
    )
    ran = noted(*asked)
    assert ran.err.startswith("Note: this is an estimate: the tokenizer of claude-opus-4-6 is not public.")
    assert ran.out.split()[:3] == [b"gpt-4o", b"claude-opus-4-6", b"path"]
