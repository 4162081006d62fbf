"""Atomic replacement of files: a new file is written beside the old one, and then takes its name.

A file that is open already, under a name such as /dev/stdout, is not replaced: `open_file_at` tells which those are.
A writer locks its new file while it writes, so that a later writer can recognise and remove what a killed one left.
What is written, and where, is up to the caller. Errors are those of the operating system (OSError).
"""

from __future__ import annotations

import atexit
import fcntl
import os
import re
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from io import BufferedWriter, FileIO
from typing import BinaryIO

PRIVATE = 0o600  # the mode of a file that nobody else may read
SUFFIX = ".tmp"  # of a file that is not complete yet
_NAME_CHARACTERS = 48  # of the final name, with which the temporary name begins
_BUFFER_BYTES = 1 << 16  # as much as a pipe holds
_LOCK_PAUSE_S = 0.02
_MAX_LINKS = 40  # from one name to another, as Linux follows them
_TEMPORARY = r"\.[0-9a-f]{12}" + re.escape(SUFFIX) + r"\Z"  # compiled where a folder is swept: most runs write none
_left_in: dict[str, list[str]] = {}  # by folder: the temporary files in it when this process first wrote there
_unfinished: dict[str, int] = {}  # temporary files neither in place nor removed: the id of the process that made them


def open_file_at(path: str) -> int | None:
    """Return the number of our open file that a path such as /dev/stdout or /dev/fd/3 names, or None."""
    for _ in range(_MAX_LINKS):
        folder, name = os.path.split(path)
        if re.fullmatch("[0-9]{1,9}", name) and os.path.realpath(folder) in (f"/proc/{os.getpid()}/fd", "/dev/fd"):
            return int(name)
        try:
            path = os.path.join(folder, os.readlink(path))
        except (OSError, ValueError):
            return None
    return None


def is_temporary(name: str) -> bool:
    """Return whether `name` is that of a file that is being written, or was left behind by a killed writer."""
    return name.endswith(SUFFIX) and re.search(_TEMPORARY, name) is not None


class Replacement:
    """A new file that is to replace `path`: `commit` puts it in place, `discard` removes it.

    If `path` is a symlink, the link itself is replaced. The file has `mode` from the beginning. With `lasts`, the data
    and the new name are on the disk when `commit` returns; without it, the file may be lost if the machine crashes
    (waiting for the disk can take a second).
    """

    def __init__(self, path: str, *, mode: int = PRIVATE, lasts: bool = True) -> None:
        self._path, self._lasts = path, lasts
        self._folder, name = os.path.split(path)
        self._lock = -1
        opened, self._temporary = _new_file(self._folder, name)
        try:
            self._lock = os.dup(opened.fileno())  # the lock is held until this, too, is closed
            if mode != PRIVATE:
                os.fchmod(opened.fileno(), mode)
            self.file: BinaryIO = BufferedWriter(opened, _BUFFER_BYTES)
        except BaseException:
            opened.close()
            self._unlock()
            _remove_unfinished(self._temporary)
            raise

    def finish(self) -> None:
        """Write out the file and close it, so that only the renaming is left; do nothing if it is closed already."""
        if not self.file.closed:
            self.file.flush()
            if self._lasts:
                os.fsync(self.file.fileno())
            self.file.close()

    def commit(self) -> None:
        """Give the file its final name, replacing any file of that name."""
        self.finish()
        os.replace(self._temporary, self._path)
        _unfinished.pop(self._temporary, None)
        self._temporary = ""
        self._unlock()
        if self._lasts:
            _sync_folder(self._folder)

    def discard(self) -> None:
        """Remove what was written; do nothing after `commit`."""
        with suppress(OSError, ValueError):
            self.file.close()
        if self._temporary:
            _remove_unfinished(self._temporary)
        self._unlock()

    def _unlock(self) -> None:
        lock, self._lock = self._lock, -1  # in this order: Ctrl-C between them must not have it closed twice
        if lock >= 0:
            os.close(lock)


