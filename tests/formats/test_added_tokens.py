"""Added tokens that meet: the ids that Hugging Face's tokenizers gives."""

from __future__ import annotations

import json

import pytest

from tokcli.formats.vocabulary import parse_vocabulary

VOCAB = {"a": 0, "b": 1, " ": 2, "<": 3, ">": 4}


def added(content: str, number: int, flags: str) -> dict[str, object]:
    names = {"w": "single_word", "l": "lstrip", "r": "rstrip", "n": "normalized", "s": "special"}
    return {"id": number, "content": content} | {name: flag in flags for flag, name in names.items()}


@pytest.mark.parametrize(
    ("tokens", "text", "ids"),
    [
        ([added("<x>", 5, "r"), added("  ", 6, "l")], "<x>  a", [5, 0]),  # the spaces are taken already
        ([added(" ", 5, "lr")], "a   b", [0, 2, 1]),
        ([added("<X>", 5, "n"), added("<x>", 6, "ns")], "<x>a", [6, 0]),  # both are <x> when normalized
        ([added("<X>", 5, "n"), added("<x>", 6, "n")], "<X>a", [5, 0]),
        ([added("<X>", 5, ""), added("<x>", 6, "n")], "<X><x>", [5, 6]),
    ],
)
def test_tokens_that_meet_become_what_the_library_makes_of_them(
    tokens: list[object], text: str, ids: list[int]
) -> None:
    top = {
        "version": "1.0", "added_tokens": tokens, "normalizer": {"type": "Lowercase"}, "pre_tokenizer": None,
        "post_processor": None, "decoder": None, "model": {"type": "BPE", "vocab": VOCAB, "merges": []},
    }  # fmt: skip
    tokenizer = parse_vocabulary(json.dumps(top).encode(), "x.json")
    assert tokenizer.encode(text, frozenset(tokenizer.special_tokens)) == ids  # type: ignore[union-attr]
    tokenizers = pytest.importorskip("tokenizers")
    assert tokenizers.Tokenizer.from_str(json.dumps(top)).encode(text).ids == ids
