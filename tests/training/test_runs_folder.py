"""What killed trainings left among temporary files is removed, and nothing else is."""

from __future__ import annotations

import signal
import subprocess
import tempfile
import time
from pathlib import Path

import pytest
from support import program, without_coverage

from tokcli.training.runs_folder import PREFIX, RunsFolder


@pytest.fixture(autouse=True)
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


def test_a_folder_is_removed_with_its_runs_when_it_is_closed(temporary: Path) -> None:
    made = RunsFolder()
    (made.path / "run-abcdefgh.counts").write_bytes(b"x")
    made.close()
    assert not list(temporary.iterdir())


def test_a_folder_that_is_in_use_stays(temporary: Path) -> None:
    first, second = RunsFolder(), RunsFolder()
    assert {path.name for path in temporary.iterdir()} == {first.path.name, second.path.name}
    first.close()
    second.close()
    assert not list(temporary.iterdir())


def test_what_is_not_ours_stays(temporary: Path) -> None:
    (temporary / "elsewhere").mkdir()
    (temporary / "elsewhere" / "run-abcdefgh.counts").write_bytes(b"mine")
    (temporary / f"{PREFIX}0123456789ab").symlink_to(temporary / "elsewhere")
    for name in ("tokcli-train-mine", f"{PREFIX}mine", f"{PREFIX}0123456789cd"):
        (temporary / name).mkdir()
        (temporary / name / "mine").write_bytes(b"mine")
    before = sorted(temporary.rglob("*"))
    RunsFolder().close()
    assert sorted(temporary.rglob("*")) == before


@pytest.mark.clock
@pytest.mark.signals
def test_what_a_killed_training_left_is_swept_by_the_next(temporary: Path) -> None:
    arguments = [
        *program(),
        "train",
        "--memory",
        "1M",
        "--pattern",
        "r50k_base",
        "--vocab-size",
        "300",
        "-o",
        str(temporary / "out"),
    ]
    environment = {**without_coverage(), "TMPDIR": str(temporary)}
    process = subprocess.Popen(arguments, stdin=subprocess.PIPE, env=environment)
    assert process.stdin
    process.stdin.write(b" ".join(b"%d" % number for number in range(300_000)))
    until = time.monotonic() + 60
    while not list(temporary.glob(f"{PREFIX}*/*")) and time.monotonic() < until:
        time.sleep(0.01)
    process.send_signal(signal.SIGKILL)
    process.wait()
    process.stdin.close()
    assert list(temporary.glob(f"{PREFIX}*/*"))
    RunsFolder().close()
    assert not list(temporary.glob(f"{PREFIX}*"))
