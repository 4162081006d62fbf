"""JSON whose records may have been meant is read as text, and a note says so once."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest
from support import noted, ok, refused

LINES = b'{"text": "hi"}\n{"text": "a b"}\n'
NOTE = "JSON Lines, read as one text; --records jsonl reads the text of each object."
COMMANDS = [
    ("count",),
    ("encode",),
    ("split",),
    ("encode", "--chunk", "9"),
    ("train", "--vocab-size", "256", "-o", "x"),
]


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("name", ["a.jsonl", "a.NDJSON", "a.txt", "a.jsonl.gz"])
def test_json_lines_read_as_text_get_a_note(command: tuple[str, ...], name: str, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(gzip.compress(LINES) if name.endswith("gz") else LINES)
    assert f"Note: {name}: {NOTE}\n" in noted(*command, name, cwd=tmp_path).err


def test_it_comes_once_for_many_files_and_for_standard_input(tmp_path: Path) -> None:
    for name in ("a.jsonl", "b.jsonl"):
        (tmp_path / name).write_bytes(LINES)
    assert noted("count", "a.jsonl", "b.jsonl", cwd=tmp_path).err == f"Note: a.jsonl: {NOTE}\n"
    assert noted("count", data=LINES).err == f"Note: standard input: {NOTE}\n"
    assert noted("count", "a.jsonl", cwd=tmp_path).out == ok("count", "-q", "a.jsonl", cwd=tmp_path)


@pytest.mark.parametrize("data", [b'{"text": "hi"}\n', b'{\n "a": 1}\n', b"[1, 2]\n", b"{}", b"{ not json\n{\n"])
def test_other_json_gets_none(data: bytes) -> None:
    ok("count", data=data)


def test_what_reads_json_and_what_a_walk_finds_get_none(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_bytes(LINES)
    ok("count", "--records", "jsonl", "a.jsonl", cwd=tmp_path)
    ok("count", "-r", cwd=tmp_path)
    ok("count", "-t", LINES)


def test_a_git_lfs_pointer_read_as_text_is_called_so_once(tmp_path: Path) -> None:
    for name in ("a.txt", "b.txt"):
        (tmp_path / name).write_bytes(b"version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 12345\n")
    for given in (["a.txt"], ["a.txt", "b.txt"], ["-r", "a.txt"]):
        found = noted("count", *given, cwd=tmp_path)
        assert found.err == "Note: a.txt: a Git LFS pointer, not the file itself; `git lfs pull` fetches that.\n"


def test_a_json_array_is_told_from_lines() -> None:
    found = noted("count", data=b'[{"text": "hi"}, {"text": "x"}]')
    assert "standard input: a JSON array, read as one text; --records jsonl reads objects on lines" in found.err
    assert "--chat counts messages" in noted("count", data=b'[{"role": "user", "content": "x"}]').err
    for data in (b'[{"text": "hi"}]', b'[\n{"text": "hi"}\n]', b'{\n"text": "hi"\n}'):
        assert "jq -c" in refused("count", "--records", "jsonl", data=data)
