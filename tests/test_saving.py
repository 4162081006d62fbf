"""`Encoding.save` writes what `train` and `inspect-ranks --export` write, whole or not at all, and says what it refuses."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
import tokenizers
from support import ROOT, ok

import tokcli
from tokcli.errors import OutputError, VocabularyError

FORMATS = ROOT / "tests" / "data" / "formats"
TEXT = "low lower lowest, it's 2024 \U0001f642\n"


@pytest.fixture(scope="module")
def own() -> tokcli.Encoding:
    pattern = tokcli.get_encoding("r50k_base")._pat_str
    return tokcli.train(["low lower lowest"] * 10, 262, pat_str=pattern, special_tokens=["<|endoftext|>"])


@pytest.mark.parametrize(
    ("name", "files"),
    [
        ("own.tiktoken", ["own.tiktoken", "own.tiktoken.json"]),
        ("own", ["own", "own.json"]),
        ("tokenizer.json", ["tokenizer.json"]),
        ("folder/", ["folder/tokenizer.json", "folder/tokenizer_config.json"]),
        ("own.model", ["own.model", "own.vocab"]),
        ("vocab.json", ["vocab.json", "merges.txt"]),
    ],
)
def test_the_name_tells_the_format(name: str, files: list[str], own: tokcli.Encoding, tmp_path: Path) -> None:
    names = own.save(f"{tmp_path}/{name}")
    assert names == tuple(f"{tmp_path}/{file}" for file in files)
    assert sorted(str(path) for path in tmp_path.rglob("*") if path.is_file()) == sorted(names)
    again = tokcli.load_encoding(names[0])
    assert again.encode(TEXT) == own.encode(TEXT)
    assert again.encode("<|endoftext|>", allowed_special="all") == [262]


@pytest.mark.parametrize("form", ["tiktoken", "gpt2", "huggingface", "minbpe"])
def test_the_files_are_those_of_export(form: str, own: tokcli.Encoding, tmp_path: Path) -> None:
    vocabulary = own.save(tmp_path / "own.tiktoken")[0]
    (tmp_path / "saved").mkdir()
    (tmp_path / "exported").mkdir()
    names = tokcli.load_encoding(vocabulary).save(tmp_path / "saved" / "own.json", format=form)
    ok("inspect-ranks", "-q", "-e", vocabulary, "--export", form, "-o", str(tmp_path / "exported" / "own.json"))
    for name in names:
        exported = Path(name.replace("saved", "exported"))
        assert Path(name).read_bytes() == exported.read_bytes()


def test_hugging_faces_library_reads_what_is_saved(own: tokcli.Encoding, tmp_path: Path) -> None:
    (name,) = own.save(tmp_path / "tokenizer.json")
    assert tokenizers.Tokenizer.from_file(name).encode(TEXT).ids == own.encode(TEXT)


def test_what_a_format_would_lose_is_refused_and_nothing_is_written(tmp_path: Path) -> None:
    (tmp_path / "x.model").write_text("old")
    with pytest.raises(VocabularyError, match="r50k_base as minbpe would lose the order of the bytes"):
        tokcli.get_encoding("r50k_base").save(tmp_path / "x.model")
    with pytest.raises(VocabularyError, match="would lose"):
        tokcli.load_encoding(FORMATS / "unigram.model").save(tmp_path / "x.tiktoken")
    assert [path.name for path in tmp_path.iterdir()] == ["x.model"]
    assert (tmp_path / "x.model").read_text() == "old"


def test_what_is_left_out_and_changes_no_ids_is_a_warning(tmp_path: Path) -> None:
    token = "<|endoftext|>"
    trained = tokcli.train(["low low"], 258, special_tokens=[token])
    (name,) = trained.save(tmp_path / "tokenizer.json")
    table = json.loads(Path(name).read_text())
    table["post_processor"] = {
        "type": "TemplateProcessing",
        "single": [{"SpecialToken": {"id": token, "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}}],
        "pair": [{"Sequence": {"id": "A", "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 1}}],
        "special_tokens": {token: {"id": token, "ids": [258], "tokens": [token]}},
    }
    Path(name).write_text(json.dumps(table))
    encoding = tokcli.load_encoding(name)
    with pytest.warns(UserWarning, match="template of special tokens is left out"):
        encoding.save(tmp_path / "x.tiktoken")


def test_a_name_that_tells_no_format_is_a_warning(own: tokcli.Encoding, tmp_path: Path) -> None:
    with pytest.warns(
        UserWarning, match=r"own\.gguf: written in the format tiktoken; a name that ends in \.json would"
    ):
        own.save(tmp_path / "own.gguf")
    assert own.save(tmp_path / "own.txt", format="tiktoken")  # as asked


def test_old_files_keep_their_mode_and_links_stay_links(own: tokcli.Encoding, tmp_path: Path) -> None:
    (tmp_path / "real.json").write_text("old")
    (tmp_path / "real.json").chmod(0o640)
    (tmp_path / "link.json").symlink_to("real.json")
    own.save(tmp_path / "link.json")
    assert (tmp_path / "link.json").is_symlink()
    assert (tmp_path / "real.json").stat().st_mode & 0o777 == 0o640
    assert json.loads((tmp_path / "real.json").read_text())["version"] == "1.0"


def test_a_file_that_is_no_sidecar_is_not_replaced_by_one(own: tokcli.Encoding, tmp_path: Path) -> None:
    (tmp_path / "my.json").write_bytes(b"[]")
    with pytest.raises(OutputError, match="not a sidecar, and would be replaced by one"):
        own.save(tmp_path / "my")
    assert [(path.name, path.read_bytes()) for path in tmp_path.iterdir()] == [("my.json", b"[]")]


def test_a_configuration_that_says_more_is_not_replaced(own: tokcli.Encoding, tmp_path: Path) -> None:
    (tmp_path / "tokenizer_config.json").write_text('{"chat_template": "x"}')
    with pytest.raises(OutputError, match="says more than would be written"):
        own.save(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["tokenizer_config.json"]


def test_errors_name_the_argument_or_the_file(own: tokcli.Encoding, tmp_path: Path) -> None:
    with pytest.raises(TypeError, match="path: expected a path, not int"):
        own.save(3)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="format: expected one of tiktoken, gpt2, huggingface, minbpe, not 'json'"):
        own.save(tmp_path / "x", format="json")
    with pytest.raises(TypeError, match="format: expected a str, not int"):
        own.save(tmp_path / "x", format=3)  # type: ignore[arg-type]
    with pytest.raises(OSError, match="missing/x: no such file or directory"):
        own.save(tmp_path / "missing" / "x")
    with pytest.raises(OutputError, match="not a regular file"):
        own.save(os.devnull)
    assert list(tmp_path.iterdir()) == []
