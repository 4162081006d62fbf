"""What `tokcli train` writes where the name of its output tells the format, and what its numbers are of."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from support import noted, ok, refused


def said_by(*arguments: str | Path, **more: Any) -> str:
    """Return what a training that ends well writes to standard error."""
    return noted("train", *arguments, **more).err


@pytest.mark.parametrize(
    ("size", "tokens", "note"),
    [
        ("4k", 4000, "Note: 4k is 4,000 tokens; for 4,096, type 4Ki.\n"),
        ("1M", 1_000_000, "Note: 1M is 1,000,000 tokens; for 1,048,576, type 1Mi.\n"),
        ("4Ki", 4096, ""),
        ("0.5k", 500, "Note: 0.5k is 500 tokens; for 512, type 0.5Ki.\n"),
        ("4096", 4096, ""),
    ],
)
def test_a_vocabulary_size_may_have_a_unit_and_a_note_says_which(
    size: str, tokens: int, note: str, tmp_path: Path
) -> None:
    said = said_by("-t", "abab abab", "--vocab-size", size, "-o", tmp_path / "x")
    assert said.startswith(note)
    assert f"{tokens - 259:,} fewer than asked for" in said, "three merges: ab, abab and _abab"
    assert "Note" not in said_by("-t", "abab", "--vocab-size", size, "-o", tmp_path / "x", "-q")


@pytest.mark.parametrize("size", ["4x", "k", "1.0001k", "4kk", ".5k"])
def test_a_number_of_tokens_that_is_none_is_refused_with_examples(size: str) -> None:
    said = refused("train", "-t", "text", "--vocab-size", size, "-o", "x")
    assert f"{size!r} is not a number of tokens such as 4096, 4k or 4Ki." in said


@pytest.mark.parametrize(
    ("name", "form", "files"),
    [
        ("tokenizer.json", "huggingface", ["tokenizer.json"]),
        ("vocab.json", "gpt2", ["merges.txt", "vocab.json"]),
        ("my.model", "minbpe", ["my.model", "my.vocab"]),
        ("folder/", "huggingface", ["tokenizer.json", "tokenizer_config.json"]),
        ("my.tiktoken", "tiktoken", ["my.tiktoken", "my.tiktoken.json"]),
        ("my", "tiktoken", ["my", "my.json"]),
    ],
)
def test_the_name_of_the_output_tells_the_format(name: str, form: str, files: list[str], tmp_path: Path) -> None:
    text = ("-t", "abab abab", "--vocab-size", "258", "--special", "<|endoftext|>")
    said = said_by(*text, "-o", name, cwd=tmp_path)
    note = f"{name}: written in --format {form}, as {'for every folder' if name[-1] == '/' else 'its name says'}."
    assert ("Note" in said, note in said) == (form != "tiktoken", form != "tiktoken")
    folder = tmp_path / name if name[-1] == "/" else tmp_path
    assert sorted(path.name for path in folder.iterdir()) == files
    explicit = said_by(
        *text, "-o", "x" if form == "tiktoken" else "explicit/" + name, "--format", form, cwd=made(tmp_path)
    )
    assert "Note" not in explicit, "the format is the one that the name tells"
    assert re.findall("sha256 (.*)", explicit) == re.findall("sha256 (.*)", said)


def made(folder: Path) -> Path:
    (folder / "explicit").mkdir()
    return folder


@pytest.mark.parametrize("name", ["out.txt", "x.gguf", "my.v2"])
def test_a_name_that_tells_no_format_gets_a_note_on_the_format_and_on_the_names_of_others(
    name: str, tmp_path: Path
) -> None:
    text = ("-t", "abab", "--vocab-size", "257", "-o", name)
    note = f"Note: {name}: written in --format tiktoken; a name that ends in .json would have given huggingface, "
    assert said_by(*text, cwd=tmp_path).startswith(f"{note}.model minbpe, and vocab.json gpt2.\n")
    assert sorted(path.name for path in tmp_path.iterdir()) == [name, f"{name}.json"]
    for more in (["-q"], ["--format", "tiktoken"], ["--preset", "basic"]):
        assert "Note" not in said_by(*text, *more, cwd=tmp_path)


def test_a_name_that_contradicts_the_format_gets_a_note(tmp_path: Path) -> None:
    text = ("-t", "abab", "--vocab-size", "257")
    said = said_by(*text, "--format", "tiktoken", "-o", "tokenizer.json", cwd=tmp_path)
    assert "tokenizer.json: named like a file of --format huggingface, but --format tiktoken is written." in said
    assert "Note" not in said_by(*text, "--format", "tiktoken", "-o", "tokenizer.json", "-q", cwd=tmp_path)


def test_the_report_counts_special_tokens_beside_the_others(tmp_path: Path) -> None:
    text = ("-t", "abab", "--vocab-size", "257", "-o", tmp_path / "x")
    assert re.fullmatch("257 tokens, 1 merge\nx sha256 [0-9a-f]{64}\n", said_by(*text))
    assert said_by(*text, "--special", "<a>").endswith("\n1 special token beside these, 258 tokens in all\n")
    own = said_by(*text, "--special", "<a>", "--special", "<b>")
    assert own.endswith("\n2 special tokens beside these, 259 tokens in all\n")
    exported = noted("inspect-ranks", "-e", tmp_path / "x", "--export", "huggingface", "-o", tmp_path / "y").err
    assert re.sub(".* sha256 .*", "", exported) == re.sub(".* sha256 .*", "", own)


def test_a_folder_of_hugging_face_names_the_end_of_text(tmp_path: Path) -> None:
    names = ["<|endoftext|>", "<pad>", "<s>", "[MASK]", "<|tool|>"]
    special = [part for name in names for part in ("--special", name)]
    said = said_by("-t", "abab", "--vocab-size", "257", "--format", "huggingface", "-o", f"{tmp_path}/hf/", *special)
    assert "Note" not in said
    assert json.loads((tmp_path / "hf" / "tokenizer_config.json").read_bytes()) == {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "clean_up_tokenization_spaces": False,
        "bos_token": "<s>",
        "eos_token": "<|endoftext|>",
        "pad_token": "<pad>",
        "mask_token": "[MASK]",
        "additional_special_tokens": ["<|tool|>"],
    }
    assert ok("encode", "-e", tmp_path / "hf", "--special", "allow", "-t", "ab<|endoftext|><s>") == b"256 257 259\n"
    without = said_by("-t", "abab", "--vocab-size", "257", "-o", tmp_path / "hf", "--special", "<|tool|>")
    assert "no special token is named like an end of text: tokenizer_config.json has no eos_token." in without
    exported = tmp_path / "exported"
    noted("inspect-ranks", "-e", "gpt2", "--export", "huggingface", "-o", f"{exported}/")
    assert json.loads((exported / "tokenizer_config.json").read_bytes())["eos_token"] == "<|endoftext|>"


def test_a_file_that_is_no_sidecar_is_not_replaced_by_one(tmp_path: Path) -> None:
    others = b'{"version": "1.0", "model": {}}'
    (tmp_path / "my.json").write_bytes(others)
    said = refused("train", "-t", "abab", "--vocab-size", "257", "-o", tmp_path / "my")
    assert f"{tmp_path}/my.json: not a sidecar, and would be replaced by one" in said
    assert [(path.name, path.read_bytes()) for path in tmp_path.iterdir()] == [("my.json", others)]
    (tmp_path / "my.json").write_bytes(b'{"pat_str": "x"}')
    said_by("-t", "abab", "--vocab-size", "257", "-o", tmp_path / "my")
    assert json.loads((tmp_path / "my.json").read_bytes())["pat_str"] != "x"


@pytest.mark.parametrize("others", [b'{"chat_template": "x"}', b"{", b"[]"])
def test_a_configuration_that_says_more_is_not_replaced(others: bytes, tmp_path: Path) -> None:
    (tmp_path / "tokenizer_config.json").write_bytes(others)
    said = refused("train", "-t", "abab", "--vocab-size", "257", "-o", tmp_path)
    assert f"{tmp_path}/tokenizer_config.json: says more than would be written in its place" in said
    assert f"-o {tmp_path}/tokenizer.json" in said
    assert [path.name for path in tmp_path.iterdir()] == ["tokenizer_config.json"]
    assert (tmp_path / "tokenizer_config.json").read_bytes() == others
    said_by("-t", "abab", "--vocab-size", "257", "-o", tmp_path / "tokenizer.json")


@pytest.mark.slow
def test_auto_tokenizer_has_the_special_tokens_of_a_trained_folder(tmp_path: Path) -> None:
    transformers = pytest.importorskip("transformers")
    special = ("--special", "<|endoftext|>", "--special", "<pad>", "--special", "<|tool|>")
    said_by("-t", "abab the the", "--vocab-size", "260", "-o", f"{tmp_path}/hf/", *special)
    found = transformers.AutoTokenizer.from_pretrained(str(tmp_path / "hf"))
    assert (found.eos_token, found.pad_token, found.bos_token) == ("<|endoftext|>", "<pad>", None)
    text = "abab , the<|endoftext|><|tool|>"
    ids = ok("encode", "-e", tmp_path / "hf", "--special", "allow", "-t", text)
    assert found.encode(text) == list(map(int, ids.split()))
    assert found.decode(found.encode(text)) == text
