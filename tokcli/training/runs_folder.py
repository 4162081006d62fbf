"""A folder for runs (sorted counts files) among the temporary files of the system, locked while it is in use.

A training removes what killed ones have left there: folders with the name of such a folder that belong to this user,
are not locked, and hold nothing but runs.
"""

from __future__ import annotations

import fcntl
import os
import pathlib
import re
import stat
import tempfile
from contextlib import suppress

PREFIX = ".tokcli-runs-"
RUN_PREFIX, RUN_SUFFIX = "run-", ".counts"
_FOLDER = re.compile(re.escape(PREFIX) + "[0-9a-f]{12}")
_RUN = re.compile(RUN_PREFIX + "[a-z0-9_]{8}" + re.escape(RUN_SUFFIX))


class RunsFolder:
    """A new folder in the one that TMPDIR names; OSError where it cannot be made."""

    def __init__(self) -> None:
        parent = pathlib.Path(tempfile.gettempdir())
        for path in parent.glob(f"{PREFIX}*"):
            if _FOLDER.fullmatch(path.name):
                with suppress(OSError):
                    _remove_abandoned(path)
        while True:
            self.path = parent / f"{PREFIX}{os.urandom(6).hex()}"
            self.path.mkdir(mode=stat.S_IRWXU)
            self._lock = -1
            try:
                self._lock = _lock(self.path)
            except (FileNotFoundError, BlockingIOError):
                continue  # another process took it for one that was left behind
            except OSError:
                return  # a file system without locks: nobody removes abandoned folders there, either
            if os.fstat(self._lock).st_nlink:
                return
            os.close(self._lock)

    def close(self) -> None:
        """Remove the folder and the runs in it."""
        with suppress(OSError):  # a thread may still be writing a run: the next training removes it
            _remove(self.path)
        if self._lock >= 0:
            os.close(self._lock)


def new_run(folder: pathlib.Path) -> tuple[int, pathlib.Path]:
    """Make a new file for a run in a folder; return its descriptor, open for writing, and its path."""
    number, name = tempfile.mkstemp(prefix=RUN_PREFIX, suffix=RUN_SUFFIX, dir=folder)
    return number, pathlib.Path(name)


def _lock(folder: pathlib.Path) -> int:
    """Return a descriptor that holds the lock on a folder; BlockingIOError where another process holds it."""
    number = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        fcntl.flock(number, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BaseException:
        os.close(number)
        raise
    return number


def _remove_abandoned(folder: pathlib.Path) -> None:
    number = _lock(folder)
    try:
        if os.fstat(number).st_uid == os.geteuid():
            _remove(folder)
    finally:
        os.close(number)


def _remove(folder: pathlib.Path) -> None:
    """Remove a folder and its runs, if it holds nothing but runs."""
    runs = list(folder.iterdir())
    if all(_RUN.fullmatch(run.name) and stat.S_ISREG(run.lstat().st_mode) for run in runs):
        for run in runs:
            run.unlink()
        folder.rmdir()
