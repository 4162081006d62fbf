"""`decode` while ids arrive: text is written as soon as it is complete; and the forms in which ids come."""

from __future__ import annotations

import gzip
import json
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from support import ROOT, ok, program, refused

FORMATS = ROOT / "tests/data/formats"
LLAMA = {"type": "Sequence", "decoders": [
    {"type": "Replace", "pattern": {"String": "\u2581"}, "content": " "}, {"type": "ByteFallback"}, {"type": "Fuse"},
    {"type": "Strip", "content": " ", "start": 1, "stop": 0}]}  # fmt: skip


@contextmanager
def decoding(*arguments: str | Path) -> Iterator[subprocess.Popen[bytes]]:
    """A running `decode`, whose pipes are not buffered here; a read returns what is there, or waits for it."""
    line = [*program(), "decode", *arguments]
    with subprocess.Popen(line, stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0) as process:
        yield process


def said(process: subprocess.Popen[bytes], ids: bytes) -> bytes:
    """Return what the program writes once it has read some ids and waits for more."""
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(ids)
    return process.stdout.read(1 << 16)


def rest(process: subprocess.Popen[bytes], ids: bytes = b"") -> bytes:
    """Return what the program writes to the last ids."""
    out, _ = process.communicate(ids)
    assert process.returncode == 0
    return out


def test_text_is_written_while_ids_arrive() -> None:
    with decoding() as process:
        assert said(process, b"24912 ") == b"hello"
        assert said(process, b"2375 113592 ") == b" world "  # the first bytes of a character wait
        assert said(process, b"233,") == "\U0001f64b".encode()
        assert rest(process) == b""


def test_a_character_that_nothing_completes_is_written_at_the_end() -> None:
    with decoding() as process:
        assert said(process, b"[0, 113592,") == b"! "
        assert rest(process, b"113592]") == b"\xf0\x9f\x99 \xf0\x9f\x99"


def test_binary_ids_are_decoded_while_they_arrive() -> None:
    with decoding("--format", "u32") as process:
        assert said(process, (24912).to_bytes(4, "little") + b"\x47") == b"hello"
        assert said(process, b"\x09\0\0") == b" world"
        assert rest(process) == b""


def test_the_space_that_sentencepiece_puts_first_is_dropped_only_there() -> None:
    first, second = ok("encode", "-e", FORMATS / "bpe.model", "-t", "the the").split()
    with decoding("-e", FORMATS / "bpe.model") as process:
        assert said(process, first + b" ") == b"the"
        assert said(process, second + b"\n") == b" the"
        assert rest(process) == b""


def test_records_are_decoded_while_they_arrive() -> None:
    with decoding("--records", "lines") as process:
        assert said(process, b"24912\n2375\n24") == b"hello\n world\n"
        assert said(process, b"912\n") == b"hello\n"
        assert rest(process) == b""


@pytest.mark.parametrize("name", ["bpe.model", "unigram.model", "wordpiece.tokenizer.json", "suffix.tokenizer.json"])
def test_ids_that_depend_on_each_other_are_decoded_together_in_every_form(name: str, tmp_path: Path) -> None:
    ids = ok("encode", "-e", FORMATS / name, "-t", "the text and the rest")
    text = ok("decode", "-e", FORMATS / name, data=ids)
    assert b" " in text.strip()
    (tmp_path / "ids.gz").write_bytes(gzip.compress(ids))
    assert ok("decode", "-e", FORMATS / name, tmp_path / "ids.gz") == text
    for data in (ids, ids.strip(), b"[%b]" % b",".join(ids.split())):
        assert ok("decode", "-e", FORMATS / name, data=data) == text
        assert ok("decode", "-e", FORMATS / name, "--records", "lines", data=data) == text + b"\n"
        assert json.loads(ok("decode", "-e", FORMATS / name, "--json", data=data)) == {"text": text.decode()}


@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf", b" \n"])
def test_a_json_object_with_ids_is_read_without_being_told(mark: bytes) -> None:
    data = mark + ok("encode", "--json", "-t", "hello world\n")
    assert ok("decode", data=data) == b"hello world\n"
    assert ok("decode", "--json", data=data) == b'{"text": "hello world\\n"}\n'


def test_objects_on_lines_of_their_own_are_told_what_to_ask_for() -> None:
    data = ok("encode", "--records", "lines", "--json", data=b"a\nb\n")
    assert data == b'{"ids": [64]}\n{"ids": [65]}\n'
    assert refused("decode", data=data) == (
        "Error: standard input: more than one JSON object at byte 14: extra data\n"
        "Read objects on lines of their own with --records jsonl.\n"
    )
    assert ok("decode", "--records", "jsonl", data=data) == b"a\nb\n"


@pytest.mark.parametrize(
    ("data", "what"),
    [
        (b'{"text": "a"}', "no member 'ids' (it has 'text')"),
        (b'{"ids": "1 2"}', "member 'ids' is not a list of ids"),
        (b'{"ids": [1', "not JSON"),
        (b'{"ids": [1]} 2', "not JSON at byte 13: extra data"),
        (b'{"ids": [999999]}', "999999 is not an id of o200k_base"),
    ],
)
def test_a_json_object_that_holds_no_ids_is_refused(data: bytes, what: str) -> None:
    assert what in refused("decode", data=data)


def test_special_tokens_are_left_out_of_every_form() -> None:
    ids = ok("encode", "--special", "allow", "-t", "a<|endoftext|>b")
    skip = ("decode", "--skip-special-tokens")
    assert ok(*skip, data=ids) == b"ab"
    assert ok(*skip, "--records", "lines", data=ids + ids) == b"ab\nab\n"
    assert ok(*skip, "--json", data=ids) == b'{"text": "ab"}\n'
    as_json = ok("encode", "--json", "--special", "allow", "-t", "a<|endoftext|>b")
    assert ok(*skip, data=as_json) == b"ab"
    assert ok(*skip, "--records", "jsonl", "--json", data=as_json) == b'{"text": "ab"}\n'
    binary = ok("encode", "--format", "u32", "--special", "allow", "-t", "a<|endoftext|>b")
    assert ok(*skip, "--format", "u32", data=binary) == b"ab"


def test_special_tokens_of_a_tokenizer_json_are_left_out_and_added_tokens_stay(tmp_path: Path) -> None:
    added = [{"id": 3, "content": "<s>", "special": True}, {"id": 4, "content": "<x>", "special": False}]
    vocab = {"\u2581a": 0, "\u2581b": 1, "<u>": 2}
    model = {"type": "WordLevel", "vocab": vocab, "unk_token": "<u>"}
    path = tmp_path / "tokenizer.json"
    path.write_text(json.dumps({"version": "1.0", "added_tokens": added, "decoder": LLAMA, "model": model}))
    assert ok("decode", "-e", path, "-t", "3 0 4 1 3") == b"<s> a<x> b<s>"
    assert ok("decode", "-e", path, "--skip-special-tokens", "-t", "3 0 4 1 3") == b"a<x> b"


def test_shards_are_decoded_without_special_tokens(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes(b"one")
    ok("encode", "-q", "--shards", tmp_path / "ids", "--append-special", "<|endoftext|>", tmp_path / "a.txt")
    assert ok("decode", tmp_path / "ids") == b"one<|endoftext|>"
    assert ok("decode", "--skip-special-tokens", tmp_path / "ids") == b"one"
