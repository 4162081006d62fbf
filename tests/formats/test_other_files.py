"""A file that is no vocabulary is called what it is, and what to do next is said."""

from __future__ import annotations

import io
import json
import pickle
import struct
import zipfile
from pathlib import Path

import pytest
from support import failed, noted, ok, refused

from tokcli.errors import VocabularyError
from tokcli.formats.read import format_of

FORMATS = Path(__file__).parents[1] / "data" / "formats"
LFS = b"version https://git-lfs.github.com/spec/v1\noid sha256:4d7a214614ab2935c943f9e0ff69d22e\nsize 12345\n"


def zipped(name: str) -> bytes:
    """Return a zip archive with one file."""
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w") as archive:
        archive.writestr(name, b"x")
    return held.getvalue()


def safetensors() -> bytes:
    """Return the weights of a model with one number."""
    head = json.dumps({"w": {"dtype": "F32", "shape": [1], "data_offsets": [0, 4]}}).encode()
    return struct.pack("<Q", len(head)) + head + bytes(4)


OTHERS = {
    "LFS pointer": (LFS, "a Git LFS pointer", "git lfs pull"),
    "page": (b"<!DOCTYPE html>\n<html><title>Sign in</title></html>", "a web page", "/resolve/"),
    "page in small letters": (b'\n <html lang="en">x</html>', "a web page", "/raw/"),
    "XML": (b'<?xml version="1.0"?><Error><Code>AccessDenied</Code></Error>', "XML", "again"),
    "the hub's answer": (b"Entry not found", "a server's message, not a vocabulary: 'Entry not found'", "again"),
    "GitHub's answer": (b"404: Not Found", "a server's message, not a vocabulary: '404: Not Found'", "again"),
    "an answer in JSON": (b'{"error":"Repository not found"}', "'Repository not found'", "again"),
    "a nested answer": (b'{"error": {"code": 404, "message": "gone"}}', "a server's message", "again"),
    "config": (b'{"architectures": ["GPT2LMHeadModel"], "vocab_size": 50257}', "a model's configuration", "tokenizer.json"),
    "config of numbers first": (b'{"n_ctx": 1024, "model_type": "gpt2"}', "a model's configuration", "tokenizer.json"),
    "quantized": (b'{"model_type": "x", "quantization_config": {"version": "gemm"}}', "a model's configuration", "tokenizer"),
    "tokenizer's config": (b'{"tokenizer_class": "GPT2Tokenizer"}', "a tokenizer's configuration", "tokenizer.json"),
    "special tokens": (b'{"bos_token": "<s>", "eos_token": "</s>"}', "a list of special tokens", "tokenizer.json"),
    "generation": (b'{"bos_token_id": 1, "max_length": 20}', "a model's settings", "tokenizer.json"),
    "index of weights": (b'{"metadata": {}, "weight_map": {"a": "b"}}', "an index of model weights", "tokenizer.json"),
    "sidecar": (b'{"pat_str": "a", "special_tokens": {}}', "the sidecar of a .tiktoken file", ""),
    "JSON Lines": (b'{"text": "hello"}\n', "a JSON object, not a vocabulary", "tokenizer.json"),
    "added tokens": (b'{"<|im_start|>": 151644, "<|im_end|>": 151645}', "a list of added tokens", "tokenizer.json"),
    "array": (b"[\n  1, 2]", "a JSON array", "tokenizer.json"),
    "safetensors": (safetensors(), "model weights (safetensors)", "tokenizer.json"),
    "PyTorch": (zipped("archive/data.pkl"), "model weights (PyTorch)", "tokenizer.json"),
    "zip": (zipped("tokenizer.json"), "a zip archive", "Unpack it"),
    "pickle": (pickle.dumps({"a": 1}), "a Python pickle", "tokenizer.json"),
    "gzip": (b"\x1f\x8b\x08\0", "compressed data (gzip)", "Decompress it"),
    "HDF5": (b"\x89HDF\r\n\x1a\n", "an HDF5 file", "tokenizer.json"),
    "Parquet": (b"PAR1" + bytes(9), "a Parquet file", "--records jsonl"),
    "PDF": (b"%PDF-1.7\n", "a PDF document", "tokenizer.json"),
    "vocab.txt": (b"[PAD]\r\n[UNK]\r\n[CLS]\r\nthe\r\n", "a BERT vocabulary (vocab.txt)", "tokenizer.json"),
    "minbpe's listing": (b"[\\u0000] 0\n[\\u0001] 1\n", "minbpe's listing of tokens", "the .model"),
    "UTF-16": ("YQ== 0\n".encode("utf-16"), "UTF-16 text", "Save it as UTF-8"),
    "mark": (b'\xef\xbb\xbf{"model": {}}', "a byte order mark", "without a mark"),
    "empty": (b"", "the file is empty", ""),
}  # fmt: skip


