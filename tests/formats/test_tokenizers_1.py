"""What tokenizers 1.0 adds to tokenizer.json, which 0.23 does not read; and where its ids are not those of 0.23 (and ours).

tests/data/tokenizers_1.json lists the differences of one release: `why`, the texts of golden.json that it encodes
differently, and the code points that it does (null where texts say enough). It is compared where that release is
installed: `bash .ci/full tokenizers_1`.
"""

from __future__ import annotations

import json
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest
from support import ROOT

import tokcli
from tokcli.errors import VocabularyError

FOLDER = ROOT / "tests" / "data" / "formats"
PLAIN = FOLDER / "plain.tokenizer.json"
KNOWN = json.loads((FOLDER.parent / "tokenizers_1.json").read_text("utf-8"))
NAMES = list(KNOWN["differences"])
LAST = 0x32000  # code points from here on are not assigned, private, or variation selectors


def encode_as_1_0(name: str, text: str, *, special: bool = False) -> list[int]:
    tokenizers = pytest.importorskip("tokenizers")
    if metadata.version("tokenizers") != KNOWN["tokenizers"]:
        pytest.skip(f"tokenizers {KNOWN['tokenizers']} is not installed")
    found = LOADED.get(name) or LOADED.setdefault(name, tokenizers.Tokenizer.from_file(str(FOLDER / name)))
    return list(found.encode(text, add_special_tokens=special, padding=None, truncation=None).ids)


LOADED: dict[str, Any] = {}


@pytest.mark.parametrize("name", NAMES)
def test_tokenizers_1_gives_our_ids_but_for_the_texts_that_are_listed(name: str) -> None:
    ours = tokcli.load_encoding(FOLDER / name)
    rows = json.loads((FOLDER / "golden.json").read_text())[name]
    other = [
        row["text"]
        for row in rows
        if encode_as_1_0(name, row["text"]) != ours.encode(row["text"], allowed_special="all")
        or encode_as_1_0(name, row["text"], special=True) != row["full"]
    ]
    assert other == KNOWN["differences"][name]["texts"]
    assert bool(other or KNOWN["differences"][name]["code_points"]) == bool(KNOWN["differences"][name]["why"])


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_tokenizers_1_gives_our_ids_but_for_the_code_points_that_are_listed(name: str) -> None:
    if (listed := KNOWN["differences"][name]["code_points"]) is None:
        pytest.skip("most texts differ")
    ours = tokcli.load_encoding(FOLDER / name)
    texts = {code: f"a{chr(code)}b {chr(code)}" for code in range(LAST) if not 0xD800 <= code < 0xE000}
    expected = ours.encode_batch(list(texts.values()), allowed_special="all")
    other = [
        code for (code, text), ids in zip(texts.items(), expected, strict=True) if encode_as_1_0(name, text) != ids
    ]
    ends = [part.split("-") for part in listed.split()]
    assert other == [code for end in ends for code in range(int(end[0], 16), int(end[-1], 16) + 1)]


def written(folder: Path, **members: object) -> Path:
    path = folder / "tokenizer.json"
    path.write_text(json.dumps(json.loads(PLAIN.read_bytes()) | members))
    return path


@pytest.mark.parametrize("roles", [None, {}, {"eos_token": "<|endoftext|>", "bos_token": "none such"}])
def test_a_file_that_names_the_roles_of_its_tokens_gives_the_same_ids(roles: object, tmp_path: Path) -> None:
    text = "Hello world 12 é"
    read = tokcli.load_encoding(written(tmp_path, role_to_token=roles))
    assert read.encode_ordinary(text) == tokcli.load_encoding(PLAIN).encode_ordinary(text)


@pytest.mark.parametrize("roles", [["eos_token"], {"eos_token": 3}, {"eos_token": None}, "eos_token"])
def test_roles_that_tokenizers_refuses_are_refused_by_name(roles: object, tmp_path: Path) -> None:
    with pytest.raises(VocabularyError, match="role_to_token"):
        tokcli.load_encoding(written(tmp_path, role_to_token=roles))


def test_a_member_that_neither_version_has_is_named(tmp_path: Path) -> None:
    with pytest.raises(VocabularyError, match=r"roles: no member of a tokenizer\.json"):
        tokcli.load_encoding(written(tmp_path, roles={}))
