"""A pipe among the inputs of -r is read once, and all of it is used."""

from __future__ import annotations

import os
import subprocess
import threading
from pathlib import Path

import pytest
from support import program


@pytest.mark.parametrize("command", ["encode", "count", "split"])
def test_a_pipe_that_is_named_with_r_loses_nothing(command: str, tmp_path: Path) -> None:
    text = b"hello world, " * 100_000
    (tmp_path / "file").write_bytes(text)
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    arguments = [*program(), command, "-e", "r50k_base"]
    expected = subprocess.check_output([*arguments, tmp_path / "file"])
    writer = threading.Thread(target=pipe.write_bytes, args=(text,), daemon=True)
    writer.start()
    assert subprocess.check_output([*arguments, "-r", pipe], timeout=60).split() == expected.split()
    writer.join(10)