@pytest.mark.parametrize(("data", "what", "next_step"), OTHERS.values(), ids=OTHERS)
def test_a_file_is_called_what_it_is(data: bytes, what: str, next_step: str, tmp_path: Path) -> None:
    (tmp_path / "tokenizer.bin").write_bytes(data)
    error = refused("count", "-t", "hi", "-e", tmp_path / "tokenizer.bin")
    assert f"tokenizer.bin: {what}" in error or what in error
    assert next_step in error


@pytest.mark.parametrize("name", sorted(path.name for path in FORMATS.iterdir() if path.name != "golden.json"))
def test_no_vocabulary_is_called_something_else(name: str) -> None:
    assert format_of((FORMATS / name).read_bytes()[:4096], str(FORMATS / name)).name


def test_a_vocabulary_beside_it_is_named(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_bytes(b'{"model_type": "bert"}')
    (tmp_path / "tokenizer.json").write_bytes((FORMATS / "wordpiece.tokenizer.json").read_bytes())
    error = refused("count", "-t", "hi", "-e", "./config.json", cwd=tmp_path)
    assert error.endswith("Name tokenizer.json, which is beside it.\n")
    assert ok("count", "-t", "hi", "-e", "./tokenizer.json", cwd=tmp_path)


def test_a_folder_without_a_vocabulary_of_a_known_name_names_one(tmp_path: Path) -> None:
    (tmp_path / "m").mkdir()
    (tmp_path / "m" / "x.gguf").write_bytes(b"GGUF")
    assert "Name a file in it, such as m/x.gguf." in refused("count", "-t", "a", "-e", "m", cwd=tmp_path)


@pytest.mark.parametrize("name", ["wordpiece.tokenizer.json", "unigram.tokenizer.json", "bpe.model", "unigram.model"])
def test_a_file_that_is_cut_off_is_called_so(name: str, tmp_path: Path) -> None:
    data = (FORMATS / name).read_bytes()
    (tmp_path / name).write_bytes(data[: len(data) * 2 // 3])
    assert "cut off" in refused("count", "-t", "hi", "-e", tmp_path / name)


@pytest.mark.parametrize("end", [b"YW", b"YWI= ", b"YWI="])
def test_ranks_that_are_cut_off_are_called_so(end: bytes, tmp_path: Path) -> None:
    (tmp_path / "cut.tiktoken").write_bytes(b"YQ== 0\nYg== 1\n" + end)
    error = refused("count", "-t", "hi", "-e", tmp_path / "cut.tiktoken")
    assert "cut.tiktoken:3: the file is cut off" in error
    assert "Download or copy it again." in error


def test_a_sidecar_may_have_a_mark(tmp_path: Path) -> None:
    noted("train", "-t", "ab", "--vocab-size", "256", "-o", "x.tiktoken", cwd=tmp_path)
    (tmp_path / "x.tiktoken.json").write_bytes(b'\xef\xbb\xbf{"pat_str": "a|[^a]", "special_tokens": {}}')
    assert ok("count", "-t", "aab", "-e", "./x.tiktoken", cwd=tmp_path) == b"3\n"


def test_what_only_looks_like_a_config_is_a_vocabulary() -> None:
    """Tokens may have the names of a config's members; their ids are numbers, which those of a config are not."""
    assert format_of(b'{"model_type": 0, "error": 1, "tokenizer_class": 2}').name == "a GPT-2 vocabulary"
    with pytest.raises(VocabularyError, match="a model's configuration"):
        format_of(b'{"model_type": "x"}')


def test_a_cached_repository_without_a_tokenizer_is_told_from_one_that_is_not_there(tmp_path: Path) -> None:
    commit = "0123456789abcdef0123456789abcdef01234567"
    folder = tmp_path / "models--org--name"
    (folder / "refs").mkdir(parents=True)
    (folder / "refs" / "main").write_text(commit)
    snapshot = folder / "snapshots" / commit
    snapshot.mkdir(parents=True)
    (snapshot / "config.json").write_text("{}")
    env = {"HF_HUB_CACHE": str(tmp_path)}
    error = refused("count", "-t", "hi", "-e", "org/name", env=env)
    assert "org/name: the cache has this repository without a tokenizer (it has config.json)" in error
    assert "no such repository" in refused("count", "-t", "hi", "-e", "org/other", env=env)
    (snapshot / "tokenizer.json").write_bytes(LFS)
    assert "a Git LFS pointer" in failed("count", "-t", "hi", "-e", "org/name", env=env).err


def test_a_sidecar_names_the_ranks_to_which_it_belongs(tmp_path: Path) -> None:
    sidecar = tmp_path / "own.tiktoken.json"
    sidecar.write_bytes(b'{"pat_str": "a", "special_tokens": {}}')
    (tmp_path / "x.gguf").write_bytes(b"GGUF")
    assert "Name the .tiktoken file to which it belongs" in refused("count", "-t", "hi", "-e", sidecar)
    (tmp_path / "own.tiktoken").write_bytes(b"YQ== 0\n")
    assert f"Name {tmp_path / 'own.tiktoken'}, to which it belongs." in refused("count", "-t", "hi", "-e", sidecar)