def replace_file(path: str, data: bytes | memoryview, *, mode: int = PRIVATE, lasts: bool = True) -> None:
    """Replace the file at `path`, if any, by one with `data`; of processes that do so at once, any one may win."""
    made = Replacement(path, mode=mode, lasts=lasts)
    try:
        made.file.write(data)
        made.commit()
    finally:
        made.discard()


def new_file_mode() -> int:
    """Return the mode that a new file gets under the umask."""
    mask = os.umask(0o077)
    os.umask(mask)
    return 0o666 & ~mask


def _new_file(folder: str, name: str) -> tuple[FileIO, str]:
    """Create and lock a file with an unused name; return it and its path. (`tempfile` takes 3 ms to import.)"""
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW
    begins = f".{name[:_NAME_CHARACTERS]}."
    _sweep(folder, begins)
    while True:
        path = os.path.join(folder, f"{begins}{os.urandom(6).hex()}{SUFFIX}")
        _unfinished[path] = os.getpid()  # entered before the file is made: Ctrl-C may come before anyone holds it
        with suppress(FileExistsError):
            opened = FileIO(path, "xb", opener=lambda name, _: os.open(name, flags, PRIVATE))
            with suppress(OSError):  # some file systems have no locks; there, nobody removes abandoned files either
                fcntl.flock(opened, fcntl.LOCK_EX)
            if os.fstat(opened.fileno()).st_nlink:
                return opened, path
            opened.close()  # another process took it for one that was left behind
        del _unfinished[path]


def _remove_unfinished(path: str) -> None:
    with suppress(OSError):
        os.unlink(path)
    _unfinished.pop(path, None)


@atexit.register
def remove_unfinished() -> None:
    """Remove the files of this process that were never finished: a signal may end a writer before it can do so."""
    for path, process in list(_unfinished.items()):
        if process == os.getpid():  # a forked child leaves those of its parent
            _remove_unfinished(path)


def _sweep(folder: str, begins: str) -> None:
    """Remove the temporary files whose names start with `begins` and that killed processes of this user left.

    Files that are still being written are locked, and stay. The folder is listed once per process: it may have very
    many files.
    """
    if folder not in _left_in:
        with suppress(OSError), os.scandir(folder or ".") as items:
            _left_in[folder] = [item.name for item in items if is_temporary(item.name)]
    for name in _left_in.get(folder, ()):
        if name.startswith(begins) and re.match(_TEMPORARY, name[len(begins) - 1 :]):
            with suppress(OSError):
                _remove_abandoned(os.path.join(folder, name))


def _remove_abandoned(path: str) -> None:
    """Remove a file if it is a regular file of this user; OSError where it is locked, a symlink or missing."""
    number = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
    try:
        status = os.fstat(number)
        if stat.S_ISREG(status.st_mode) and status.st_uid == os.geteuid():
            fcntl.flock(number, fcntl.LOCK_EX | fcntl.LOCK_NB)
            os.unlink(path)
    finally:
        os.close(number)


@contextmanager
def locked(path: str, seconds: float) -> Iterator[None]:
    """Hold the lock file at `path`, so that one process at a time does work whose result the others can then use.

    A process that has waited for `seconds`, or cannot lock (some file systems have no locks), goes on without the
    lock. The file stays; the system unlocks it when the process ends, however it ends.
    """
    try:
        number = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK, PRIVATE)
    except OSError:
        yield
        return
    try:
        deadline = time.monotonic() + seconds
        with suppress(OSError):
            while not lock_at_once(number) and time.monotonic() < deadline:
                time.sleep(_LOCK_PAUSE_S)
        yield
    finally:
        os.close(number)


def lock_at_once(number: int) -> bool:
    """Lock an open file if nobody else has; return whether that worked. OSError where its file system has no locks."""
    try:
        fcntl.flock(number, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _sync_folder(folder: str) -> None:
    """Write the names in a folder to the disk, where the system can open folders and the file system can do so."""
    with suppress(OSError):
        number = os.open(folder or ".", os.O_RDONLY)
        try:
            os.fsync(number)
        finally:
            os.close(number)
