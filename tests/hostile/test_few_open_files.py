"""Too few open files is the reason that is told, and no folder that was just made is left behind."""

from __future__ import annotations

import resource
import subprocess
from pathlib import Path

import pytest
from support import program, without_coverage


@pytest.mark.memory
@pytest.mark.parametrize("most", range(4, 9))
@pytest.mark.parametrize(
    "command",
    [
        ["encode", "--shards", "new", "text"],
        ["train", "text", "--vocab-size", "300", "-o", "out", "--checkpoint", "new"],
    ],
    ids=["shards", "training"],
)
def test_too_few_open_files_do_not_make_a_checkpoint_invalid(command: list[str], most: int, tmp_path: Path) -> None:
    (tmp_path / "text").write_bytes(b"hello world, it's 2024\n" * 200)

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))

    done = subprocess.run(
        [*program(), *command], capture_output=True, cwd=tmp_path, timeout=60, preexec_fn=limit, check=False,
        env=without_coverage(),
    )  # fmt: skip
    said = done.stderr.decode()
    if done.returncode == 0:
        return
    assert (done.returncode, said.count("\n")) == (2, 1), said
    assert "too many open files" in said and "not a valid checkpoint" not in said, said
    left = {path.name for path in tmp_path.rglob("*")} - {"text", "new", ".tokcli-checkpoint"}
    assert bool(left) == (tmp_path / "new").exists(), left  # a folder stays only with what the next run goes on with
