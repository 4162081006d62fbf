"""XLM-RoBERTa's ids: those of its SentencePiece model, shifted, where a folder says that they are."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from support import ROOT, ok

from tokcli.errors import VocabularyError
from tokcli.registry.encodings import load_encoding

MODEL = ROOT / "tests" / "data" / "formats" / "char.model"
CONFIGS = [
    ("tokenizer_config.json", {"tokenizer_class": "XLMRobertaTokenizer"}),
    ("config.json", {"model_type": "xlm-roberta"}),
]


def folder(path: Path, name: str, config: object) -> Path:
    shutil.copy(MODEL, path / "sentencepiece.bpe.model")
    (path / name).write_text(json.dumps(config))
    return path


@pytest.mark.parametrize(("name", "config"), CONFIGS)
def test_ids_are_shifted_by_one_and_unknown_is_three(name: str, config: object, tmp_path: Path) -> None:
    ours, plain = load_encoding(folder(tmp_path, name, config)), load_encoding(MODEL)
    text = "Hello, w\u00f6rld 東\U0001f600"
    ids = plain.encode_ordinary(text)
    assert 0 in ids
    assert ours.encode_ordinary(text) == [number + 1 if number else 3 for number in ids]


def test_a_model_alone_or_of_another_kind_keeps_its_ids(tmp_path: Path) -> None:
    path = folder(tmp_path, "tokenizer_config.json", {"tokenizer_class": "T5Tokenizer"})
    assert load_encoding(path).encode_ordinary("a b") == load_encoding(MODEL).encode_ordinary("a b")


def test_special_tokens_and_template_are_those_of_fairseq(tmp_path: Path) -> None:
    path = folder(tmp_path, *CONFIGS[0])
    mask = len(load_encoding(MODEL).tokenizer.token_bytes()) + 1
    given = ("encode", "-e", path, "--special", "allow", "--add-special-tokens", "--records", "jsonl", "--json", "--offsets", "char")  # fmt: skip
    out = ok(*given, data=b'{"text": "a <mask>", "text_pair": "b"}\n')
    a, b = (load_encoding(path).encode_ordinary(text) for text in "ab")
    answer = json.loads(out)
    assert answer["ids"] == [0, *a, mask, 2, 2, *b, 2]
    assert answer["offsets"][len(a) + 1] == [1, 8]
    assert load_encoding(path).decode([*a, mask, 3]) == "a<mask><unk>"


def test_a_folder_whose_model_is_not_xlm_robertas_is_refused(tmp_path: Path) -> None:
    path = folder(tmp_path, *CONFIGS[0])
    data = MODEL.read_bytes()
    (path / "sentencepiece.bpe.model").write_bytes(data.replace(b"\n\x03<s>", b"\n\x03<x>"))
    with pytest.raises(VocabularyError, match="XLM-RoBERTa"):
        load_encoding(path)
