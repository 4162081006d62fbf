"""A file is replaced whole or not at all, and nothing is left beside it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tokcli.atomic import Replacement, locked, replace_file


def test_a_file_takes_the_place_of_another_with_its_mode(tmp_path: Path) -> None:
    (tmp_path / "kept").write_bytes(b"old")
    replace_file(str(tmp_path / "kept"), b"new", mode=0o640)
    assert (tmp_path / "kept").read_bytes() == b"new"
    assert (tmp_path / "kept").stat().st_mode & 0o777 == 0o640
    assert [path.name for path in tmp_path.iterdir()] == ["kept"]


def test_what_is_discarded_leaves_the_old_file(tmp_path: Path) -> None:
    (tmp_path / "kept").write_bytes(b"old")
    made = Replacement(str(tmp_path / "kept"))
    made.file.write(b"half")
    made.discard()
    made.discard()
    assert (tmp_path / "kept").read_bytes() == b"old"
    assert [path.name for path in tmp_path.iterdir()] == ["kept"]


def test_a_full_disk_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    (tmp_path / "kept").write_bytes(b"old")
    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space"):
        replace_file(str(tmp_path / "kept"), b"new")
    assert (tmp_path / "kept").read_bytes() == b"old"
    assert [path.name for path in tmp_path.iterdir()] == ["kept"]


# Presses Ctrl-C after one bytecode of `atomic`, after two, and so on. (A process of its own: Python 3.11 may hang where
# it traces a function and another thread, as tests before this one leave them, waits for its turn.)
INTERRUPTED = """
import os, sys
from tokcli import atomic

def interrupt_at(steps):
    def trace(frame, event, _):
        nonlocal steps
        if frame.f_code.co_filename != atomic.__file__:
            return None
        frame.f_trace_opcodes = True
        if event == "opcode":
            steps -= 1
            if not steps:
                sys.settrace(None)
                raise KeyboardInterrupt
        return trace
    return trace

folder, kept = sys.argv[1], sys.argv[1] + "/kept"
with open(kept, "wb") as file:
    file.write(b"old")
sys.settrace(interrupt_at(0))  # never: Python 3.12.1 tells of no bytecodes the first time
atomic.replace_file(kept, b"new", lasts=False)
sys.settrace(None)
is_done, steps = False, 0
while not is_done:
    steps += 1
    sys.settrace(interrupt_at(steps))
    try:
        atomic.replace_file(kept, b"new", lasts=False)
        is_done = True
    except KeyboardInterrupt:
        atomic.remove_unfinished()  # as at the end of the process
    finally:
        sys.settrace(None)
    assert os.listdir(folder) == ["kept"], steps
    assert open(kept, "rb").read() in (b"old", b"new"), steps
print(steps)
"""


def test_ctrl_c_at_any_bytecode_leaves_no_temporary_file(tmp_path: Path) -> None:
    """One that came while the file was made, before anyone held it, once left it there."""
    done = subprocess.run(
        [sys.executable, "-c", INTERRUPTED, str(tmp_path)], capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) > 200


def test_a_name_may_be_as_long_as_the_system_allows(tmp_path: Path) -> None:
    path = tmp_path / ("語" * 85)
    replace_file(str(path), b"x", lasts=False)
    assert list(tmp_path.iterdir()) == [path]


def test_a_file_without_memory_for_its_buffer_closes_only_what_it_opened(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def short(*_: object) -> None:
        raise MemoryError

    opened = len(list(Path("/proc/self/fd").iterdir()))
    monkeypatch.setattr("tokcli.atomic.BufferedWriter", short)
    with pytest.raises(MemoryError):
        replace_file(str(tmp_path / "kept"), b"new")
    assert len(list(Path("/proc/self/fd").iterdir())) == opened
    assert list(tmp_path.iterdir()) == []


def test_two_at_once_do_not_disturb_each_other(tmp_path: Path) -> None:
    first, second = Replacement(str(tmp_path / "kept")), Replacement(str(tmp_path / "kept"))
    for made, data in ((first, b"1"), (second, b"2")):
        made.file.write(data)
        made.commit()
    assert (tmp_path / "kept").read_bytes() == b"2"
    assert [path.name for path in tmp_path.iterdir()] == ["kept"]


def leave_behind(folder: Path, name: str) -> Path:
    """Return what a process that is killed while it writes a file leaves beside it."""
    code = (
        "import os, signal, sys; from tokcli.atomic import Replacement; made = Replacement(sys.argv[1]); "
        "made.file.write(b'half'); made.file.flush(); os.kill(os.getpid(), signal.SIGKILL)"
    )
    before = set(folder.iterdir())
    assert subprocess.run([sys.executable, "-c", code, str(folder / name)]).returncode == -signal.SIGKILL
    (left,) = set(folder.iterdir()) - before
    return left


@pytest.mark.signals
def test_what_a_killed_writer_left_is_removed_by_the_next_of_that_name(tmp_path: Path) -> None:
    left, other = leave_behind(tmp_path, "kept"), leave_behind(tmp_path, "kept.more")
    replace_file(str(tmp_path / "kept"), b"new")
    assert not left.exists()
    assert sorted(tmp_path.iterdir()) == sorted([tmp_path / "kept", other])


def test_what_is_being_written_is_not_removed(tmp_path: Path) -> None:
    writing = Replacement(str(tmp_path / "kept"))
    code = "import sys; from tokcli.atomic import replace_file; replace_file(sys.argv[1], b'theirs')"
    subprocess.run([sys.executable, "-c", code, str(tmp_path / "kept")], check=True)
    writing.file.write(b"mine")
    writing.commit()
    assert (tmp_path / "kept").read_bytes() == b"mine"


@pytest.mark.parametrize("name", [".kept.tmp", ".kept.0123.tmp", ".kept.0123456789ab.tmp.old", "kept.0123456789ab.tmp",
                                  ".kept2.0123456789ab.tmp", ".kept.0123456789AB.tmp"])  # fmt: skip
def test_files_of_other_names_are_not_removed(name: str, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(b"the user's")
    replace_file(str(tmp_path / "kept"), b"new")
    assert (tmp_path / name).read_bytes() == b"the user's"


def test_a_symlink_or_a_folder_with_such_a_name_stays(tmp_path: Path) -> None:
    (tmp_path / "victim").write_bytes(b"the user's")
    (tmp_path / ".kept.0123456789ab.tmp").symlink_to(tmp_path / "victim")
    (tmp_path / ".kept.0123456789ac.tmp").mkdir()
    os.mkfifo(tmp_path / ".kept.0123456789ad.tmp")
    replace_file(str(tmp_path / "kept"), b"new")
    assert len(list(tmp_path.iterdir())) == 5


@pytest.mark.clock
def test_a_lock_is_free_again_when_its_holder_is_killed(tmp_path: Path) -> None:
    code = (
        "import sys, time; from tokcli.atomic import locked\n"
        "with locked(sys.argv[1], 1): print('held', flush=True); time.sleep(60)"
    )
    with subprocess.Popen([sys.executable, "-c", code, str(tmp_path / "lock")], stdout=subprocess.PIPE) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"held\n"
        began = time.monotonic()
        with locked(str(tmp_path / "lock"), 0.2):
            assert time.monotonic() - began >= 0.2  # it goes on without
        holder.kill()
    began = time.monotonic()
    with locked(str(tmp_path / "lock"), 30):
        assert time.monotonic() - began < 5


def test_where_no_lock_can_be_had_work_goes_on(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "missing")
    for path in (tmp_path / "link", tmp_path / "no" / "folder", tmp_path):
        with locked(str(path), 1):
            pass
