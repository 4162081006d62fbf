"""Progress while inputs are read: on a terminal only, after a second, and out of the way of whatever else is said."""

from __future__ import annotations

import io
import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest
from support import program

from tokcli.cli import streams
from tokcli.cli.options import FolderOptions
from tokcli.cli.terminal import reading
from tokcli.cli.terminal.reading import CLEAR, ProgressLine, watched
from tokcli.cli.walk.found_texts import FoundTexts

SLOW = """
import sys, time
for number in range(12):
    sys.stdout.buffer.write(b"hello world\\n" * 100000)
    sys.stdout.flush()
    time.sleep(0.12)
"""


def run_beside_terminal(*arguments: str, feed: str = SLOW, to_pipe: bool = True) -> tuple[int, str, bytes]:
    """Return the status of a run, what it says on the terminal that is its standard error, and its output.

    The output goes `to_pipe`, or to the terminal, too.
    """
    master, slave = pty.openpty()
    with subprocess.Popen([sys.executable, "-c", feed], stdout=subprocess.PIPE) as fed:
        out_to = subprocess.PIPE if to_pipe else slave
        process = subprocess.Popen([*program(), *arguments], stdin=fed.stdout, stdout=out_to, stderr=slave)
        os.close(slave)
        out, _ = process.communicate(timeout=60)
    said = b""
    try:
        while block := os.read(master, 65536):
            said += block
    except OSError:  # so Linux says that the other end is closed
        pass
    os.close(master)
    return process.returncode, said.decode(), out


@pytest.mark.clock
@pytest.mark.parametrize(
    "arguments", [("count",), ("encode", "--format", "u32"), ("split",), ("encode", "--chunk", "99")]
)
def test_a_long_run_says_how_much_it_has_read_and_leaves_no_trace(arguments: tuple[str, ...]) -> None:
    status, said, out = run_beside_terminal(*arguments)
    assert status == 0
    assert out
    assert " MB, " in said
    assert " MB/s" in said
    assert said.endswith(CLEAR)


@pytest.mark.clock
@pytest.mark.parametrize(("arguments", "answer"), [([], 3_600_000), (["--records", "lines", "--total"], 2_400_000)])
def test_an_answer_that_comes_last_leaves_the_terminal_to_the_progress(arguments: list[str], answer: int) -> None:
    status, said, _ = run_beside_terminal("count", *arguments, to_pipe=False)
    assert status == 0
    assert " MB/s" in said
    assert said.endswith(f"{CLEAR}{answer}\r\n")


@pytest.mark.clock
@pytest.mark.parametrize("arguments", [("count", "-q"), ("encode", "-q", "--format", "u32")])
def test_a_run_that_shall_be_quiet_is(arguments: tuple[str, ...]) -> None:
    assert run_beside_terminal(*arguments)[:2] == (0, "")


@pytest.mark.clock
def test_a_short_run_says_nothing() -> None:
    assert run_beside_terminal("encode", feed="print('hello')") == (0, "", b"24912 198\n")


@pytest.mark.clock
def test_an_error_takes_the_place_of_the_progress() -> None:
    status, said, _ = run_beside_terminal("encode", "--format", "u32", feed=SLOW + "sys.stdout.buffer.write(b'\\xff')")
    assert status == 2
    assert CLEAR + "Error: standard input: not UTF-8" in said


def test_the_share_and_the_time_left_are_of_all_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("a", "b"):
        (tmp_path / name).write_bytes(b"x" * 2_000_000)
    clock = iter(range(100))
    monkeypatch.setattr(reading, "monotonic", lambda: next(clock))
    shown = io.StringIO()
    monkeypatch.setattr(sys, "stderr", shown)
    inputs = watched([streams.Input(name=str(tmp_path / name)) for name in ("a", "b")])
    for source in inputs:
        assert b"".join(source.blocks(1_000_000)) == b"x" * 2_000_000
    lines = [text for text in shown.getvalue().split(CLEAR) if text]
    assert [line.split(",")[0] for line in lines] == [
        "1 of 4 MB (25%)",
        "2 of 4 MB (50%)",
        "3 of 4 MB (75%)",
        "4 of 4 MB (100%)",
    ]
    assert all(line.endswith(" left") for line in lines)


def test_what_else_is_written_takes_the_place_of_the_line() -> None:
    shown = io.StringIO()
    line = ProgressLine(shown)
    line.show("half")
    line.write("Note: a\n")
    line.write("Note: b\n")
    line.clear()
    assert shown.getvalue() == f"{CLEAR}half{CLEAR}Note: a\nNote: b\n"


@pytest.mark.parametrize(("columns", "shown"), [(80, "9 of 90 MB, 300 MB/s, 0:01 left"), (30, "9 of 90 MB, 0:01 left"),
                                                (16, "9 of 90 MB"), (8, "9 of...")])  # fmt: skip
def test_the_line_of_progress_fits_the_terminal(columns: int, shown: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    said = io.StringIO()
    monkeypatch.setattr(sys, "stderr", said)
    ProgressLine(said).show("9 of 90 MB", "300 MB/s", "0:01 left")
    assert said.getvalue() == f"{CLEAR}{shown}"
    assert len(shown) < columns


def test_files_in_folders_are_counted_once_and_the_line_stays_between_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "short").write_bytes(b"x" * 1000)
    (tmp_path / "long").write_bytes(b"hello " * 200_000)
    said = io.StringIO()
    monkeypatch.setattr(sys, "stderr", said)
    monkeypatch.setattr(reading, "QUIET_S", -1)
    monkeypatch.setattr(reading, "EVERY_S", 0)
    inputs = {
        "text": None,
        "files": (str(tmp_path),),
        "files0_from": None,
        "files_from": None,
        "no_decompress": False,
        "quiet": False,
    }
    choice = {
        "skip_invalid": False,
        "globs": (),
        "no_ignore": False,
        "hidden": False,
        "follow": False,
        "verbose": False,
        "recursive": True,
    }
    found = FoundTexts(FolderOptions(**inputs, **choice))
    found.named = watched(found.named)
    assert sum(len(block) for source in found for block in source.blocks()) == 1_201_000
    shown = said.getvalue().split(CLEAR)
    assert shown[0] == ""
    assert all(shown[1:])
    assert shown[-1].startswith("1 MB, ")


def test_blocks_grow_up_to_the_size_that_is_asked_for(tmp_path: Path) -> None:
    path = tmp_path / "data"
    path.write_bytes(bytes(range(250)) * 40)
    source = streams.Input(name=str(path))
    blocks = list(source.blocks(100, 500))
    assert [len(block) for block in blocks] == [100, 200, 400, *[500] * 18, 300]
    assert b"".join(blocks) == path.read_bytes()
    assert {len(block) for block in source.blocks(2000)} == {2000}


def test_blocks_of_a_file_that_threads_share_are_many(tmp_path: Path) -> None:
    path = tmp_path / "data"
    path.write_bytes(bytes(1600))
    source = streams.Input(name=str(path))
    assert [len(block) for block in source.blocks(60, 500)] == [60, *[100] * 15, 40]
    assert [len(block) for block in source.blocks(400, 500)] == [400] * 4


def test_what_was_read_already_is_not_read_from_the_disk_again() -> None:
    with streams.Input(name="gone.txt.gz", data=b"its text, decompressed").opened() as file:
        assert (file.seek(4), file.read()) == (4, b"text, decompressed")
