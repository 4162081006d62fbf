"""What tokenizers 1.0 adds to tokenizer.json, which 0.23 does not read."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from support import ROOT

import tokcli
from tokcli.errors import VocabularyError

PLAIN = ROOT / "tests" / "data" / "formats" / "plain.tokenizer.json"


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
