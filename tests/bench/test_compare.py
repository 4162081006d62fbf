"""The comparison runs, checks ids, and says what is missing."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import tokcli

HERE = Path(__file__).resolve().parent


def run(script: str, *arguments: object, status: int = 0) -> str:
    ran = subprocess.run(
        [sys.executable, str(HERE / script), *map(str, arguments)], capture_output=True, text=True, timeout=120
    )
    assert ran.returncode == status, ran.stderr
    return ran.stdout + ran.stderr


@pytest.fixture
def text(tmp_path: Path) -> Path:
    path = tmp_path / "some.txt"
    path.write_text("It's 中文 and numbers 12345,\n\n  and more.\n" * 200, "utf-8")
    return path


@pytest.mark.skipif(sys.version_info < (3, 11), reason="the comparison runs children with -P, which Python 3.10 lacks")
def test_libraries_are_compared_and_their_ids_checked(text: Path) -> None:
    out = run("compare.py", "batch", "--text", text, "--rounds", 1, "--peers", "tokcli", "tiktoken")
    assert "| |tokcli | tiktoken|" in out
    assert "| some.txt |" in out
    assert "WRONG" not in out


@pytest.mark.skipif(sys.version_info < (3, 11), reason="the comparison runs children with -P, which Python 3.10 lacks")
@pytest.mark.parametrize("operation", ["again", "documents", "append", "steady"])
def test_ids_of_texts_seen_before_grown_or_repeated_are_checked_too(operation: str, text: Path) -> None:
    out = run(
        "compare.py", operation, "--text", text, "--rounds", 1, "--steady-mb", 0.1, "--peers", "tokcli", "tiktoken"
    )
    assert f"### {operation}: " in out
    assert "WRONG" not in out
    assert "were not checked" not in out


@pytest.mark.skipif(sys.version_info < (3, 11), reason="the comparison runs children with -P, which Python 3.10 lacks")
def test_a_spread_is_of_five_processes_though_one_round_is_asked_for(text: Path) -> None:
    out = run("compare.py", "decode-spread", "--text", text, "--rounds", 1, "--peers", "tokcli")
    assert float(out.split("| some.txt | ")[1].split(" |")[0]) > 1  # one process alone has a spread of 1


def test_without_tiktoken_it_says_that_nothing_was_checked(text: Path) -> None:
    out = run("compare.py", "count", "--text", text, "--rounds", 1, "--peers", "tokcli")
    assert "Without tiktoken the ids were not checked." in out


def test_an_unknown_operation_is_named(text: Path) -> None:
    assert "no such operation: fry" in run("compare.py", "fry", status=2)


@pytest.mark.slow
@pytest.mark.skipif(not shutil.which(os.environ.get("CXX", "c++")), reason="there is no compiler")
def test_the_program_that_only_splits_finds_the_pieces_that_tokcli_finds(text: Path, tmp_path: Path) -> None:
    code = f"import sys; sys.path.insert(0, {str(HERE)!r}); from pathlib import Path; from where import build_split; "
    code += f"print(build_split(Path({str(tmp_path)!r})))"
    program = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip()
    found = subprocess.run([program, str(text)], capture_output=True, text=True, check=True).stdout.split()[1]
    assert int(found) == len(tokcli.get_encoding("cl100k_base").split(text.read_text("utf-8")))
