"""A pipe among the inputs of -r or --shards is opened once, and all of it is used."""

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


@pytest.mark.parametrize("records", [(), ("--records", "lines")])
def test_a_pipe_that_is_named_loses_nothing_on_its_way_to_shards(records: tuple[str, ...], tmp_path: Path) -> None:
    text = b"hello world, \n" * 100_000
    (tmp_path / "file").write_bytes(text)
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    arguments = [*program(), "encode", "-e", "r50k_base", *records, "--layout", "flat", "--shards"]
    subprocess.run([*arguments, tmp_path / "of-file", tmp_path / "file"], check=True)
    writer = threading.Thread(target=pipe.write_bytes, args=(text,), daemon=True)
    writer.start()
    subprocess.run([*arguments, tmp_path / "of-pipe", pipe], check=True, timeout=60)
    writer.join(10)
    name = "shard-00000.bin"
    assert (tmp_path / "of-pipe" / name).read_bytes() == (tmp_path / "of-file" / name).read_bytes()
