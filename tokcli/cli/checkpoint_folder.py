"""The folder of a checkpoint: a hidden subfolder of DIR, made by tokcli, with a marker that is locked while in use.

Nothing outside this folder is opened, moved or removed, and nothing in it but files with tokcli's names. What the files
contain is left to `train --checkpoint` and `encode --shards`.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import re
import stat
import time
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from tokcli.atomic import lock_at_once, replace_file
from tokcli.errors import SHORTAGES, InputError, OutputError, VocabularyError, reason_of
from tokcli.formats.limits import read_regular_file
from tokcli.formats.strict_json import parse_json_strictly

if TYPE_CHECKING:
    from tokcli.cli.streams import Input

NAME = ".tokcli-checkpoint"  # hidden, so that `train -r DIR --checkpoint DIR` does not read it
MARKER = "MARKER"
MADE_PARENT = b"It made the folder above as well.\n"
MAX_MARKER_BYTES = 4096
STATE = "state.json"
MAX_STATE_BYTES = 1 << 20  # the digests of a plan, and the names of at most MAX_RUNS files of a training
PAUSE_S = 0.02
FILES_AT_ONCE = 3  # the locked marker, a file that is read or written, and the spare one
ATTEMPTS = 10  # to open the folder, which another run may lock, or remove as it ends, at the same time


class Work(NamedTuple):
    """A kind of work that can be resumed: its option that takes DIR, its name in messages, and a regex of file names.

    `version` is that of the format of the files; `state.json`, one of them, holds it beside the state of the work.
    """

    option: str
    name: str
    ours: re.Pattern[str]
    version: int

    @property
    def marker(self) -> bytes:
        """The text of the marker, for whoever finds the folder."""
        return f"tokcli {self.option} made this folder, and removes it when the {self.name} ends.\n".encode()


TRAINING = Work(
    "train --checkpoint",
    "training",
    re.compile(r"run-[a-z0-9_]{8}\.counts|state\.json|tokens|\.(?:state\.json|tokens)\.[0-9a-f]{12}\.tmp"),
    2,  # 1 kept its files in DIR itself, beside those of the user
)


class CheckpointFolder:
    """A checkpoint's subfolder of DIR, locked from `open` to `close`; OutputError where it cannot be used."""

    def __init__(self, parent: str, work: Work = TRAINING) -> None:
        self._parent = Path(parent)
        self.path = self._parent / NAME
        self._work = work
        self._spare = ExitStack()  # an open file; closed where the folder is removed, which takes one

    def open(self) -> None:
        """Make the folder where there is none, and lock it; InputError where another process has locked it."""
        with self.naming_errors():
            self._reserve()
            is_new = not self._parent.exists()
            self._parent.mkdir(parents=True, exist_ok=True)
            for _ in range(ATTEMPTS):
                with suppress(FileNotFoundError):  # the other process has ended, and removed the folder
                    self._make(self._work.marker + MADE_PARENT * is_new)
                    if self._lock_marker():
                        return
        raise InputError(
            f"another {self._work.name} is using this checkpoint",
            "Wait until it has ended, or name another DIR.",
            where=str(self._parent),
        )

    def _reserve(self) -> None:
        """Open the spare file; OSError, before anything is made, where too few files may be open for the rest."""
        with ExitStack() as others:
            for stack in (*[others] * (FILES_AT_ONCE - 1), self._spare):
                stack.callback(os.close, os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC))

    def _lock_marker(self) -> bool:
        """Lock the marker; return False if another process has locked it, or has removed or replaced it."""
        path = self.path / MARKER
        self._lock = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
        try:
            if not lock_at_once(self._lock):
                time.sleep(PAUSE_S)  # the process that has locked it may be about to end
            elif os.path.samestat(path.lstat(), os.fstat(self._lock)):
                return True
        except FileNotFoundError:
            pass
        except OSError:  # a file system without locks
            return True
        self.close()
        return False

    def close(self) -> None:
        """Unlock the folder."""
        self._spare.close()
        os.close(self._lock)

    def _make(self, marker: bytes) -> None:
        try:
            self.path.mkdir(mode=0o700)
        except FileExistsError:
            self._check()
        with suppress(FileExistsError), (self.path / MARKER).open("xb") as file:  # another process may make it first
            try:
                file.write(marker)
                file.flush()
            except OSError:
                with suppress(OSError):  # somebody has put a file into it
                    (self.path / MARKER).unlink()
                    self.path.rmdir()
                    if MADE_PARENT in marker:
                        self._parent.rmdir()
                raise

    def _check(self) -> None:
        """Raise InputError unless tokcli made the folder: for a link, another user's, or other files without marker."""
        status = self.path.lstat()
        is_ours = stat.S_ISDIR(status.st_mode) and status.st_uid == os.geteuid()
        if is_ours:
            names = {path.name for path in self.path.iterdir()}
            is_ours = self._is_file(MARKER) if MARKER in names else all(map(self._work.ours.fullmatch, names))
        if not is_ours:
            raise InputError("not a folder that tokcli made", "Remove it, or name another DIR.", where=str(self.path))

    def _is_file(self, name: str) -> bool:
        try:
            return stat.S_ISREG((self.path / name).lstat().st_mode)
        except FileNotFoundError:
            return False

    def holds(self, path: str) -> bool:
        """Return whether a path leads into the folder."""
        return Path(os.path.realpath(path)).is_relative_to(os.path.realpath(self.path))

    def read(self, name: str, limit: int) -> bytes | None:
        """Return a file's content; None if it is missing, InputError if not a regular file of up to `limit` bytes."""
        if not os.path.lexists(self.path / name):
            return None
        try:
            return read_regular_file(self.path / name, limit, follow=False)
        except VocabularyError as error:
            raise self.damaged(f"{name}: {error.what}") from None

    def write(self, name: str, data: bytes) -> None:
        """Write a file atomically."""
        with self.naming_errors():
            replace_file(str(self.path / name), data)

    def write_state(self, state: dict[str, Any]) -> None:
        """Write a state to `state.json`, with its version and a checksum."""
        state = {"version": self._work.version, **state}
        self.write(STATE, _canonical({**state, "sha256": digest_of(_canonical(state))}))

    def read_state(self) -> dict[str, Any] | None:
        """Return the state that was written; None if there is none, InputError if changed or of another version."""
        data = self.read(STATE, MAX_STATE_BYTES)
        if data is None:
            return None
        try:
            state = parse_json_strictly(data, STATE)
            is_whole = isinstance(state, dict) and state.pop("sha256", None) == digest_of(_canonical(state))
        except VocabularyError as error:
            raise self.damaged(str(error)) from None
        except RecursionError:
            is_whole = False
        if not is_whole:
            raise self.damaged(f"{STATE} has changed since it was written")
        if (version := state.pop("version", None)) != self._work.version:
            raise self.damaged(f"{STATE} has version {version!r:.20}, not {self._work.version}")
        found: dict[str, Any] = state
        return found

    def refuse_other(self, plan: dict[str, str], found: dict[str, Any]) -> None:
        """Raise InputError if `found`, the checkpoint's plan, is not `plan`: digests of the options and inputs."""
        if found != plan:
            changed = [key for key in plan if found.get(key) != plan[key]]
            raise InputError(
                f"the checkpoint belongs to another {self._work.name} ({', '.join(changed) or 'other options'})",
                f"Remove the folder, name another DIR, or repeat the options of that {self._work.name}.",
                where=str(self.path),
            )

    def is_run(self, name: str) -> bool:
        """Return whether a name is that of a counts file in this folder."""
        return name.endswith(".counts") and self._work.ours.fullmatch(name) is not None and self._is_file(name)

    def sync(self, name: str) -> None:
        """Sync the content of a file to disk."""
        with self.naming_errors():
            number = os.open(self.path / name, os.O_RDONLY)
            try:
                os.fsync(number)
            finally:
                os.close(number)

    def remove_all_but(self, names: Iterable[str]) -> None:
        """Remove all of tokcli's files but these: leftovers of a killed run, and files that have been merged."""
        kept = {*names, MARKER}
        with self.naming_errors():
            for path in list(self.path.iterdir()):
                if path.name not in kept and self._work.ours.fullmatch(path.name) and self._is_file(path.name):
                    path.unlink()

    def remove(self, first: str) -> None:
        """Remove the folder, unless it holds files of somebody else, and DIR, too, if `open` made it.

        `first`, the file that names the others, is removed first: if the process dies then, they are mere leftovers.
        """
        self._spare.close()
        made_parent = MADE_PARENT in os.pread(self._lock, MAX_MARKER_BYTES, 0)
        with self.naming_errors():
            (self.path / first).unlink(missing_ok=True)
        self.remove_all_but(())
        with self.naming_errors():
            (self.path / MARKER).unlink(missing_ok=True)
        with suppress(OSError):  # there are files of the user in it
            self.path.rmdir()
            if made_parent:
                self._parent.rmdir()

    def damaged(self, why: str) -> InputError:
        """Return the error for a folder whose files are not as tokcli wrote them."""
        return InputError(f"not a valid checkpoint: {why}", "Remove the folder, or name another DIR.",
                          where=str(self.path))  # fmt: skip

    @contextmanager
    def naming_errors(self) -> Iterator[None]:
        """Turn OSError into an OutputError that names the file, or else the folder."""
        try:
            yield
        except OutputError:
            raise
        except OSError as error:
            where = os.fsdecode(getattr(error, "filename", None) or self.path)
            raise OutputError(reason_of(error), hint_about(error), where=where) from None


def hint_about(error: OSError) -> str:
    """Return what to do about an error of a folder in which a run can go on."""
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return "Free some space, and run the same command again."
    return "" if error.errno in (*SHORTAGES, errno.EFBIG) else "Name another DIR."


def digest_of(data: bytes) -> str:
    """Return the SHA-256 (hex) of some bytes."""
    return hashlib.sha256(data).hexdigest()


def digest_of_text(source: Input) -> str | None:
    """Return the SHA-256 (hex) of the text of --text; None for a file."""
    return None if source.data is None else digest_of(source.data)


def plan_of(values: dict[str, Any]) -> dict[str, str]:
    """Return a digest of each value: enough to tell one plan from another without storing the values."""
    return {key: digest_of(json.dumps(value).encode()) for key, value in values.items()}


def _canonical(state: dict[str, Any]) -> bytes:
    return json.dumps(state, sort_keys=True).encode()
