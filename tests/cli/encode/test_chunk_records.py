"""`encode --chunk` and `-n --as-text`: the forms of chunks, and what cannot be cut."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest
from support import HARD_ATOMS, ROOT, failed, ok, program, refused

import tokcli

WORDPIECE = ROOT / "tests" / "data" / "formats" / "wordpiece.tokenizer.json"
TEXT = "".join(HARD_ATOMS) * 3
CHUNK = ("encode", "--special", "text", "--chunk", "9")


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("chunks") / "text"
    path.write_bytes(TEXT.encode())
    return path


def test_each_form_has_the_same_chunks(file: Path) -> None:
    objects = list(map(json.loads, ok(*CHUNK, "--json", file).splitlines()))
    assert [found["index"] for found in objects] == list(range(len(objects)))
    assert "".join(found["text"] for found in objects) == TEXT
    assert [found["count"] for found in objects] == [len(found["ids"]) for found in objects]
    data = TEXT.encode()
    assert [data[found["start"] : found["end"]].decode() for found in objects] == [f["text"] for f in objects]
    lines = ok(*CHUNK, file).decode().splitlines()
    assert [list(map(int, line.split())) for line in lines] == [found["ids"] for found in objects]
    assert ok(*CHUNK, "--format", "json", file).decode().splitlines() == [str(found["ids"]) for found in objects]
    without_nul = TEXT.replace("\0", "")
    texts = [json.loads(line)["text"] for line in ok(*CHUNK, "--json", data=without_nul.encode()).splitlines()]
    made = ok(*CHUNK, "--records", "nul", "--as-text", data=without_nul.encode()).decode()
    assert made == "".join(f"{text}\0" for text in texts)


def test_threads_and_the_python_backend_give_the_same_chunks(tmp_path: Path) -> None:
    (tmp_path / "text").write_bytes((TEXT * 100).encode())
    made = ok(*CHUNK, "--json", "-j", "1", tmp_path / "text")
    assert ok(*CHUNK, "--json", "-j", "4", tmp_path / "text") == made
    assert ok(*CHUNK, "--json", tmp_path / "text", env={"TOKCLI_BACKEND": "python"}) == made


def test_what_is_repeated_counts_among_the_tokens_of_a_chunk(file: Path) -> None:
    encoding, done = tokcli.get_encoding("o200k_base"), 0
    for found in map(json.loads, ok(*CHUNK, "--overlap", "4", "--json", file).splitlines()):
        assert len(found["ids"]) <= 9
        assert found["start"] <= done < found["end"]
        assert encoding.count(TEXT.encode()[found["start"] : done].decode()) <= 4
        done = found["end"]
    assert done == len(TEXT.encode())


def test_allowed_special_tokens_stay_whole_and_are_one_token() -> None:
    text = "a<|endoftext|>b<|endoftext|>c"
    lines = ok("encode", "--chunk", "2", "--special", "allow", "-t", text).splitlines()
    assert lines == [b"64 199999", b"65 199999", b"66"]
    assert "special token" in refused("encode", "--chunk", "2", "--special", "error", "-t", text)


def test_several_inputs_begin_with_chunk_0_each_and_are_named(tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / name).write_text("one two three")
    objects = list(map(json.loads, ok("encode", "--chunk", "2", "--json", "a", "b", cwd=tmp_path).splitlines()))
    assert [(found["path"], found["index"]) for found in objects] == [("a", 0), ("a", 1), ("b", 0), ("b", 1)]


def test_empty_input_has_no_chunk() -> None:
    assert ok("encode", "--chunk", "3", "-t", "") == ok("encode", "--chunk", "3", "--json", "-t", "") == b""


def test_bytes_that_are_not_utf_8_are_kept_replaced_or_refused() -> None:
    data = b"caf\xe9 \xff\xfe au lait"
    objects = list(map(json.loads, ok("encode", "--chunk", "3", "--errors", "bytes", "--json", data=data).splitlines()))
    kept = [found["text"].encode() if "text" in found else bytes.fromhex(found["bytes_hex"]) for found in objects]
    assert b"".join(kept) == data
    replaced = ok("encode", "--chunk", "4", "--errors", "replace", "--as-text", "--records", "nul", data=data)
    assert replaced.replace(b"\0", b"").decode() == data.decode("utf-8", "replace")
    assert "byte 3" in refused("encode", "--chunk", "3", data=data)


def test_a_character_that_does_not_fit_is_named() -> None:
    message = refused("encode", "--chunk", "2", "-t", "a 🫠")
    assert "3 tokens" in message
    assert "byte 2" in message


@pytest.mark.parametrize(
    "arguments",
    [
        ["--chunk", "0"],
        ["--chunk", "3", "--overlap", "3"],
        ["--chunk", "3", "-n", "2"],
        ["--chunk", "3", "--as-text"],
        ["--chunk", "3", "--format", "u32"],
        ["--chunk", "3", "--offsets", "byte"],
        ["--chunk", "3", "--boundary", "page"],
        ["--overlap", "1"],
        ["--boundary", "line"],
        ["--as-text"],
        ["-n", "2", "--as-text", "--format", "u32"],
        ["-n", "2", "--keep", "middle"],
    ],
)
def test_what_cannot_be_is_refused(arguments: list[str]) -> None:
    refused("encode", *arguments, "-t", "x")


# --- -n --as-text ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("keep", ["first", "last"])
@pytest.mark.parametrize("n", [0, 1, 2, 10, 100_000])
def test_as_text_is_the_text_of_the_tokens_and_nothing_else(n: int, keep: str, file: Path) -> None:
    arguments = ("encode", "--special", "text", "-n", str(n), "--keep", keep, "--as-text", file)
    text, encoding = ok(*arguments).decode(), tokcli.get_encoding("o200k_base")
    assert TEXT.startswith(text) if keep == "first" else TEXT.endswith(text)
    assert encoding.count(text) <= n
    assert json.loads(ok(*arguments, "--json")) == {"text": text} | ({} if text == TEXT else {"truncated": True})


def test_as_text_tears_no_character_and_ends_with_1_where_that_is_asked_for() -> None:
    assert ok("encode", "-n", "2", "--as-text", "-t", "hello big world") == b"hello big"
    assert ok("encode", "-n", "2", "--keep", "last", "--as-text", "-t", "hello big world") == b" big world"
    for n in range(5):
        assert ok("encode", "-n", str(n), "--as-text", "-t", "🫠🫠").decode() in ("", "🫠")
    ran = failed("encode", "-n", "1", "--as-text", "--fail-if-truncated", "-t", "hello world", status=1)
    assert ran.out == b"hello"
    assert ok("encode", "-n", "2", "--as-text", "--fail-if-truncated", "-t", "hello world") == b"hello world"


def test_the_text_of_records_ends_as_records_do() -> None:
    data = b"hello big world\nhello\n"
    assert ok("encode", "-n", "2", "--as-text", "--records", "lines", data=data) == b"hello big\nhello\n"
    records = b'{"text": "hello big world"}\n{"text": "hello"}\n'
    lines = ok("encode", "-n", "2", "--as-text", "--records", "jsonl", data=records).splitlines()
    assert list(map(json.loads, lines)) == [{"text": "hello big", "truncated": True}, {"text": "hello"}]


def test_normalizers_change_no_text() -> None:
    assert ok("encode", "-e", WORDPIECE, "-n", "1", "--as-text", "-t", "HELLO world") in (b"HELLO", b"H", b"HE")


@pytest.mark.signals
def test_the_rest_of_an_endless_input_is_not_read() -> None:
    with subprocess.Popen(["yes", "a word"], stdout=subprocess.PIPE) as endless:
        arguments = ["encode", "-n", "3", "--as-text", "--fail-if-truncated"]
        ran = subprocess.run([*program(), *arguments], stdin=endless.stdout, capture_output=True, timeout=60)
        assert (ran.returncode, ran.stdout) == (1, b"a word\n")
        endless.kill()
