"""The committed completions are those of the program, and each shell loads its own and completes with it."""

from __future__ import annotations

import os
import pty
import select
import shlex
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest
from support import ROOT, program

SCRIPTS = {"bash": "tokcli.bash", "zsh": "_tokcli", "fish": "tokcli.fish"}
# what is typed before the tab, and what must then stand on the line
CASES = [
    ("tokcli co", "count"),
    ("tokcli count -e o200k_b", "o200k_base"),
    ("tokcli count -e gpt2 some-f", "some-file"),
]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with one file, and with the program in `bin`."""
    (tmp_path / "some-file").touch()
    (tmp_path / "bin").mkdir()
    wrapper = tmp_path / "bin" / "tokcli"
    wrapper.write_text(f'#!/bin/sh\nexec {shlex.join(program())} "$@"\n')
    wrapper.chmod(0o755)
    return tmp_path


def needs(shell: str) -> str:
    """Its path; without it the test is skipped, but not in CI."""
    path = shutil.which(shell)
    if path is None and "CI" not in os.environ:
        pytest.skip(f"{shell} is not installed")
    assert path is not None
    return path


def environment(folder: Path) -> dict[str, str]:
    path = f"{folder / 'bin'}:{os.environ['PATH']}"
    return {**os.environ, "PATH": path, "HOME": str(folder), "TERM": "dumb", "PS1": "$ ", "HISTFILE": "/dev/null"}


def typed(line: list[str], setup: str, keys: str, expected: str, folder: Path) -> str:
    """What an interactive shell shows after `setup` and `keys`, until `expected` is there."""
    master, slave = pty.openpty()
    shell = subprocess.Popen(
        line, stdin=slave, stdout=slave, stderr=slave, cwd=folder, env=environment(folder), start_new_session=True
    )
    os.close(slave)
    shown = b""

    def read_until(wanted: bytes, seconds: float = 10.0) -> None:
        nonlocal shown
        end = time.monotonic() + seconds
        while wanted not in shown and time.monotonic() < end:
            if select.select([master], [], [], 0.1)[0]:
                try:
                    shown += os.read(master, 4096)
                except OSError:
                    return

    try:
        os.write(master, f"{setup}; echo rea''dy\n".encode())
        read_until(b"ready")
        shown = b""
        os.write(master, keys.encode() + b"\t")
        read_until(expected.encode())
    finally:
        shell.kill()
        shell.wait()
        os.close(master)
    return shown.decode("utf-8", "replace")


@pytest.mark.parametrize(("keys", "expected"), CASES)
def test_bash_completes(keys: str, expected: str, folder: Path) -> None:
    shell = needs("bash")
    script = ROOT / "completions" / SCRIPTS["bash"]
    line = [shell, "--norc", "--noprofile", "-i"]
    assert expected in typed(line, f"source {shlex.quote(str(script))}", keys, expected, folder)


@pytest.mark.parametrize(("keys", "expected"), CASES)
def test_zsh_completes(keys: str, expected: str, folder: Path) -> None:
    shell = needs("zsh")
    setup = f"fpath=({shlex.quote(str(ROOT / 'completions'))} $fpath); autoload -Uz compinit; compinit -u -D"
    assert expected in typed([shell, "-f", "-i"], setup, keys, expected, folder)


@pytest.mark.parametrize(("keys", "expected"), CASES)
def test_fish_completes(keys: str, expected: str, folder: Path) -> None:
    shell = needs("fish")
    code = 'source $argv[1]; complete --do-complete "$argv[2]"'
    line = [shell, "--no-config", "-c", code, str(ROOT / "completions" / SCRIPTS["fish"]), keys]
    ran = subprocess.run(line, cwd=folder, env=environment(folder), capture_output=True, text=True, timeout=60)
    assert expected in ran.stdout.split(), ran


def test_the_committed_scripts_are_those_of_the_program() -> None:
    tool = ROOT / "tests" / "tools" / "make_completions.py"
    ran = subprocess.run([sys.executable, tool, "--check"], capture_output=True, text=True, cwd=ROOT)
    if ran.returncode == 3:
        pytest.skip(ran.stderr.strip())
    assert (ran.returncode, ran.stderr) == (0, "")
