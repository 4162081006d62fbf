"""Vocabulary files are compiled once, and whatever is wrong with what was kept only costs time."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from support import ROOT

from tokcli.engine import backend
from tokcli.engine.encoding import Encoding
from tokcli.errors import VocabularyError
from tokcli.formats import read as vocabulary
from tokcli.registry.compiled import container as containers
from tokcli.registry.compiled import keeping
from tokcli.registry.encodings import load_encoding

BYTE_LEVEL = ROOT / "tests/data/formats/byte-level.tokenizer.json"
AROUND = {"type": "BertProcessing", "sep": ["<|endoftext|>", 264], "cls": ["<|endoftext|>", 264]}
TEXT = "Hello  world, it's 12345 \u4e2d\u6587 caf\u00e9 <|endoftext|>\n\n x"
pytestmark = pytest.mark.skipif(backend.native() is None, reason="only images are kept")


@pytest.fixture
def file(tmp_path: Path) -> Path:
    table = json.loads(BYTE_LEVEL.read_bytes())
    end = {"id": 900, "content": "<|endoftext|>", "special": True, "normalized": False}
    table |= {"added_tokens": [end], "post_processor": AROUND}
    path = tmp_path / "tokenizer.json"
    path.write_text(json.dumps(table))
    return path


@pytest.fixture
def trusting(monkeypatch: pytest.MonkeyPatch) -> None:
    """Files of a moment ago count as old."""
    monkeypatch.setattr(keeping, "RACY_NS", -(10**12))


def answers(encoding: Encoding) -> tuple[Any, ...]:
    ids = encoding.encode(TEXT, disallowed_special=())
    return (
        ids,
        encoding.decode_bytes(ids),
        encoding.n_vocab,
        encoding.special_tokens_set,
        encoding.tokenizer.has_template,
    )


def test_a_file_is_parsed_once_and_gives_the_same_ids_afterwards(file: Path, parsed: list[str]) -> None:
    first = answers(load_encoding(file))
    assert parsed == [str(file)]
    assert answers(load_encoding(file)) == first
    assert answers(load_encoding(Path(shutil.copy(file, file.with_name("other.json"))))) == first
    assert parsed == [str(file)]


@pytest.mark.usefixtures("trusting")
def test_a_file_that_was_read_is_known_by_its_status(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = answers(load_encoding(file))

    def refuse(path: object) -> None:
        raise AssertionError(f"{path} is read")

    monkeypatch.setattr(vocabulary, "read_sources", refuse)
    assert answers(load_encoding(file)) == first


def test_a_file_that_was_changed_a_moment_ago_is_read_again(
    file: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(keeping, "RACY_NS", 10**13)  # a long moment: a machine may be slow
    load_encoding(file)
    assert not list(cache.glob("compiled/*.file"))


@pytest.mark.usefixtures("trusting")
def test_a_changed_file_is_another_one(file: Path) -> None:
    before = load_encoding(file).encode("hello")
    table = json.loads(file.read_bytes())
    status = file.stat()
    table["model"]["merges"] = []
    file.write_text(json.dumps(table).ljust(status.st_size))
    os.utime(file, ns=(status.st_atime_ns, status.st_mtime_ns))
    after = load_encoding(file).encode("hello")
    assert (len(before), len(after)) != (5, 5)
    assert len(after) == 5


@pytest.mark.parametrize("at", [0, 9, 13, 40, -1, -5000])
def test_a_damaged_container_is_made_again(file: Path, cache: Path, at: int, parsed: list[str]) -> None:
    first = answers(load_encoding(file))
    kept = next(path for path in cache.glob("compiled/*") if path.suffix != ".file")
    whole = kept.read_bytes()
    damaged = bytearray(whole)
    damaged[at] ^= 0x11
    kept.write_bytes(damaged)
    assert answers(load_encoding(file)) == first
    # the padding behind the last section is nobody's
    assert kept.read_bytes() == whole or len(parsed) == 1
    kept.write_bytes(whole[: len(whole) // 2])
    assert answers(load_encoding(file)) == first
    assert kept.read_bytes() == whole


def test_what_stands_in_a_header_is_checked(file: Path, cache: Path, parsed: list[str]) -> None:
    load_encoding(file)
    kept = next(path for path in cache.glob("compiled/*") if path.suffix != ".file")
    container = containers.unpack(memoryview(kept.read_bytes()))
    assert container is not None
    sections = {name: bytes(data) for name, data in container.sections.items()}
    header = dict(container.header)
    wrong = [
        *({**header, name: value} for name in header for value in ([], -1, {"a": "b"}) if value != header[name]),
        *({k: v for k, v in header.items() if k != name} for name in header),
    ]
    for bad in wrong:
        kept.write_bytes(containers.pack(bad, sections))
        parsed.clear()
        load_encoding(file)
        assert parsed, bad
    kept.write_bytes(containers.pack(header, {}))
    parsed.clear()
    load_encoding(file)
    assert parsed


@pytest.mark.usefixtures("trusting")
def test_a_damaged_entry_is_not_trusted(file: Path, cache: Path) -> None:
    first = answers(load_encoding(file))
    entry = next(cache.glob("compiled/*.file"))
    for data in (b"", b"x", entry.read_bytes()[:-3], containers.pack({"path": str(file)}, {}), os.urandom(300)):
        entry.write_bytes(data)
        assert answers(load_encoding(file)) == first


@pytest.mark.usefixtures("trusting")
def test_a_sidecar_that_appears_is_read(tmp_path: Path, cache: Path) -> None:
    ranks = tmp_path / "own.tiktoken"
    ranks.write_text("".join(f"{__import__('base64').b64encode(bytes([b])).decode()} {b}\n" for b in range(256)))
    assert load_encoding(ranks, pattern="gpt2").special_tokens_set == set()
    ranks.with_name("own.tiktoken.json").write_text('{"special_tokens": {"<end>": 300}}')
    assert load_encoding(ranks, pattern="gpt2").special_tokens_set == {"<end>"}
    assert load_encoding(ranks, pattern="gpt2").special_tokens_set == {"<end>"}
    ranks.with_name("own.tiktoken.json").write_text('{"special_tokens": {"<end>": 3}}')
    with pytest.raises(VocabularyError, match="the id 3, which another token has"):
        load_encoding(ranks, pattern="gpt2")


@pytest.mark.usefixtures("trusting")
def test_a_file_that_takes_the_place_of_another_in_a_folder_is_read(file: Path, tmp_path: Path) -> None:
    folder = tmp_path / "model"
    folder.mkdir()
    shutil.copy(ROOT / "tests/data/formats/bpe.model", folder / "tokenizer.model")
    before = load_encoding(folder).encode("hello")
    shutil.copy(file, folder / "tokenizer.json")
    assert load_encoding(folder).encode("hello") == load_encoding(file).encode("hello") != before


def test_a_cache_that_cannot_be_written_only_costs_time(
    file: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = answers(load_encoding(file))
    shutil.rmtree(cache)
    cache.write_text("no folder")
    assert answers(load_encoding(file)) == expected
    cache.unlink()

    def refuse(*given: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", refuse)
    assert answers(load_encoding(file)) == expected
    assert not list(cache.glob("compiled/*"))


def test_of_two_processes_both_answer(file: Path, cache: Path) -> None:
    code = f"from tokcli import load_encoding; print(load_encoding({str(file)!r}).encode('hello world'))"
    runs = [subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE) for _ in range(2)]
    printed = {run.communicate(timeout=60)[0] for run in runs}
    assert printed == {f"{load_encoding(file).encode('hello world')}\n".encode()}


def test_the_folder_is_bounded(file: Path, cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    load_encoding(file)
    old = next(path for path in cache.glob("compiled/*") if path.suffix != ".file")
    os.utime(old, (1, 1))
    monkeypatch.setattr(keeping, "MAX_BYTES", int(old.stat().st_size * 1.5))
    file.write_bytes(file.read_bytes() + b"\n")
    load_encoding(file)
    left = [path for path in cache.glob("compiled/*") if path.suffix != ".file"]
    assert len(left) == 1
    assert left[0] != old


def test_a_file_that_changes_in_use_is_not_taken_for_the_old_one(file: Path) -> None:
    load_encoding(file)
    encoding = load_encoding(file)
    file.write_bytes(file.read_bytes() + b" ")
    with pytest.raises(VocabularyError, match="changed while it was in use"):
        encoding.tokenizer.parents(0)  # which needs the file
