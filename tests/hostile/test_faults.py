"""Every call of the system that writes `-o` fails once: no partial file, nothing left beside it, one clear line."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from io import BufferedWriter, FileIO
from pathlib import Path
from typing import Any

import pytest
from support import first_in_gate

from tokcli.cli.main import run

COMMANDS = {
    "ids": ["encode", "text"],
    "many ids": ["encode", "long"],
    "pieces": ["split", "text"],
    "a count": ["count", "text"],
    "bytes": ["decode", "ids"],
    "an array, whose header is written last": ["encode", "--format", "npy", "text"],
    "a table of tokens": ["inspect-ranks", "--id", "65"],
    "a vocabulary and its sidecar": ["train", "long", "-q", "--vocab-size", "260"],
    "a pair of files": ["train", "long", "-q", "--vocab-size", "260", "--format", "gpt2"],
    "counts": ["train", "text", "--counts-only"],
    "an export": ["inspect-ranks", "-e", "gpt2", "-q", "--export", "tiktoken"],
}
CALLS = ("open", "fchmod", "write", "flush", "fsync", "close", "replace")


class Faults:
    """Lets the system's n-th call of a kind fail that is about a file of a folder, or about the folder itself."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, folder: Path, kind: str, number: int) -> None:
        self.folder, self.kind, self.number, self.calls = str(folder), kind, number, 0
        self.failed_on = ""
        for name in ("open", "fchmod", "fsync", "replace"):
            monkeypatch.setattr(os, name, self.failing(name, getattr(os, name)))
        monkeypatch.setattr("tokcli.atomic.BufferedWriter", self.buffered)

    def failing(self, kind: str, call: Callable[..., Any], number: int | None = None) -> Callable[..., Any]:
        def wrapped(*arguments: Any, **named: Any) -> Any:
            path = arguments[0] if number is None else number
            named_path = str(Path(f"/proc/self/fd/{path}").readlink()) if isinstance(path, int) else str(path)
            if kind == self.kind and named_path.startswith(self.folder):
                self.calls += 1
                if self.calls == self.number:
                    self.failed_on = named_path
                    if kind == "close":
                        call(*arguments, **named)
                    raise OSError(errno.EIO, "Input/output error")
            return call(*arguments, **named)

        return wrapped

    def buffered(self, raw: FileIO, size: int) -> Any:
        return Failing(BufferedWriter(raw, size), self, raw.fileno())


class Failing:
    """A file whose calls may fail."""

    def __init__(self, file: Any, faults: Faults, number: int) -> None:
        self._file = file
        for name in ("write", "flush", "close"):
            setattr(self, name, faults.failing(name, getattr(file, name), number))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._file, name)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "text").write_text("hello world, hello there\n" * 20)
    (tmp_path / "long").write_text("hello world, hello there\n" * 20_000)
    (tmp_path / "ids").write_text("65 66\n")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def output_of(command: list[str]) -> str:
    return "pair/vocab.json" if "gpt2" in command and "train" in command else "out"


@pytest.mark.parametrize("is_new", first_in_gate([False, True]), ids=["an old file", "a new file"])
@pytest.mark.parametrize("kind", CALLS)
@pytest.mark.parametrize("command", COMMANDS.values(), ids=COMMANDS.keys())
def test_a_call_that_fails_leaves_what_was_there(
    command: list[str], kind: str, is_new: bool, folder: Path, monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    output = output_of(command)
    (folder / output).parent.mkdir(exist_ok=True)
    if not is_new:
        (folder / output).write_bytes(b"old")
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    for number in range(1, 40):
        with monkeypatch.context() as patched:
            faults = Faults(patched, folder, kind, number)
            status = run([*command, "-o", output])
        said = capfd.readouterr().err
        if not faults.failed_on:
            assert (status, said) == (0, "")
            assert number > 1
            return
        if faults.failed_on == str((folder / output).parent):
            # to list the folder and to bring it to the disk, when the new file has its name already, may fail
            assert (status, said) == (0, "")
            continue
        after = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
        if kind == "replace" and number == 2:  # of two files, the first has its name: the one named with -o comes last
            before |= {path: data for path, data in after.items() if path != folder / output}
            assert not [path for path in after if path.suffix == ".tmp"]
        assert (status, after) == (2, before)
        assert said.startswith("Error: ") and "nput/output error" in said and said.count("\n") <= 2
    pytest.fail("it fails without end")
