"""A short fuzz of the native code on its own finds nothing: see `run`, which also runs for as long as one likes."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).with_name("run")


@pytest.mark.slow
@pytest.mark.timeout(1000)  # it compiles the native code with sanitizers
@pytest.mark.skipif(not (shutil.which("g++") or shutil.which("clang++")), reason="there is no compiler")
def test_two_seconds_of_each_fuzz_target_find_nothing(tmp_path: Path) -> None:
    env = {**os.environ, "PYTHON": sys.executable}
    ran = subprocess.run(["bash", SCRIPT, "2"], capture_output=True, text=True, timeout=900, cwd=tmp_path, env=env)
    assert ran.returncode == 0, (ran.stdout + ran.stderr)[-3000:]
    assert ran.stdout.count("nothing found") == 12
    print(ran.stdout)
