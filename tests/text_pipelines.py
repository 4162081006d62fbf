"""Parts of small tokenizer.json files, for tests that try many of them together: normalizers, pre-tokenizers, models."""

from __future__ import annotations

from typing import Any

STEPS: dict[str, list[dict[str, Any]]] = {
    "none": [],
    "characters": [{"type": "NFKD"}, {"type": "StripAccents"}, {"type": "Lowercase"}],
    "ends": [{"type": "Strip", "strip_left": True, "strip_right": True}, {"type": "Prepend", "prepend": "▁x"}],
    "a character in the place of spaces": [{"type": "Replace", "pattern": {"String": " "}, "content": "▁"}],
    "letters in the place of spaces": [{"type": "Replace", "pattern": {"String": " "}, "content": "ab"}],
    "nothing in the place of spaces": [{"type": "Replace", "pattern": {"String": " "}, "content": ""}],
    "what is around a space": [{"type": "Replace", "pattern": {"String": "b a"}, "content": "x"}],
    "what a step before has made": [
        {"type": "Replace", "pattern": {"String": " "}, "content": "▁"},
        {"type": "Replace", "pattern": {"String": "b▁a"}, "content": "x"},
    ],
    "a letter that becomes a space": [{"type": "Replace", "pattern": {"String": "x"}, "content": " "}],
    "quotes": [
        {"type": "Replace", "pattern": {"String": "``"}, "content": '"'},
        {"type": "Replace", "pattern": {"Regex": " {2,}"}, "content": " "},
        {"type": "Lowercase"},
    ],
}


def metaspace(scheme: str, split: bool) -> dict[str, Any]:
    return {"type": "Metaspace", "replacement": "▁", "prepend_scheme": scheme, "split": split}


CUTS: dict[str, dict[str, Any] | None] = {
    "nothing": None,
    "words": {"type": "BertPreTokenizer"},
    "spaces": {"type": "WhitespaceSplit"},
    "a metaspace before each": metaspace("always", True),
    "no metaspace first": metaspace("never", True),
    "a metaspace and no cut": metaspace("always", False),
    "punctuation": {"type": "Punctuation", "behavior": "Isolated"},
}
TOKENS = [
    "a",
    "b",
    "x",
    "▁",
    " ",
    "▁a",
    " a",
    "ab",
    "b▁",
    "b ",
    "▁ab",
    "ba",
    "x▁a",
    "1",
    "12",
    "the",
    "▁the",
    "t",
    "h",
    "e",
]
MODELS: dict[str, dict[str, Any]] = {
    "BPE": {
        "type": "BPE",
        "vocab": {token: i for i, token in enumerate(["<unk>", *TOKENS])},
        "merges": [["▁", "a"], ["a", "b"], ["b", "▁"], ["t", "h"], ["th", "e"], ["▁", "the"]],
        "unk_token": "<unk>",
        "fuse_unk": True,
    },
    "BPE, pieces first": {},
    "WordPiece": {
        "type": "WordPiece",
        "vocab": {token: i for i, token in enumerate(["<unk>", *TOKENS, "##a", "##b", "##x"])},
        "unk_token": "<unk>",
        "continuing_subword_prefix": "##",
        "max_input_chars_per_word": 20,
    },
    "Unigram": {"type": "Unigram", "unk_id": 0, "vocab": [["<unk>", 0.0], *([t, -1.5 - len(t)] for t in TOKENS)]},
}
MODELS["BPE"]["vocab"]["th"] = len(TOKENS) + 1
MODELS["BPE, pieces first"] = {**MODELS["BPE"], "ignore_merges": True}
