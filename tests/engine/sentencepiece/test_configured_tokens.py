"""The tokens that a folder's tokenizer_config.json puts around a text, beside a SentencePiece model without a template."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from support import ROOT, noted, ok

from tokcli.registry.encodings import load_encoding

FORMATS = ROOT / "tests" / "data" / "formats"
BOTH = {"add_bos_token": True, "add_eos_token": True}
PAIR = b'{"text": "the", "text_pair": "a"}\n'


def folder(path: Path, config: object, name: str = "bpe.model") -> Path:
    shutil.copy(FORMATS / name, path / "tokenizer.model")
    (path / "tokenizer_config.json").write_text(json.dumps(config))
    return path


def around(path: Path, *more: str, text: str = "the") -> tuple[list[int], list[int]]:
    """Return the ids that are added before a text and after it."""
    plain = list(map(int, ok("encode", "-e", path, "-t", text).split()))
    ids = list(map(int, ok("encode", "-e", path, "--add-special-tokens", *more, "-t", text).split()))
    at = next(at for at in range(len(ids)) if ids[at : at + len(plain)] == plain)
    return ids[:at], ids[at + len(plain) :]


@pytest.mark.parametrize(
    ("config", "before", "after"),
    [
        (BOTH, [1], [2]),
        ({"add_bos_token": True, "add_eos_token": False}, [1], []),
        ({"add_eos_token": True, "eos_token": {"content": "</s>", "special": True}}, [], [2]),
        ({**BOTH, "bos_token": "</s>", "eos_token": "<s>"}, [2], [1]),
        ({**BOTH, "bos_token": None}, [], [2]),
    ],
)
@pytest.mark.parametrize("name", ["bpe.model", "unigram.model"])
def test_the_tokens_that_the_configuration_names_are_added(
    name: str, config: dict[str, Any], before: list[int], after: list[int], tmp_path: Path
) -> None:
    path = folder(tmp_path, config, name)
    assert around(path) == around(path) == (before, after)  # the second time it comes from the cache
    more = len(before) + len(after)
    counts = [int(ok("count", "-e", path, *added, "-t", "the a")) for added in ((), ("--add-special-tokens",))]
    assert counts[1] - counts[0] == more


@pytest.mark.parametrize(
    "config", [{}, {"add_bos_token": False}, {**BOTH, "eos_token": "<nothing>"}, [], {"add_bos_token": 1}]
)
def test_without_such_tokens_a_note_says_that_nothing_is_added(config: object, tmp_path: Path) -> None:
    ran = noted("encode", "-e", folder(tmp_path, config), "--add-special-tokens", "-t", "the")
    assert ran.out == ok("encode", "-e", FORMATS / "bpe.model", "-t", "the")
    assert "has no template of special tokens; nothing is added." in ran.err


def test_they_are_added_only_on_request_and_only_for_a_folder(tmp_path: Path) -> None:
    plain = ok("encode", "-e", FORMATS / "bpe.model", "-t", "the")
    path = folder(tmp_path, BOTH)
    assert ok("encode", "-e", path, "-t", "the") == plain
    assert noted("encode", "-e", path / "tokenizer.model", "--add-special-tokens", "-t", "the").out == plain


def test_both_texts_of_a_pair_have_their_own_and_no_place(tmp_path: Path) -> None:
    path = folder(tmp_path, BOTH)
    asked = ("encode", "-e", path, "--add-special-tokens", "--records", "jsonl", "--json", "--offsets", "char")
    found = json.loads(ok(*asked, data=PAIR))
    a, b = (load_encoding(path).encode_ordinary(text) for text in ("the", "a"))
    assert found["ids"] == [1, *a, 2, 1, *b, 2]
    assert found["type_ids"] == [0] * (len(a) + 2) + [1] * (len(b) + 2)
    assert found["special_tokens_mask"] == [1, *[0] * len(a), 1, 1, *[0] * len(b), 1]
    assert [found["offsets"][at] for at in (0, len(a) + 1, -1)] == [[0, 0]] * 3


def test_they_are_among_the_tokens_that_n_keeps(tmp_path: Path) -> None:
    path = folder(tmp_path, BOTH)
    ids = ok("encode", "-e", path, "--add-special-tokens", "-n", "3", "-t", "the cat sat").split()
    assert (len(ids), ids[0], ids[-1]) == (3, b"1", b"2")
