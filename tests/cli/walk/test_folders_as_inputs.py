"""`-r` in every command that takes it: the same files, the same notes, the same errors."""

from __future__ import annotations

import gzip
import json
import os
import random
import subprocess
from pathlib import Path

import pytest
from support import failed, noted, ok, program, refused, run_tokcli


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository with two texts, and what is not to be read; it is the current folder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", "/nonexistent")
    (tmp_path / ".git").mkdir()
    (tmp_path / "src").mkdir()
    (tmp_path / "a.txt").write_bytes(b"hello world\n")
    (tmp_path / "src" / "b.txt").write_bytes(b"it's 2024")
    (tmp_path / "src" / "left.log").write_bytes(b"left out")
    (tmp_path / ".gitignore").write_bytes(b"*.log\n")
    return tmp_path


def test_folders_are_read_in_every_command(tree: Path) -> None:
    assert ok("count", "-r", ".") == b"3 ./a.txt\n4 ./src/b.txt\n7 total\n"
    assert ok("count", "-r") == b"3 a.txt\n4 src/b.txt\n7 total\n"
    assert ok("count", "-r", "src", "a.txt") == b"4 src/b.txt\n3 a.txt\n7 total\n"
    assert ok("encode", "-r") == b"24912 2375 198\n64190 220 1323 19\n"
    assert ok("split", "-r", "src") == b"it's\n \n202\n4\n"
    both = b"hello world\nit's 2024"
    (tree.parent / "both").write_bytes(both)
    ok("train", "-q", "-r", ".", "--counts-only", "-o", "../folder.counts")
    ok("train", "-q", "a.txt", "src/b.txt", "--counts-only", "-o", "../files.counts")
    assert (tree.parent / "folder.counts").read_bytes() == (tree.parent / "files.counts").read_bytes()


def test_lists_of_names_may_name_folders(tree: Path) -> None:
    assert ok("count", "-r", "--files0-from", "-", data=b"src\0a.txt\0") == b"4 src/b.txt\n3 a.txt\n7 total\n"


def test_a_folder_that_is_a_file_is_read_without_r_in_every_command(tree: Path) -> None:
    assert ok("count", ".") == ok("count", "-r", ".") == b"3 ./a.txt\n4 ./src/b.txt\n7 total\n"
    assert ok("count", "a.txt", "src") == b"3 a.txt\n4 src/b.txt\n7 total\n"
    assert ok("count", "-g", "b*", "--total", ".") == b"4\n"
    assert ok("encode", ".") == ok("encode", "-r", ".")
    assert ok("split", "src") == ok("split", "-r", "src")
    for name, options in (("one", []), ("two", ["-r"])):
        ok("train", "-q", *options, ".", "--vocab-size", "260", "-o", f"../{name}")
    assert (tree.parent / "one").read_bytes() == (tree.parent / "two").read_bytes()


def test_a_folder_without_r_skips_binary_files_and_reports_bad_ones_as_with_r(tree: Path) -> None:
    (tree / "src" / "scan").write_bytes(b"a\0b")
    (tree / "src" / "bad").write_bytes(b"\xff")
    one, two = run_tokcli("count", "src"), run_tokcli("count", "-r", "src")
    assert (one.status, one.out, one.err) == (two.status, two.out, two.err)
    assert one.status == 2 and "skipped 1 binary file" in one.err


def test_a_folder_beside_an_option_for_one_text_is_named_in_the_message(tree: Path) -> None:
    assert "the folder 'src' cannot be combined with --why" in refused("split", "--why", "1", "src")
    assert "-r cannot be combined with --why" in refused("split", "-r", "--why", "1", "src")


def test_a_folder_in_a_list_of_names_needs_r(tree: Path) -> None:
    """(`find -print0` lists each folder before the files in it, which would be counted twice.)"""
    for command in (["count"], ["encode"], ["split"]):
        assert "-r" in refused(*command, "--files0-from", "-", data=b"src")


@pytest.mark.parametrize("option", [["-g", "*.py"], ["--no-ignore"], ["--hidden"], ["--follow"], ["-v"]])
def test_options_of_folders_need_r(option: list[str]) -> None:
    assert "needs -r" in refused("count", *option)


def test_choices_reach_the_walk(tree: Path) -> None:
    assert b"src/left.log" in ok("count", "-r", "--no-ignore")
    assert b".gitignore" in ok("count", "-r", "--hidden")
    assert ok("count", "-r", "-g", "b*", "--total") == b"4\n"
    (tree / "link").symlink_to("src")
    assert ok("count", "-r", "--follow", "--total") == b"11\n"


