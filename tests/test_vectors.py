"""The shared vectors, where TOKCLI_VECTORS names their folder: its conform.py asks the command line."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from support import program, without_coverage

VECTORS = os.environ.get("TOKCLI_VECTORS", "")


@pytest.mark.slow
@pytest.mark.timeout(3000)  # it starts thousands of processes, on machines that may be busy
@pytest.mark.skipif(not VECTORS, reason="TOKCLI_VECTORS names no folder of vectors")
def test_the_command_line_conforms_to_the_shared_vectors() -> None:
    conform = Path(VECTORS) / "conform.py"
    done = subprocess.run(
        [sys.executable, conform, "--cli", shlex.join(program()), "--set", VECTORS],
        capture_output=True,
        text=True,
        env=without_coverage(),  # thousands of short runs, which measuring makes three times as long
    )
    print(done.stdout[-6000:], done.stderr[-2000:])
    assert done.returncode == 0, done.stdout[-3000:]
