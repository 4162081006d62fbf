"""`encode --format u16|u32|npy --append-special`: inputs or records as one array of ids, each ended by a special token."""

from __future__ import annotations

import gzip
import json
from io import BytesIO
from pathlib import Path

import numpy as np
import pytest
from support import HARD_ATOMS, ROOT, ok, refused

import tokcli

END = "<|endoftext|>"
TEXTS = ["hello", "", "naïve world", "".join(HARD_ATOMS), "", "one two, three. " * 3000]
WORDPIECE = ROOT / "tests" / "data" / "formats" / "wordpiece.tokenizer.json"
ASKED = (
    "encode",
    "-e",
    "gpt2",
    "--special",
    "text",
    "--records",
    "jsonl",
    "--field",
    "doc.text",
    "--append-special",
    END,
)


def lines_of(texts: list[str]) -> bytes:
    """Return texts as JSON Lines whose texts are in the member doc.text."""
    return b"".join(json.dumps({"doc": {"text": text}}).encode() + b"\n" for text in texts)


def expected(texts: list[str]) -> list[int]:
    """Return the ids of the texts, each followed by that of END, as the public API gives them."""
    enc = tokcli.get_encoding("gpt2")
    return [number for text in texts for number in (*enc.encode_ordinary(text), enc.eot_token)]


def read(data: bytes, form: str) -> list[int]:
    ids = np.load(BytesIO(data)) if form == "npy" else np.frombuffer(data, {"u16": "<u2", "u32": "<u4"}[form])
    return list(map(int, ids))


@pytest.mark.parametrize("form", ["u16", "u32", "npy"])
@pytest.mark.parametrize("backend", ["auto", "python"])
def test_each_record_is_followed_by_the_special_token(form: str, backend: str, tmp_path: Path) -> None:
    path, env = tmp_path / "corpus.jsonl", {"TOKCLI_BACKEND": backend}
    path.write_bytes(lines_of(TEXTS))
    ok(*ASKED, "--format", form, "-o", tmp_path / "ids", path, path, env=env)
    data = (tmp_path / "ids").read_bytes()
    assert read(data, form) == expected(TEXTS) * 2
    assert ok(*ASKED, "--format", form, path, path, env=env) == data
    assert ok(*ASKED, "--format", form, "-", path, data=path.read_bytes(), env=env) == data


@pytest.mark.parametrize(("name", "form"), [("gpt2", "u16"), ("o200k_base", "u32")])
def test_the_bytes_are_those_of_a_flat_shard(name: str, form: str, tmp_path: Path) -> None:
    (tmp_path / "corpus.jsonl.gz").write_bytes(gzip.compress(lines_of(TEXTS * 40)))
    asked = tuple(name if part == "gpt2" else part for part in ASKED)
    ok(*asked, "--shards", tmp_path / "shards", tmp_path / "corpus.jsonl.gz")
    made = ok(*asked, "--format", form, tmp_path / "corpus.jsonl.gz", "-j", "3")
    assert made == (tmp_path / "shards" / "shard-00000.bin").read_bytes()


@pytest.mark.parametrize(("kind", "separator"), [("lines", b"\n"), ("nul", b"\0")])
def test_lines_and_nul_records_are_ended_too(kind: str, separator: bytes) -> None:
    asked = ("encode", "-e", "gpt2", "--records", kind, "--append-special", END, "--format", "u16")
    assert read(ok(*asked, data=separator.join([b"hello", b"", b"world"])), "u16") == expected(["hello", "", "world"])
    assert read(ok(*asked, data=b""), "u16") == []


def test_without_records_each_file_is_ended(tmp_path: Path) -> None:
    for name in ("a", "b", "c"):
        (tmp_path / name).write_text("" if name == "b" else f"{name}\n")
    made = ok("encode", "-e", "gpt2", "--append-special", END, "--format", "npy", *(tmp_path / name for name in "abc"))
    assert read(made, "npy") == expected(["a\n", "", "c\n"])


def test_the_special_token_follows_a_template_and_a_pair() -> None:
    asked = ("encode", "-e", WORDPIECE, "--records", "jsonl", "--add-special-tokens")
    data = b'{"text": "hello", "text_pair": "world"}\n{"text": "hello"}\n'
    ids = [json.loads(line)["ids"] for line in ok(*asked, "--json", data=data).splitlines()]
    made = read(ok(*asked, "--append-special", "[SEP]", "--format", "u32", data=data), "u32")
    last = tokcli.load_encoding(WORDPIECE).encode_single_token("[SEP]")
    assert made == [*ids[0], last, *ids[1], last]


@pytest.mark.parametrize("form", ["u16", "u32", "npy"])
def test_records_are_cut_before_the_token_that_ends_each(form: str) -> None:
    asked = ("encode", "-e", "gpt2", "--records", "lines", "-n", "3", "--append-special", END, "--format", form)
    assert read(ok(*asked, data=b"one two three\nfive\n"), form) == expected(["one two", "five"])


def test_bytes_that_are_not_utf8_are_as_elsewhere() -> None:
    asked = ("encode", "-e", "gpt2", "--records", "lines", "--append-special", END, "--format", "u16")
    assert read(ok(*asked, "--errors", "replace", data=b"a\xff\nb"), "u16") == expected(["a\ufffd", "b"])
    assert "record 2: not UTF-8 at byte 1" in refused(*asked, data=b"ok\na\xff\nb")


@pytest.mark.parametrize("form", ["u16", "npy"])
def test_a_record_that_is_wrong_is_named_and_leaves_no_file(form: str, tmp_path: Path) -> None:
    path = tmp_path / "corpus.jsonl"
    path.write_bytes(lines_of(["a", "b"]) + b'{"doc": 1}\n')
    said = refused(*ASKED, "--format", form, "-o", tmp_path / "ids", path)
    assert said.startswith(f"Error: {path}: record 3: no member 'doc.text'")
    assert sorted(found.name for found in tmp_path.iterdir()) == ["corpus.jsonl"]


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (["--format", "u16", "--append-special", END], "--format u16 holds ids up to 65535; those of o200k_base"),
        (["--format", "u32", "--append-special", "<|nothing|>"], "o200k_base has no special token '<|nothing|>'"),
        (
            ["--format", "u32", "--append-special", END, "-n", "0"],
            "-n 0 has no room for the 1 token that --append-special",
        ),
        (["--format", "u32", "--append-special", END, "--json"], "--format u32 cannot be combined with --json"),
        (["--format", "u32"], "--format u32 cannot be combined with --records"),
    ],
)
def test_what_does_not_fit_is_refused(more: list[str], said: str) -> None:
    assert refused("encode", "--records", "lines", *more, data=b"a\n").startswith(f"Error: {said}")


def test_records_that_nothing_would_divide_are_told_what_does() -> None:
    assert "--append-special NAME" in refused("encode", "--records", "lines", "--format", "u32", data=b"a\nb\n")
