"""`decode --records`: the records of a batch, decoded together, are those that are decoded one by one."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from support import ROOT, failed, noted, ok, refused

import tokcli

FORMATS = ROOT / "tests/data/formats"
TEXTS = ["hello world", "", "a b", "<|endoftext|> caf\u00e9 \U0001f64b", "x" * 300, "tab\tand ,comma"]


def lists_of(name: str = "o200k_base") -> list[list[int]]:
    encoding = tokcli.get_encoding(name)
    return [encoding.encode(text, allowed_special="all") for text in TEXTS]


@pytest.mark.parametrize("is_list", [False, True], ids=["plain", "brackets"])
@pytest.mark.parametrize(("kind", "end"), [("lines", b"\n"), ("nul", b"\0")])
def test_lines_of_ids_are_texts(kind: str, end: bytes, is_list: bool) -> None:
    lines = [str(ids) if is_list else " ".join(map(str, ids)) for ids in lists_of()]
    data = b"".join(line.encode() + end for line in lines)
    assert ok("decode", "--records", kind, data=data) == b"".join(text.encode() + end for text in TEXTS)
    mixed = data + b"24912,2375" + end + b" [24912]\t" + end
    assert ok("decode", "--records", kind, data=mixed).endswith(b"hello world" + end + b"hello" + end)


def test_members_of_objects_are_texts() -> None:
    lines = [json.dumps({"n": 1, "ids": ids}) for ids in lists_of()]
    data = "\n\n".join(lines).encode()
    assert ok("decode", "--records", "jsonl", data=data).decode() == "".join(f"{text}\n" for text in TEXTS)
    named = data.replace(b"ids", b"mine")
    assert ok("decode", "--records", "jsonl", "--field", "mine", data=named).decode().split("\n")[:-1] == TEXTS


@pytest.mark.parametrize("wrong", ["4294967295", "4294967296", "200100", "x", "1]", "[[1]]", "-1"])
def test_texts_come_before_the_error_in_a_record(wrong: str) -> None:
    ran = failed("decode", "--records", "lines", data=f"24912\n24912 {wrong}\n24912\n".encode())
    assert ran.out == b"hello\n"
    assert "record 2" in ran.err
    objects = f'{{"ids": [24912]}}\n{{"ids": [{wrong}]}}\n'.encode()
    assert failed("decode", "--records", "jsonl", data=objects).out == b"hello\n"


def test_special_tokens_and_unused_ids_are_as_in_one_text() -> None:
    data = b"24912 199999\n199999\n"
    assert ok("decode", "--records", "lines", data=data) == b"hello<|endoftext|>\n<|endoftext|>\n"
    assert ok("decode", "--records", "lines", "--skip-special-tokens", data=data) == b"hello\n\n"


def test_invalid_objects_are_left_out_where_that_is_asked_for() -> None:
    data = b'{"ids": [24912]}\n{"ids": "x"}\n{"ids": [24912]}\n'
    assert "record 2" in refused("decode", "--records", "jsonl", data=data)
    ran = noted("decode", "--records", "jsonl", "--skip-invalid", data=data)
    assert ran.out == b"hello\nhello\n"
    assert "left out 1 invalid record" in ran.err


@pytest.mark.parametrize("name", ["bpe.model", "wordpiece.tokenizer.json", "plain.tokenizer.json"])
def test_each_record_begins_anew(name: str, tmp_path: Path) -> None:
    file = tmp_path / "texts"
    file.write_text("hello world\n  hello\n\n")
    ids = ok("encode", "-e", FORMATS / name, "--records", "lines", file)
    alone = [ok("decode", "-e", FORMATS / name, "-t", line.decode()) for line in ids.split(b"\n")[:-1]]
    assert ok("decode", "-e", FORMATS / name, "--records", "lines", data=ids) == b"".join(one + b"\n" for one in alone)