@pytest.mark.parametrize("command", [["count"], ["encode"], ["split"], ["encode", "--visualise"], ["split", "--table"]])
def test_binary_files_are_skipped_with_one_note(command: list[str], tree: Path) -> None:
    expected = ok(*command, "-q", "-r")
    (tree / "a.bin").write_bytes(b"\0\1")
    (tree / "b.bin").write_bytes(b"x" * 60_000 + b"\0")
    ran = noted(*command, "-r")
    assert (ran.out, ran.err) == (expected, "Note: skipped 2 binary files\n")
    assert ok(*command, "-r", "-q") == expected
    assert noted(*command, "-r", "-v").err.splitlines()[:2] == [
        "Note: a.bin: binary, skipped",
        "Note: b.bin: binary, skipped",
    ]


def test_a_file_that_is_named_is_read_whatever_it_holds(tree: Path) -> None:
    (tree / "zero").write_bytes(b"a\0b")
    assert ok("count", "-r", "zero", "src").startswith(b"3 zero\n")


@pytest.mark.parametrize("command", [["count"], ["encode"], ["split"], ["encode", "--json"]])
@pytest.mark.parametrize("size", [3, 1_000_000])
def test_what_is_not_utf_8_is_reported_and_the_rest_goes_on(command: list[str], size: int, tree: Path) -> None:
    expected = ok(*command, "-r", "-g", "!bad")
    (tree / "bad").write_bytes("é".encode() * size + b"\xff")
    (tree / "gone").symlink_to("nowhere")
    ran = run_tokcli(*command, "-r", "-g", "!gone")
    assert ran.status == 2
    assert ran.err.startswith(f"Error: bad: not UTF-8 at byte {2 * size}: 0xff")
    assert ran.err.count("Error") == 1
    if command != ["count"]:
        assert ran.out == expected
    ran = run_tokcli(*command, "-r", "--follow", "--errors", "replace")
    assert (ran.status, ran.err) == (2, "Error: gone: no such file or directory\n")


@pytest.mark.parametrize("command", [["count", "-r"], ["encode", "-r"], ["count", "1", "2", "3"]])
def test_what_to_do_about_many_files_is_said_once(command: list[str], tree: Path) -> None:
    for name in "123":
        (tree / name).write_bytes(b"\xff")
    ran = run_tokcli(*command)
    assert [line.partition(":")[0] for line in ran.err.splitlines()].count("Error") == 3
    assert ran.err.count("Use --errors replace") == 1


@pytest.mark.parametrize("command", [["count", "--total"], ["encode"], ["split"]])
def test_compressed_data_that_are_damaged_are_left_out_whatever_errors_says(command: list[str], tree: Path) -> None:
    expected = ok(*command, "-r")
    noise = random.Random(1).randbytes(1 << 20).hex().encode()
    (tree / "a.gz").write_bytes(gzip.compress(noise)[:-100])
    for errors in ("strict", "replace"):
        ran = run_tokcli(*command, "-r", "--errors", errors)
        assert (ran.status, ran.out) == (2, expected)
        assert ran.err.startswith("Error: a.gz: gzip data that ends too early\n")


def test_training_goes_on_without_what_cannot_be_read(tree: Path) -> None:
    (tree / "bad").write_bytes(b"\xff")
    ran = failed("train", "-q", "-r", "--counts-only", "-o", "../some.counts")
    assert "bad: not UTF-8 at byte 0" in ran.err
    ok("train", "-q", "-r", "-g", "!bad", "--counts-only", "-o", "../all.counts")
    assert (tree.parent / "some.counts").read_bytes() == (tree.parent / "all.counts").read_bytes()


def test_names_that_are_not_utf_8_come_out_as_they_are(tree: Path) -> None:
    (tree / os.fsdecode(b"caf\xe9")).write_bytes(b"x")
    assert b"caf\xe9\n" in ok("count", "-r")
    assert any(row["path"] == "caf\ufffd" and row["path_hex"] == b"caf\xe9".hex() for row in json.loads(ok("count", "-r", "--json"))["files"])  # fmt: skip


def test_what_standard_output_writes_is_not_read(tree: Path) -> None:
    with (tree / "out.txt").open("w+b") as out:
        subprocess.run([*program(), "count", "-r"], stdout=out, check=True)
        out.seek(0)
        assert out.read() == b"3 a.txt\n4 src/b.txt\n7 total\n"


def test_a_file_that_is_to_be_read_is_not_replaced(tree: Path) -> None:
    assert "is also an input" in refused("count", "-r", "-o", "a.txt")
    assert ok("count", "-r", "-o", "new.txt") == b""
    assert (tree / "new.txt").read_bytes() == b"3 a.txt\n4 src/b.txt\n7 total\n"
    assert "is also an input" in refused("encode", "-r", "-o", "new.txt")


def test_a_view_of_one_place_takes_no_folders() -> None:
    for arguments in (
        ["split", "--why", "1"],
        ["split", "--watch"],
        ["split", "--lint"],
        ["encode", "--compare", "gpt2"],
    ):
        assert "-r" in refused(*arguments, "-r", "x")
    assert "--files0-from" in refused("split", "--watch", "--files0-from", "names")
