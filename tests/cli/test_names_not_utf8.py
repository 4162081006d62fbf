"""Names of files that are not UTF-8: JSON has them with U+FFFD, and their bytes beside; never a lone surrogate."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import Any

import pytest
from support import noted, ok

NAME = b"caf\xe9.txt"
SHOWN = {"path": "caf�.txt", "path_hex": NAME.hex()}
LONE = re.compile(rb"\\u[dD][89a-fA-F]")  # an emoji would have two of these, and no test here has one


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / os.fsdecode(NAME)).write_bytes(b"hello")
    (tmp_path / "plain.txt").write_bytes(b"hello")
    (tmp_path / os.fsdecode(b"d\xff")).mkdir()
    (tmp_path / os.fsdecode(b"d\xff") / "x.txt").write_bytes(b"x")
    chat = b'{"messages": [{"role": "user", "content": "hi"}]}'
    (tmp_path / os.fsdecode(b"chat\xe9.json")).write_bytes(chat)
    (tmp_path / "chat.json").write_bytes(chat)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def lines(*arguments: str | bytes) -> list[Any]:
    """Return the JSON objects that a command prints, one a line."""
    data = noted(*arguments).out
    data.decode()
    assert not LONE.search(data)
    return list(map(json.loads, data.splitlines()))


@pytest.mark.usefixtures("folder")
def test_counts_name_them_so() -> None:
    (one,) = lines("count", "--json", NAME)
    assert one["files"] == [{"tokens": 1, "bytes": 5, **SHOWN}]
    (both,) = lines("count", "--json", NAME, "plain.txt")
    assert both["files"] == [{"tokens": 1, "bytes": 5, **SHOWN}, {"tokens": 1, "bytes": 5, "path": "plain.txt"}]
    assert lines("count", "--jsonl", NAME) == [{"tokens": 1, "bytes": 5, **SHOWN}]
    (grouped,) = lines("count", "--json", "--by", "dir", ".")
    assert {"path": "./d�", "path_hex": b"./d\xff".hex()}.items() <= grouped["files"][-1].items()
    assert NAME + b"\n" in ok("count", "--csv", NAME), "CSV has the bytes"


@pytest.mark.usefixtures("folder")
def test_counts_of_chats_name_them_so() -> None:
    names = (b"chat\xe9.json", b"chat.json")
    shown = {"path": "chat�.json", "path_hex": names[0].hex()}
    (counted,) = lines("count", "--chat", "--json", *names)
    assert shown.items() <= counted["files"][0].items()
    (parts,) = lines("count", "--chat", "--json", "--by", "message", *names)
    assert shown.items() <= parts["parts"][0].items()


@pytest.mark.usefixtures("folder")
def test_columns_of_vocabularies_name_them_so() -> None:
    noted("train", "plain.txt", "--vocab-size", "256", "-o", b"own\xe9.tiktoken")
    (found,) = lines("count", "--json", "-e", "gpt2", "-e", b"./own\xe9.tiktoken", "plain.txt")
    assert found["total"] == {"gpt2": 1, "./own�.tiktoken": 5}
    assert lines("count", "--total", "--json", "-e", "gpt2", "-e", b"./own\xe9.tiktoken", "plain.txt")
    for command in (
        ("encode", "--compare", b"gpt2,./own\xe9.tiktoken"),
        ("split", "-e", b"./own\xe9.tiktoken", "--diff", "gpt2"),
    ):
        assert lines(*command, "--json", "plain.txt")
    assert lines("inspect-ranks", "--json", "--diff", "gpt2", b"./own\xe9.tiktoken")


@pytest.mark.usefixtures("folder")
def test_chunks_and_shards_name_them_so(tmp_path: Path) -> None:
    first, second = lines("encode", "--chunk", "9", "--json", NAME, "plain.txt")
    assert SHOWN.items() <= first.items()
    assert second["path"] == "plain.txt" and "path_hex" not in second
    noted("encode", "--shards", "ids", NAME, "plain.txt")
    data = (tmp_path / "ids" / "index.json").read_bytes()
    assert not LONE.search(data)
    assert json.loads(data)["sources"] == [{**SHOWN, "bytes": 5}, {"path": "plain.txt", "bytes": 5}]


@pytest.mark.usefixtures("folder")
def test_pages_name_them_so(tmp_path: Path) -> None:
    noted("encode", "--html", "page.html", NAME, "plain.txt")
    page = (tmp_path / "page.html").read_bytes()
    assert not LONE.search(page)
    assert rb"caf\ufffd.txt" in page
