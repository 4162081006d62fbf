"""Ctrl-C ends every command within a second, whatever it waits for or works on, silently and without a file left."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from pathlib import Path

import pytest
from support import ROOT, program, without_coverage

UNIGRAM = str(ROOT / "tests" / "data" / "formats" / "unigram.model")
FEW = ["--vocab-size", "300", "-o", "out"]
WAITING = {
    "count": ["count"],
    "a pipe with a name": ["count", "fifo"],
    "ids into a file": ["encode", "-o", "out"],
    "decode": ["decode"],
    "ids as JSON": ["decode", "--json"],
    "an array": ["decode", "--format", "npy"],
    "split": ["split"],
    "a table": ["split", "--table"],
    "two splits": ["split", "--diff", "gpt2"],
    "a page": ["encode", "--html", "out"],
    "a comparison": ["encode", "--compare", "gpt2,r50k_base"],
    "records": ["encode", "--records", "lines"],
    "a list of names": ["count", "--files0-from", "-"],
    "a pattern file": ["split", "--pattern-file", "fifo", "-t", "a"],
    "a text seen whole": ["count", "-e", UNIGRAM],
    "a corpus": ["train", *FEW],
    "counts": ["train", "--counts-only", "-o", "out", "fifo"],
}
BUSY = {
    "one piece": ["count", "one"],
    "ids": ["encode", "-o", "out", "text"],
    "ids in one thread": ["encode", "-j", "1", "-o", "out", "text"],
    "offsets": ["encode", "--offsets", "char", "-o", "out", "text"],
    "bytes": ["encode", "--errors", "bytes", "-o", "out", "text"],
    "pieces": ["split", "-o", "out", "text"],
    "pieces of a pattern": ["split", "--pattern", r"\w+\s|.|\n", "-o", "out", "text"],
    "a table": ["split", "--table", "-o", "out", "text"],
    "statistics": ["split", "--stats", "text"],
    "a place far back": ["split", "--why", "29999990", "text"],
    "two splits": ["split", "--diff", "gpt2", "text"],
    "colours": ["encode", "--visualise", "-o", "out", "text"],
    "merges": ["encode", "--visualise=merges", "-o", "out", "text"],
    "a page": ["encode", "--html", "out", "-n", "3000000", "text"],
    "Unigram": ["count", "-e", UNIGRAM, "text"],
    "Unigram, one piece": ["count", "-e", UNIGRAM, "one"],
    "training": ["train", "text", "--vocab-size", "5000", "-o", "out"],
    "tokens that do not give themselves": ["inspect-ranks", "--not-self", "-o", "out"],
    "a page of a vocabulary": ["inspect-ranks", "--html", "out"],
    "a search": ["inspect-ranks", "--grep", "(a|b)*c", "-o", "out"],
}


def pressed_after(seconds: float, command: list[str], folder: Path) -> int:
    """Press Ctrl-C after some seconds, unless the run has ended by then; return the exit status."""
    with subprocess.Popen(
        [*program(), *command], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, cwd=folder,
        env=without_coverage(),
    ) as process:  # fmt: skip
        time.sleep(seconds)
        process.send_signal(signal.SIGINT)
        sent = time.monotonic()
        status = process.wait(timeout=30)
        took = time.monotonic() - sent
        assert process.stderr is not None
        assert process.stderr.read() == b"" or status == 0
    assert took < 1
    return status


@pytest.mark.clock
@pytest.mark.parametrize("command", WAITING.values(), ids=WAITING.keys())
def test_ctrl_c_ends_a_run_that_waits_for_input(command: list[str], tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    before = sorted(tmp_path.iterdir())
    assert pressed_after(1.5, command, tmp_path) == 130
    assert sorted(tmp_path.iterdir()) == before


@pytest.fixture(scope="module")
def inputs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("large")
    (folder / "one").write_bytes(b"a" * 30_000_000)
    (folder / "text").write_bytes(b"hello world, it's 2024 and more\n" * 1_000_000)
    return folder


@pytest.mark.clock
@pytest.mark.slow
@pytest.mark.parametrize("seconds", [1, 3])
@pytest.mark.parametrize("command", BUSY.values(), ids=BUSY.keys())
def test_ctrl_c_ends_a_run_that_works(command: list[str], seconds: float, inputs: Path) -> None:
    """The run may end by itself before the signal comes, or while it does: then all of its output is there."""
    out = inputs / "out"
    out.unlink(missing_ok=True)
    before = sorted(inputs.iterdir())
    status = pressed_after(seconds, command, inputs)
    if status == 0 and out.exists():
        written = out.read_bytes()
        subprocess.run([*program(), *command], stdout=subprocess.DEVNULL, cwd=inputs, check=True)
        assert written == out.read_bytes()
        return
    assert status in (0, 130)
    assert sorted(inputs.iterdir()) == before


@pytest.mark.slow
def test_a_signal_is_not_lost_whenever_it_comes(tmp_path: Path) -> None:
    """One that came within a callback of an import, or just before a read, once was."""
    for number in range(40):
        with subprocess.Popen(
            [*program(), "encode", "-o", "out"], stdin=subprocess.PIPE, cwd=tmp_path, env=without_coverage()
        ) as process:
            until = time.monotonic() + 30
            while not list(tmp_path.iterdir()) and time.monotonic() < until:
                time.sleep(0.001)
            time.sleep(number / 4000)
            ending = signal.SIGTERM if number % 2 else signal.SIGINT
            process.send_signal(ending)
            assert process.wait(timeout=10) == (130 if ending == signal.SIGINT else -ending)
        assert not list(tmp_path.iterdir())


PRESSES = """
import os, signal, sys

class Presses:
    def find_spec(self, name, *_):
        if name == os.environ["PRESSED_AT"] and "tokcli" in sys.modules and "_signal" in sys.modules:
            os.kill(os.getpid(), signal.SIGINT)

sys.meta_path.insert(0, Presses())
"""


@pytest.mark.signals
@pytest.mark.parametrize("module", ["gc", "contextlib", "typing", "click", "tokcli.cli.main"])
def test_ctrl_c_ends_a_run_that_is_being_loaded(module: str, tmp_path: Path) -> None:
    """Python printed a traceback as long as the entry point had not been imported."""
    (tmp_path / "sitecustomize.py").write_text(PRESSES)
    path = os.pathsep.join([str(tmp_path), *filter(None, [os.environ.get("PYTHONPATH")])])
    ran = subprocess.run(
        [*program(), "count", "-t", "a"], capture_output=True, env=without_coverage() | {"PYTHONPATH": path, "PRESSED_AT": module},
    )  # fmt: skip
    assert (ran.returncode, ran.stderr) in ((-signal.SIGINT, b""), (0, b""))  # 0 where Python has loaded it before
