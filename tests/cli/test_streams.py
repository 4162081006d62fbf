"""Streams that break, files that are replaced whole or not at all, and a program that can be stopped."""

from __future__ import annotations

import os
import signal
import stat
import subprocess
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path

import pytest
from support import ok, program, refused, without_coverage

TEXT = b"hello world\n" * 20_000


def shell(line: str, **more: object) -> subprocess.CompletedProcess[bytes]:
    """A line of shell in which "$@" is the program."""
    command = ["bash", "-c", line, "bash", *program()]
    return subprocess.run(command, input=TEXT, capture_output=True, timeout=60, **more)  # type: ignore[call-overload]


@pytest.mark.parametrize("command", ["encode", "split", "encode --records lines", "encode --visualise", "--help"])
def test_a_reader_that_has_gone_is_141_and_silence(command: str) -> None:
    ran = shell(f'"$@" {command} | true; echo "${{PIPESTATUS[0]}}"')
    wanted = b"0 141" if command == "--help" else b"141"  # a line or two may fit into the pipe before its reader goes
    assert ran.stdout.strip() in wanted.split()
    assert ran.stderr == b""


@pytest.mark.parametrize("command", ["count", "encode", "split", "--help", "--version", "inspect-ranks"])
@pytest.mark.parametrize("redirect", [">&-", "> /dev/full"])
def test_closed_or_full_standard_output_is_an_error(command: str, redirect: str) -> None:
    ran = shell(f'"$@" {command} {redirect}')
    assert ran.returncode == 2
    assert ran.stderr.startswith(b"Error: ")
    assert ran.stderr.count(b"\n") <= 2


def test_closed_standard_input_is_an_error_or_not_needed() -> None:
    ran = shell('"$@" count <&-')
    assert (ran.returncode, ran.stdout) == (2, b"")
    assert ran.stderr.startswith(b"Error: standard input: closed")
    assert shell('"$@" count -t "hello world" <&-').stdout == b"2\n"


def test_closed_standard_error_changes_nothing_else(tmp_path: Path) -> None:
    assert shell('"$@" count nope 2>&-').returncode == 2
    ran = shell('"$@" encode -t hello -o out 2>&- >&- <&-', cwd=tmp_path)
    assert (ran.returncode, (tmp_path / "out").read_bytes()) == (0, b"24912\n")


@pytest.mark.clock
@pytest.mark.parametrize("command", [["count"], ["encode", "-o", "out"], ["split", "--records", "lines"]])
def test_ctrl_c_ends_a_run_within_a_second(command: list[str], tmp_path: Path) -> None:
    process = subprocess.Popen(
        [*program(), *command], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, cwd=tmp_path,
        env=without_coverage(),
    )  # fmt: skip
    assert process.stdin is not None

    def feed() -> None:
        assert process.stdin is not None
        try:
            while True:
                process.stdin.write(TEXT)
        except BrokenPipeError:
            with suppress(BrokenPipeError):
                process.stdin.close()

    feeder = threading.Thread(target=feed)
    feeder.start()
    time.sleep(1)
    process.send_signal(signal.SIGINT)
    sent = time.monotonic()
    status = process.wait(timeout=10)
    took = time.monotonic() - sent
    feeder.join()
    assert process.stderr is not None
    with process.stderr:
        assert (status, process.stderr.read()) == (130, b"")
    assert took < 1
    assert not list(tmp_path.iterdir())


@pytest.mark.clock
def test_ctrl_c_ends_a_pattern_that_backtracks() -> None:
    line = [*program(), "split", "--timeout", "60", "--pattern", "(a|a)*b|.", "-t", "a" * 40]
    process = subprocess.Popen(line, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, env=without_coverage())
    time.sleep(1.5)
    process.send_signal(signal.SIGINT)
    sent = time.monotonic()
    _, message = process.communicate(timeout=30)
    assert (process.returncode, message) == (130, b"")
    assert time.monotonic() - sent < 1


@pytest.mark.clock
def test_a_pattern_that_backtracks_ends_after_its_timeout() -> None:
    began = time.monotonic()
    assert "--timeout" in refused("split", "--timeout", "0.5", "--pattern", "(a|a)*b|.", "-t", "a" * 40)
    assert time.monotonic() - began < 5


# --- output files -----------------------------------------------------------------------------------------------------


def test_an_old_file_is_untouched_by_an_error(tmp_path: Path) -> None:
    out = tmp_path / "out"
    out.write_bytes(b"old")
    refused("encode", "-o", out, data=TEXT + b"\xff")
    assert out.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [out]


