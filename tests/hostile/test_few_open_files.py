"""Shortages of open files and of room in files are told as such, and neither a folder nor a shard is left that no later run takes."""

from __future__ import annotations

import errno
import os
import resource
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from support import program, without_coverage

from tokcli.cli.encode.shards.read_shards import holds_shards
from tokcli.cli.inputs import column_files


@pytest.mark.memory
@pytest.mark.parametrize("most", range(5, 9))  # with 4, a Python that has setuptools does not start
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


def too_many(*_: object, **__: object) -> None:
    raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))


def test_a_file_that_cannot_be_opened_for_lack_of_files_may_hold_columns(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "rows.parquet").write_bytes(b"PAR1")
    monkeypatch.setattr(column_files, "open", too_many, raising=False)
    with pytest.raises(OSError, match="open files"):
        column_files.holds_columns(str(tmp_path / "rows.parquet"))


def test_a_folder_may_hold_shards_where_no_file_can_be_opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "index.json").write_bytes(b"{}")
    assert not holds_shards(tmp_path)
    monkeypatch.setattr(os, "open", too_many)
    with pytest.raises(OSError, match="open files"):
        holds_shards(tmp_path)


@pytest.mark.memory
@pytest.mark.parametrize("layout", ["flat", "parquet"])
@pytest.mark.parametrize("kib", [1, 2, 4, 8, 16])
def test_a_shard_that_could_not_be_recorded_does_not_stay(layout: str, kib: int, tmp_path: Path) -> None:
    """A compressed shard may fit under a limit of file sizes where the line of the index about it does not."""
    if layout == "parquet":
        pytest.importorskip("pyarrow")
    (tmp_path / "text").write_bytes(b"a\n" * 20_000)
    command = ["encode", "--shards", "new", "--layout", layout, "--records", "lines", "text"]

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (kib << 10, kib << 10))

    def run(preexec_fn: Callable[[], None] | None) -> subprocess.CompletedProcess[bytes]:
        return subprocess.run(
            [*program(), *command], capture_output=True, cwd=tmp_path, timeout=60, preexec_fn=preexec_fn, check=False,
            env=without_coverage(),
        )  # fmt: skip

    failed = run(limit)
    assert failed.returncode == 2 and b"file too large" in failed.stderr, failed.stderr
    again = run(None)
    assert again.returncode == 0, again.stderr
