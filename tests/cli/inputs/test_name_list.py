"""Lists of file names: by NULs (--files0-from) and by lines (--files-from), bounded, and binary files are skipped."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from support import noted, ok, refused, run_tokcli

from tokcli.cli.inputs import name_list
from tokcli.errors import InputError


@pytest.mark.parametrize("end", [b"", b"\0"])
def test_the_last_name_counts_with_and_without_a_nul_behind_it(end: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(name_list, "MAX_NAMES", 2)
    assert name_list.names_in([b"a\0", b"b" + end], "list") == ["a", "b"]
    with pytest.raises(InputError, match="more than 2 names"):
        name_list.names_in([b"a\0", b"b\0c" + end], "list")


@pytest.mark.parametrize("size", [1, 2, 3, 7, 100])
def test_lines_name_files_wherever_blocks_end(size: int) -> None:
    data = b"\xef\xbb\xbfa b\r\n\n\r\n# c\n \n\xe9\xff\nlast"
    blocks = [data[at : at + size] for at in range(0, len(data), size)]
    names = name_list.names_in(blocks, "list", by_line=True)
    assert list(map(os.fsencode, names)) == [b"a b", b"# c", b" ", b"\xe9\xff", b"last"]


def test_lines_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(name_list, "MAX_NAMES", 2)
    with pytest.raises(InputError, match="more than 2 names"):
        name_list.names_in([b"a\nb\nc"], "list", by_line=True)
    with pytest.raises(InputError, match="name 1 has more than 4096 bytes"):
        name_list.names_in([b"a" * 3000, b"a" * 3000], "list", by_line=True)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "a.txt").write_bytes(b"hello\n")
    (tmp_path / "b c.txt").write_bytes(b"two words")
    (tmp_path / "scan.bin").write_bytes(b"x\0y")
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "d.txt").write_bytes(b"x")
    (tmp_path / "lines").write_bytes(b"a.txt\nscan.bin\nb c.txt\n")
    (tmp_path / "nuls").write_bytes(b"a.txt\0scan.bin\0b c.txt\0")
    return tmp_path


COMMANDS: dict[str, list[str]] = {
    "count": ["count"],
    "count as JSON": ["count", "--json"],
    "count records": ["count", "--records", "lines"],
    "encode": ["encode"],
    "chunks": ["encode", "--chunk", "1", "--json"],
    "a text": ["encode", "-n", "1", "--as-text"],
    "a view": ["encode", "--visualise"],
    "a comparison": ["encode", "--compare", "o200k_base,gpt2"],
    "split": ["split"],
    "a table": ["split", "--table"],
}


@pytest.mark.parametrize("command", COMMANDS.values(), ids=COMMANDS)
def test_lists_of_either_kind_skip_binary_files_with_one_note(command: list[str], folder: Path) -> None:
    wanted = ok(*command, "a.txt", "b c.txt", cwd=folder)
    for option, name in (("--files-from", "lines"), ("--files0-from", "nuls")):
        ran = noted(*command, option, name, cwd=folder)
        assert (ran.out, ran.err) == (wanted, "Note: skipped 1 binary file\n")
        assert noted(*command, option, "-", data=(folder / name).read_bytes(), cwd=folder).out == wanted
    told = noted(*command, "-v", "--files-from", "lines", cwd=folder).err
    assert told == "Note: scan.bin: binary, skipped\nNote: skipped 1 binary file\n"
    assert noted(*command, "-q", "--files-from", "lines", cwd=folder).err == ""


def test_a_binary_file_that_is_a_file_argument_is_read(folder: Path) -> None:
    assert noted("count", "scan.bin", cwd=folder).out == b"3\n"


def test_train_reads_the_texts_of_a_list(folder: Path) -> None:
    wanted = noted("train", "a.txt", "b c.txt", "--vocab-size", "258", "-o", "x", cwd=folder).err
    for option, name in (("--files-from", "lines"), ("--files0-from", "nuls")):
        said = noted("train", option, name, "--vocab-size", "258", "-o", "x", cwd=folder).err
        assert said == "Note: skipped 1 binary file\n" + wanted


def test_counts_in_a_list_are_no_texts(folder: Path) -> None:
    noted("train", "a.txt", "--counts-only", "-o", "one.counts", cwd=folder)
    ok("train", "--counts", "--files-from", "-", "--vocab-size", "257", "-q", "-o", "x", data=b"one.counts", cwd=folder)


def test_shards_of_a_list_hold_its_texts(folder: Path) -> None:
    noted("encode", "--shards", "one", "--files-from", "lines", cwd=folder)
    noted("encode", "--shards", "two", "a.txt", "b c.txt", cwd=folder)
    assert (folder / "one" / "shard-00000.bin").read_bytes() == (folder / "two" / "shard-00000.bin").read_bytes()


def test_decode_reads_lines_of_names(folder: Path) -> None:
    (folder / "ids").write_bytes(b"24912 198")
    assert ok("decode", "--files-from", "-", data=b"ids\n", cwd=folder) == b"hello\n"


def test_one_name_in_a_list_is_as_one_file(folder: Path) -> None:
    assert ok("count", "--files-from", "-", data=b"a.txt\r\n", cwd=folder) == b"2\n"
    found = json.loads(ok("count", "--json", "--files-from", "-", data=b"a.txt", cwd=folder))
    assert found == {"files": [{"tokens": 2, "bytes": 6, "path": "a.txt"}], "total": 2, "count": 2}
    assert refused("count", "--files-from", "-", data=b"none", cwd=folder) == "Error: none: no such file or directory\n"
    assert ok("count", "--files-from", "-", data=b"", cwd=folder) == b"0 total\n"


def test_what_cannot_be_read_is_reported_and_the_others_are_counted(folder: Path) -> None:
    ran = run_tokcli("count", "--files-from", "-", data=b"none\nsub\na.txt\n", cwd=folder)
    assert (ran.status, ran.out) == (2, b"2 a.txt\n2 total\n")
    assert ran.err.startswith("Error: none: no such file or directory\nError: sub: is a directory\n")
    assert ok("count", "-r", "--files-from", "-", data=b"sub\n", cwd=folder) == b"1 sub/d.txt\n1 total\n"


def test_the_other_kind_of_list_is_hinted(folder: Path) -> None:
    assert refused("count", "--files-from", "nuls", cwd=folder) == (
        "Error: nuls: names are separated by NULs\nRead them with --files0-from.\n"
    )
    assert "Read names from lines with --files-from" in refused("count", "--files0-from", "lines", cwd=folder)
    assert "`git ls-files -z`" in refused("count", "--files-from", "-", data=b'"caf\\303\\251"\n', cwd=folder)


@pytest.mark.parametrize("more", [["FILE"], ["-t", "x"], ["--files0-from", "x"]])
def test_a_list_of_lines_is_the_only_source(more: list[str]) -> None:
    assert "--files-from" in refused("count", "--files-from", "x", *more)
