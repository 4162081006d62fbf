"""`Encoding.encode` with dropout, alpha and seed."""

from __future__ import annotations

from typing import Any

import pytest
from support import ROOT

import tokcli

FORMATS = ROOT / "tests" / "data" / "formats"
TEXT = "unrelated words"


def test_the_same_seed_gives_the_same_ids_and_none_gives_others() -> None:
    encoding = tokcli.get_encoding("cl100k_base")
    assert encoding.encode(TEXT, dropout=0.5, seed=3) == encoding.encode(TEXT, dropout=0.5, seed=3)
    assert len({tuple(encoding.encode(TEXT, dropout=0.5)) for _ in range(40)}) > 5
    assert encoding.encode(TEXT, dropout=0) == encoding.encode(TEXT) == encoding.encode(TEXT, dropout=None, seed=3)
    assert encoding.decode(encoding.encode(TEXT, dropout=0.9, seed=1)) == TEXT


def test_special_tokens_are_treated_as_without_dropout() -> None:
    encoding = tokcli.get_encoding("cl100k_base")
    ids = encoding.encode("ab<|endoftext|>cd", allowed_special="all", dropout=1)
    assert ids == [*encoding.encode("a"), *encoding.encode("b"), 100257, *encoding.encode("c"), *encoding.encode("d")]
    with pytest.raises(ValueError, match="endoftext"):
        encoding.encode("<|endoftext|>", dropout=0.1)


def test_alpha_is_for_unigram_and_dropout_for_bpe() -> None:
    unigram = tokcli.load_encoding(FORMATS / "unigram.model")
    assert unigram.encode(TEXT, alpha=0.1, seed=4) == unigram.encode(TEXT, alpha=0.1, seed=4)
    assert len({tuple(unigram.encode("Hello again", alpha=0.1, seed=seed)) for seed in range(30)}) > 5
    with pytest.raises(ValueError, match="not BPE"):
        unigram.encode(TEXT, dropout=0.1)
    with pytest.raises(ValueError, match="not Unigram"):
        tokcli.get_encoding("gpt2").encode(TEXT, alpha=0.1)


@pytest.mark.parametrize(
    ("given", "error"),
    [
        ({"dropout": 1.1}, ValueError),
        ({"dropout": "0.1"}, TypeError),
        ({"dropout": 0.1, "seed": 1.5}, TypeError),
        ({"alpha": 0.1, "dropout": 0.1}, ValueError),
        ({"alpha": -1.0}, ValueError),
    ],
)
def test_wrong_arguments_are_refused(given: dict[str, Any], error: type[Exception]) -> None:
    with pytest.raises(error):
        tokcli.get_encoding("gpt2").encode(TEXT, **given)
