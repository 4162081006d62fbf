"""Added tokens that meet: the ids that Hugging Face's tokenizers gives."""

from __future__ import annotations

import json

import pytest

from tokcli.formats.vocabulary import parse_vocabulary

VOCAB = {"a": 0, "b": 1, " ": 2, "<": 3, ">": 4}


def added(content: str, number: int, flags: str) -> dict[str, object]:
    names = {"w": "single_word", "l": "lstrip", "r": "rstrip", "n": "normalized", "s": "special"}
    return {"id": number, "content": content} | {name: flag in flags for flag, name in names.items()}


def file_of(tokens: list[dict[str, object]]) -> str:
    return json.dumps({
        "version": "1.0", "added_tokens": tokens, "normalizer": {"type": "Lowercase"}, "pre_tokenizer": None,
        "post_processor": None, "decoder": None, "model": {"type": "BPE", "vocab": VOCAB, "merges": []},
    })  # fmt: skip


def ids_here(file: str, text: str) -> list[int]:
    tokenizer = parse_vocabulary(file.encode(), "x.json")
    return tokenizer.encode(text, frozenset(tokenizer.special_tokens))  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("tokens", "text", "ids"),
    [
        ([added("<x>", 5, "r"), added("  ", 6, "l")], "<x>  a", [5, 0]),  # the spaces are taken already
        ([added(" ", 5, "lr")], "a   b", [0, 2, 1]),
        ([added("<X>", 5, ""), added("<x>", 6, "n")], "<X><x>", [5, 6]),
    ],
)
def test_tokens_that_meet_become_what_the_library_makes_of_them(
    tokens: list[dict[str, object]], text: str, ids: list[int]
) -> None:
    file = file_of(tokens)
    assert ids_here(file, text) == ids
    tokenizers = pytest.importorskip("tokenizers")
    assert tokenizers.Tokenizer.from_str(file).encode(text).ids == ids


@pytest.mark.parametrize(
    ("tokens", "text", "ids"),
    [
        ([added("<X>", 5, "n"), added("<x>", 6, "ns")], "<x>a", [6, 0]),
        ([added("<X>", 5, "n"), added("<x>", 6, "n")], "<X>a", [5, 0]),
    ],
)
def test_of_two_tokens_that_are_one_when_normalized_one_is_always_chosen(
    tokens: list[dict[str, object]], text: str, ids: list[int]
) -> None:
    file = file_of(tokens)
    assert ids_here(file, text) == ids
    tokenizers = pytest.importorskip("tokenizers")
    # the library walks a hash map seeded anew: each load gives one or the other
    assert ids in [tokenizers.Tokenizer.from_str(file).encode(text).ids for _ in range(64)]
