"""Text with a byte order mark is read as what it is, however it comes; before JSON, a mark of UTF-8 is none of it."""

from __future__ import annotations

import codecs
import gzip
import io
import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support import examples, noted, ok, refused

from tokcli.cli.inputs.converted import NAMED
from tokcli.cli.streams import Input

TEXT = "hello wörld 😀 €\r\nzweite Zeile\r\n"
KINDS = {
    "utf-16-le": (codecs.BOM_UTF16_LE, "UTF-16"),
    "utf-16-be": (codecs.BOM_UTF16_BE, "UTF-16"),
    "utf-32-le": (codecs.BOM_UTF32_LE, "UTF-32"),
    "utf-32-be": (codecs.BOM_UTF32_BE, "UTF-32"),
}
MARK = codecs.BOM_UTF8


def marked(text: str, codec: str = "utf-16-le") -> bytes:
    """Return a text in UTF-16 or UTF-32 with its mark."""
    return KINDS[codec][0] + text.encode(codec)


@pytest.mark.parametrize("codec", KINDS)
def test_marked_text_has_the_ids_and_offsets_of_its_utf8_and_a_note(codec: str, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes(marked(TEXT, codec))
    (tmp_path / "b.txt").write_bytes(TEXT.encode())
    found = noted("encode", "--offsets", "byte", "--json", "a.txt", cwd=tmp_path)
    assert found.out == ok("encode", "--offsets", "byte", "--json", "b.txt", cwd=tmp_path)
    assert found.err == f"Note: a.txt: {KINDS[codec][1]} text, read as UTF-8; offsets are bytes of the UTF-8.\n"


@pytest.mark.parametrize("codec", KINDS)
def test_marked_text_is_text_for_a_walk_compressed_or_not(codec: str, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes(marked(TEXT, codec))
    (tmp_path / "b.txt.gz").write_bytes(gzip.compress(marked(TEXT, codec)))
    (tmp_path / "c.bin").write_bytes(b"\0\1\2")
    plain = int(ok("count", data=TEXT.encode()))
    found = noted("count", "-r", "--json", cwd=tmp_path)
    files = json.loads(found.out)["files"]
    assert [(each["tokens"], each["bytes"]) for each in files] == [(plain, len(TEXT.encode()))] * 2
    assert "skipped 1 binary file" in found.err
    ids = ok("encode", data=TEXT.encode())
    assert noted("encode", "-r", cwd=tmp_path).out == ids * 2
    assert noted("split", "-r", "--json", "a.txt", cwd=tmp_path).out == ok("split", "--json", data=TEXT.encode())


@given(st.text(max_size=30), st.sampled_from(sorted(KINDS)), st.integers(1, 5), st.booleans())
@examples(60)
def test_marked_text_is_its_utf8_however_blocks_cut_it(text: str, codec: str, size: int, is_gzip: bool) -> None:
    data = marked(text, codec)
    source = Input(name="held", opens=lambda _: io.BytesIO(gzip.compress(data) if is_gzip else data), errors="strict")
    if codec != "utf-16-le" or text[:1] != "\0":  # FF FE 00 00 is the mark of UTF-32
        assert b"".join(source.blocks(size)) == text.encode()


@pytest.mark.parametrize(("tail", "place"), [(b"\0\xd8x\0", 6), (b"x", 6), (b"\0\xdc", 6), (b"x\0\0\xd8", 8)])
def test_utf16_that_is_none_is_refused_with_its_offset(tail: bytes, place: int) -> None:
    data = marked("hi") + tail
    error = refused("count", data=data)
    assert f"standard input: invalid UTF-16 at byte {place}: " in error
    assert f"(byte {place // 2 - 1} of its UTF-8)" in error
    assert "--errors replace" in error
    assert noted("encode", "--errors", "replace", data=data).out
    assert "--errors" not in refused("decode", data=marked("12 ") + tail)


def test_utf32_outside_unicode_is_refused() -> None:
    assert "invalid UTF-32 at byte 8" in refused("count", data=marked("a", "utf-32-le") + b"\0\0\x11\0")


def test_with_errors_bytes_the_bytes_are_taken_as_they_are() -> None:
    data = marked("hi")
    assert ok("decode", data=ok("encode", "--errors", "bytes", data=data)) == data


def test_a_mark_alone_is_an_empty_text() -> None:
    assert noted("count", data=codecs.BOM_UTF16_LE).out == noted("count", data=codecs.BOM_UTF32_BE).out == b"0\n"


def test_a_file_is_named_once_and_of_many_files_the_first(tmp_path: Path) -> None:
    for number in range(NAMED + 5):
        (tmp_path / f"{number:02}.txt").write_bytes(marked("hi"))
    notes = noted("count", "-r", "-e", "gpt2", "-e", "o200k_base", cwd=tmp_path).err.splitlines()
    assert len(notes) == NAMED + 1
    assert notes[-1] == "Note: more inputs are UTF-16 or UTF-32 text, read as UTF-8."
    assert ok("count", "-q", "-r", "--total", cwd=tmp_path) == b"%d\n" % (NAMED + 5)


def test_records_chats_and_ids_in_utf16_are_read() -> None:
    lines = '{"text": "hi"}\n{"text": "a b"}\n'
    assert noted("count", "--records", "jsonl", data=marked(lines)).out == b"1\n2\n"
    chat = '[{"role": "user", "content": "hi"}]'
    assert noted("count", "--chat", data=marked(chat)).out == noted("count", "--chat", data=chat.encode()).out
    assert noted("decode", data=marked("24912 2375", "utf-16-be")).out == b"hello world"


def test_shards_and_trained_ranks_of_utf16_are_those_of_its_utf8(tmp_path: Path) -> None:
    lines = "".join(f'{{"text": "é {number}"}}\n' for number in range(50))
    (tmp_path / "a.jsonl").write_bytes(marked(lines))
    (tmp_path / "b.jsonl").write_bytes(lines.encode())
    for name in "ab":
        noted("encode", "--records", "jsonl", "--shards", name, f"{name}.jsonl", cwd=tmp_path)
        noted("train", "--vocab-size", "270", "-o", f"{name}.tiktoken", f"{name}.jsonl", cwd=tmp_path)
    assert (tmp_path / "a" / "shard-00000.bin").read_bytes() == (tmp_path / "b" / "shard-00000.bin").read_bytes()
    assert (tmp_path / "a.tiktoken").read_bytes() == (tmp_path / "b.tiktoken").read_bytes()


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_a_mark_of_utf8_before_json_lines_is_skipped(end: str) -> None:
    lines = MARK + f'{{"text": "hi", "b": 1}}{end}{{"text": "a b"}}{end}'.encode()
    assert ok("count", "--records", "jsonl", data=lines) == b"1\n2\n"
    assert ok("encode", "--records", "jsonl", "--json", "--all-fields", data=lines) == (
        b'{"text":"hi", "b": 1, "ids": [3686]}\n{"text":"a b", "ids": [64, 287]}\n'.replace(b'":"', b'": "')
    )
    assert ok("count", "--records", "jsonl", data=MARK) == b""
    assert "record 3: not JSON" in refused("count", "--records", "jsonl", data=lines + lines)


def test_a_mark_of_utf8_before_a_chat_and_before_ids_is_skipped() -> None:
    chat = b'[{"role": "user", "content": "hi"}]'
    assert noted("count", "--chat", data=MARK + chat).out == noted("count", "--chat", data=chat).out
    for ids in (b"24912 2375", b"[24912, 2375]"):
        assert ok("decode", data=MARK + ids) == b"hello world"
    assert ok("decode", "--json", data=MARK + b'{"ids": [24912, 2375]}') == b'{"text": "hello world"}\n'
    assert ok("decode", "--records", "jsonl", data=MARK + b'{"ids": [24912, 2375]}\n') == b"hello world\n"
    assert "not JSON at byte 4" in refused("count", "--chat", data=MARK + b"[x")


def test_a_mark_of_utf8_in_plain_text_is_text() -> None:
    assert ok("decode", data=ok("encode", data=MARK + b"hi")) == MARK + b"hi"


def test_records_of_lines_say_once_that_lines_end_in_cr(tmp_path: Path) -> None:
    for name in "ab":
        (tmp_path / name).write_bytes(b"a\r\nb\r\n")
    found = noted("encode", "--records", "lines", "a", "b", cwd=tmp_path)
    assert found.err == "Note: lines end in CR (Windows' line ends): the CR is part of each record.\n"
    assert found.out == ok("encode", "-q", "--records", "lines", "a", "b", cwd=tmp_path)
    assert ok("decode", "--records", "lines", data=found.out) == b"a\r\nb\r\n" * 2
    assert ok("count", "--records", "lines", data=b"a\rb\nc\n") == b"3\n1\n"
