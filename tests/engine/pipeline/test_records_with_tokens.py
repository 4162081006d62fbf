"""Records of byte-level tokenizers with added tokens in them, encoded in one call: each has the ids that it has alone."""

from __future__ import annotations

import json
import random
from array import array
from itertools import accumulate, pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support import HARD_ATOMS, ROOT, examples, hard_text

import tokcli
from tokcli.engine import backend
from tokcli.engine.base.arguments import NONE
from tokcli.engine.encoding import Encoding
from tokcli.engine.stream.chunks import ReadOptions
from tokcli.registry.encodings import load_encoding

pytestmark = pytest.mark.skipif(backend.native() is None, reason="records are taken one by one there")

BYTE_LEVEL: dict[str, Any] = json.loads((ROOT / "tests/data/formats/byte-level.tokenizer.json").read_text("utf-8"))
MASK, END = "<mask>", "<end>"
ATOMS = [MASK, END, "the", " ", "\t", "\u3000", "a", "_", "\u00e9", "<m", "e\u0301", "\u2126", "\U0001f600", "ab c"]
records = st.lists(st.lists(st.sampled_from(ATOMS), max_size=8).map("".join), max_size=6)


def token(number: int, content: str, **flags: bool) -> dict[str, Any]:
    usual = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": False}
    return {"id": number, "content": content, **usual, **flags}


TOKENS: dict[str, list[dict[str, Any]]] = {
    "plain": [token(500, MASK), token(501, END)],
    "special": [token(500, MASK, special=True), token(501, END)],
    "taking spaces": [token(500, MASK, lstrip=True, special=True), token(501, END, rstrip=True)],
    "words, before and after normalizing": [
        token(500, "the", single_word=True, normalized=True),
        token(501, MASK, lstrip=True, rstrip=True),
        token(502, "t", normalized=True),
    ],
}
NORMALIZERS: dict[str, Any] = {
    "none": None,
    "NFC": {"type": "NFC"},
    "NFKC in a sequence": {"type": "Sequence", "normalizers": [{"type": "NFKC"}]},
    "an empty sequence": {"type": "Sequence", "normalizers": []},
    "lowercase": {"type": "Lowercase"},
}


def made(path: Path, tokens: str, normalizer: str, *, puts_space: bool) -> Encoding:
    cuts = BYTE_LEVEL["pre_tokenizer"] | {"add_prefix_space": puts_space}
    parts = {"added_tokens": TOKENS[tokens], "normalizer": NORMALIZERS[normalizer], "pre_tokenizer": cuts}
    path.write_text(json.dumps(BYTE_LEVEL | parts))
    return load_encoding(path)


def in_one_call(encoding: Encoding, texts: list[str], options: ReadOptions, gap: int) -> list[list[int]] | None:
    """Return the ids of each record; None where records go one by one."""
    parts = [text.encode() + b"\n" * gap for text in texts]
    data, ends = b"".join(parts), array("Q", accumulate(map(len, parts)))
    native = encoding.tokenizer.for_records(data, options)
    made = None if native is None else native.encode_records(data, ends, gap)
    if native is None or made is None:
        return None
    found = [made[0][a:b].tolist() for a, b in pairwise(made[1])]
    counts = native.count_records(data, ends, gap)
    assert counts is not None
    assert counts.tolist() == list(map(len, found))
    return found


@pytest.mark.parametrize("puts_space", [False, True])
@pytest.mark.parametrize("normalizer", NORMALIZERS)
@pytest.mark.parametrize("tokens", TOKENS)
def test_records_have_the_ids_of_each_alone(tokens: str, normalizer: str, puts_space: bool, tmp_path: Path) -> None:
    encoding = made(tmp_path / "tokenizer.json", tokens, normalizer, puts_space=puts_space)
    rules = encoding.tokenizer.rules
    special = frozenset(encoding.special_tokens_set)

    @given(records, st.booleans(), st.sampled_from([0, 1]))
    @examples(40)
    def check(texts: list[str], allows: bool, gap: int) -> None:
        allowed = special if allows else NONE
        found = in_one_call(encoding, texts, ReadOptions(allowed=allowed), gap)
        assert found == [rules.encode(text, allowed) for text in texts]

    check()
    usual = [MASK, f"a{MASK} the", "", f" {END}", "the"]  # what no normalizer changes
    expected = [rules.encode(text, special) for text in usual]
    assert in_one_call(encoding, usual, ReadOptions(allowed=special), 1) == expected
    if special:
        assert encoding.tokenizer.for_records(f"a{MASK}\n".encode(), ReadOptions(refused=special)) is None


@pytest.mark.parametrize("puts_space", [False, True])
@pytest.mark.parametrize("tokens", TOKENS)
def test_a_long_text_has_the_ids_that_python_gives(tokens: str, puts_space: bool, tmp_path: Path) -> None:
    encoding = made(tmp_path / "tokenizer.json", tokens, "NFC", puts_space=puts_space)
    text = "".join(random.Random(3).choices([atom for atom in ATOMS if atom not in ("\u2126", "e\u0301")], k=12_000))
    for allowed in (NONE, frozenset(encoding.special_tokens_set)):
        expected = encoding.tokenizer.rules.encode(text, allowed)
        assert encoding.tokenizer.encode_array(text, allowed).tolist() == expected
        assert encoding.tokenizer.count(text, allowed) == len(expected)


@given(st.lists(st.one_of(hard_text(6), st.lists(st.sampled_from(HARD_ATOMS[-30:])).map("".join)), max_size=6))
def test_records_of_tiktoken_with_special_tokens_have_the_ids_of_each_alone(texts: list[str]) -> None:
    encoding = tokcli.get_encoding("cl100k_base")
    texts = [*texts, "a<|endoftext|><|endoftext|> b", "<|fim_prefix|>", "<|endoftext"]
    allowed = frozenset(encoding.special_tokens_set)
    expected = [encoding.encode(text, allowed_special="all") for text in texts]
    assert in_one_call(encoding, texts, ReadOptions(allowed=allowed), 1) == expected
    parts = [encoding.encode_ordinary("<|endof"), encoding.encode_ordinary("text|>")]
    assert in_one_call(encoding, ["<|endof", "text|>"], ReadOptions(allowed=allowed), 0) == parts