def test_an_old_file_keeps_its_mode_and_a_new_one_gets_the_umask_s(tmp_path: Path) -> None:
    old, new = tmp_path / "old", tmp_path / "new"
    old.touch()
    old.chmod(0o640)
    for out in (old, new):
        ok("encode", "-t", "hello", "-o", out, umask=0o027)
        assert out.read_bytes() == b"24912\n"
    assert stat.S_IMODE(old.stat().st_mode) == 0o640
    new.unlink()
    ok("encode", "-t", "hello", "-o", new, umask=0o022)
    assert stat.S_IMODE(new.stat().st_mode) == 0o644


def test_a_symbolic_link_stays_one(tmp_path: Path) -> None:
    real, link = tmp_path / "real", tmp_path / "link"
    link.symlink_to("real")
    ok("encode", "-t", "hello", "-o", link)
    assert link.is_symlink()
    assert real.read_bytes() == b"24912\n"


def test_pipes_and_devices_are_written_in_place(tmp_path: Path) -> None:
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    read: list[bytes] = []
    reader = threading.Thread(target=lambda: read.append(fifo.read_bytes()))
    reader.start()
    ok("encode", "-t", "hello", "-o", fifo)
    reader.join(10)
    assert read == [b"24912\n"]
    ok("encode", "-t", "hello", "-o", "/dev/null")
    assert stat.S_ISCHR(Path("/dev/null").stat().st_mode)
    for out in ("/dev/stdout", "-"):
        assert ok("encode", "-t", "hello", "-o", out) == b"24912\n"


def test_an_output_that_is_an_input_is_refused(tmp_path: Path) -> None:
    one, hard, soft = tmp_path / "one", tmp_path / "hard", tmp_path / "soft"
    one.write_bytes(b"hello")
    hard.hardlink_to(one)
    soft.symlink_to(one)
    for out in (one, hard, soft):
        assert "is also an input" in refused("encode", one, "-o", out)
        with one.open("rb") as file:
            assert subprocess.run([*program(), "encode", "-o", out], stdin=file, capture_output=True).returncode == 2
    assert one.read_bytes() == b"hello"


@pytest.mark.parametrize("out", ["folder", "missing/out", "new/", ""])
def test_an_output_that_cannot_be_written_is_an_error(out: str, tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    assert refused("encode", "-t", "hello", "-o", out, cwd=tmp_path).startswith("Error: ")


# --- input files ------------------------------------------------------------------------------------------------------


@pytest.mark.skipif(os.geteuid() == 0, reason="root can read everything")
def test_a_file_without_permission_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "secret").touch(mode=0o000)
    assert "permission denied" in refused("count", tmp_path / "secret")


def test_folders_and_missing_files_are_errors(tmp_path: Path) -> None:
    is_folder = f"Error: {tmp_path}: is a directory\n"
    assert refused("decode", tmp_path) == f"{is_folder}Name the files in it.\n"
    listed = os.fsencode(tmp_path)
    said = refused("count", "--files0-from", "-", data=listed)
    assert said == f"{is_folder}Use -r to read the files in it, or name them.\n"
    assert refused("count", tmp_path / "nope") == f"Error: {tmp_path / 'nope'}: no such file or directory\n"


def test_a_file_name_is_bytes_and_reaches_no_terminal_as_they_are(tmp_path: Path) -> None:
    name = b"a\n\x1b[31m\xff.txt"
    path = os.fsencode(tmp_path) + b"/" + name
    Path(os.fsdecode(path)).write_bytes(b"hello")
    assert ok("count", path) == b"1\n"
    assert name in ok("count", path, path)
    message = refused("count", path + b"x")
    assert message.endswith("/a⏎␛[31m\\xff.txtx: no such file or directory\n")


@pytest.mark.slow
def test_memory_does_not_grow_with_the_input(tmp_path: Path) -> None:
    def peak(megabytes: int) -> int:
        code = (
            "import resource, subprocess, sys\n"
            "subprocess.run(sys.argv[1:], stdin=sys.stdin, stdout=subprocess.DEVNULL, check=True)\n"
            "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)\n"
        )
        large = tmp_path / str(megabytes)
        large.write_bytes(b"The quick brown fox, 42 times. " * (megabytes << 15))
        with large.open("rb") as file:
            line = [sys.executable, "-c", code, *program(), "count"]
            return int(subprocess.run(line, stdin=file, capture_output=True, check=True).stdout)

    assert peak(64) - peak(1) < 24 << 10  # kB
