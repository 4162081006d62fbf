"""`decode --records`: the records of a batch, decoded together, are those that are decoded one by one."""

from __future__ import annotations

import json
from itertools import product
from pathlib import Path
from random import Random
from types import SimpleNamespace
from typing import Any

import pytest
from support import ROOT, failed, noted, ok, refused

import tokcli
from tokcli.cli.decode_batches import BatchDecoder
from tokcli.cli.json_stream import line, text_member
from tokcli.engine.stream.ids import special_ids
from tokcli.registry.encodings import resolve_encoding

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


@pytest.mark.parametrize("form", ["lines", "json", "objects"])
@pytest.mark.parametrize("skips", [False, True], ids=["all", "no special"])
@pytest.mark.parametrize("name", sorted(path.name for path in FORMATS.glob("*.[mt]*")))
def test_records_of_any_ids_are_as_if_each_were_alone(name: str, skips: bool, form: str) -> None:
    encoding, draw = resolve_encoding(str(FORMATS / name)), Random(7)
    known = [id for id in range(encoding.max_token_value + 1) if id in encoding.tokenizer.token_bytes()]
    rows: list[tuple[int, ...]] = [(), *product(known[:6], repeat=3), *((id,) for id in known[:300])]
    rows += [tuple(draw.choices(known, k=draw.randrange(12))) for _ in range(300)]
    special = special_ids(encoding.tokenizer.special_tokens, encoding.tokenizer.is_special) if skips else frozenset()
    texts = [encoding.decode_bytes([id for id in row if id not in special]) for row in rows]
    asked = ["decode", "-e", FORMATS / name, *["--skip-special-tokens"] * skips]
    if form == "lines":
        data = "".join(" ".join(map(str, row)) + "\n" for row in rows)
        assert ok(*asked, "--records", "lines", data=data.encode()) == b"".join(text + b"\n" for text in texts)
        return
    data = "".join(f"{json.dumps({'ids': row} if form == 'objects' else row)}\n" for row in rows)
    records = "jsonl" if form == "objects" else "lines"
    made = ok(*asked, "--records", records, "--json", data=data.encode())
    assert made == b"".join(line(text_member(text)) for text in texts)


@pytest.mark.parametrize("wrong", [1 << 31, (1 << 31) + 5, (1 << 32) - 1])
@pytest.mark.parametrize("name", ["bpe.model", "wordpiece.tokenizer.json", "plain.tokenizer.json"])
def test_no_number_that_stands_for_something_else_is_an_id(name: str, wrong: int) -> None:
    ran = failed("decode", "-e", FORMATS / name, "--records", "lines", data=f"5\n5 {wrong} 5\n".encode())
    assert f"record 2: {wrong} is not an id" in ran.err
    assert ran.out.count(b"\n") == 1


@pytest.mark.parametrize("name", ["wordpiece.tokenizer.json", "unigram.tokenizer.json", "plain.tokenizer.json"])
def test_records_with_text_are_decoded_together(name: str) -> None:
    encoding = resolve_encoding(str(FORMATS / name))
    rows = [encoding.encode(text) for text in ("hello world", " hello", "", "a b")]
    batch: Any = SimpleNamespace(texts=SimpleNamespace(data="".join(f"{row}\n" for row in rows).encode()))
    texts = b"".join(encoding.decode_bytes(row) + b"\n" for row in rows)
    assert BatchDecoder(encoding, "lines", frozenset(), as_json=False).decode(batch, None) == (texts, 4)
