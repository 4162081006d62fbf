"""The committed completions are those of the program, and each shell loads its own and completes with it."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from shells import typed
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


@pytest.mark.parametrize(("keys", "expected"), CASES)
def test_bash_completes(keys: str, expected: str, folder: Path) -> None:
    shell = needs("bash")
    script = ROOT / "completions" / SCRIPTS["bash"]
    line = [shell, "--norc", "--noprofile", "-i"]
    assert expected in typed(line, f"source {shlex.quote(str(script))}", keys, expected, folder, environment(folder))


@pytest.mark.parametrize(("keys", "expected"), CASES)
def test_zsh_completes(keys: str, expected: str, folder: Path) -> None:
    shell = needs("zsh")
    setup = f"fpath=({shlex.quote(str(ROOT / 'completions'))} $fpath); autoload -Uz compinit; compinit -u -D"
    assert expected in typed([shell, "-f", "-i"], setup, keys, expected, folder, environment(folder))


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
