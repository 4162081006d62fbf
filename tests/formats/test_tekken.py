"""Mistral's tekken.json: ids behind those of the special tokens."""

from __future__ import annotations

import base64
import json

import pytest
import tiktoken
from support import parse_vocabulary

from tokcli.engine.spec.spec import TokenizerSpec
from tokcli.engine.spec.splitters import PatStr
from tokcli.engine.text_tokenizer import special_tokens_of
from tokcli.errors import VocabularyError

TOKENS = [*(bytes([byte]) for byte in range(256)), b"he", b"ll", b"hell", b"hello", b" w"]
PATTERN = r"\p{L}+| ?\p{L}+|\s+|[^\p{L}\s]+"


def tekken(**changes: object) -> bytes:
    top: dict[str, object] = {
        "config": {
            "pattern": PATTERN,
            "num_vocab_tokens": 300,
            "default_vocab_size": 10 + len(TOKENS),
            "default_num_special_tokens": 10,
            "version": "v3",
        },
        "vocab": [{"rank": n, "token_bytes": base64.b64encode(t).decode()} for n, t in enumerate([*TOKENS, b"beyond"])],
    }
    return json.dumps(top | changes).encode()


def test_ids_are_those_of_tiktoken_after_the_special_ones() -> None:
    made = parse_vocabulary(tekken(), "tekken.json")
    assert isinstance(made, TokenizerSpec)
    ranks = {token: rank for rank, token in enumerate(TOKENS)}
    theirs = tiktoken.Encoding("x", pat_str=PATTERN, mergeable_ranks=ranks, special_tokens={})
    ours = tiktoken.Encoding("x", pat_str=PATTERN, mergeable_ranks=made.model.mergeable_ranks, special_tokens={})
    assert [number - 10 for number in ours.encode_ordinary("hello world é")] == theirs.encode_ordinary("hello world é")
    assert made.splitter == (PatStr(PATTERN),)
    assert special_tokens_of(made)["</s>"] == 2
    assert b"beyond" not in made.model.mergeable_ranks


def test_special_tokens_that_are_listed_have_these_names() -> None:
    made = parse_vocabulary(tekken(special_tokens=[{"rank": 1, "token_str": "<begin>"}]), "tekken.json")
    assert isinstance(made, TokenizerSpec)
    assert special_tokens_of(made)["<begin>"] == 1
    assert special_tokens_of(made)["<SPECIAL_2>"] == 2


@pytest.mark.parametrize(
    "changes",
    [
        {"vocab": []},
        {"vocab": [{"rank": 0, "token_bytes": "?"}]},
        {"vocab": [{"rank": 5, "token_bytes": "AA=="}]},
        {"vocab": None},
        {"special_tokens": [{"rank": 99, "token_str": "x"}]},
        {"special_tokens": [{"rank": 1, "token_str": "x"}, {"rank": 2, "token_str": "x"}]},
    ],
)
def test_a_file_that_does_not_add_up_is_refused(changes: dict[str, object]) -> None:
    with pytest.raises(VocabularyError, match=r"^tekken\.json"):
        parse_vocabulary(tekken(**changes), "tekken.json")
