"""Scripts as users write them run, and are clean under `mypy --strict`: no types are missing, none is `Any`."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from support import ROOT

SCRIPTS = sorted((ROOT / "tests" / "scripts").glob("*.py"))


def run(*command: str | Path) -> None:
    done = subprocess.run([sys.executable, *command], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: path.stem)
def test_a_script_runs_without_a_warning(path: Path) -> None:
    run("-W", "error", path)


@pytest.mark.slow
def test_the_scripts_are_clean_under_mypy_strict(tmp_path: Path) -> None:
    options = [
        "--strict",
        "--disallow-any-expr",
        "--follow-imports=silent",
        "--config-file=",
        f"--cache-dir={tmp_path}",
    ]
    run("-m", "mypy", *options, *SCRIPTS)


def test_the_package_says_that_it_has_types() -> None:
    assert (ROOT / "tokcli" / "py.typed").exists()
