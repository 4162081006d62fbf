"""The folder of containers in the cache, each under the SHA-256 of the file that it was compiled from.

A file that was read before is recognised by its status, as in git's index (device, inode, size, times), or else by its
bytes. Whatever is wrong with the folder only costs time: the file is read again.
"""

from __future__ import annotations

import os
import time
import zlib
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext, suppress
from typing import TYPE_CHECKING, Any

from tokcli.atomic import locked, replace_file
from tokcli.registry.compiled import container as containers
from tokcli.registry.compiled.container import Origin, fits, is_text
from tokcli.registry.compiled.kinds.all_kinds import opened
from tokcli.registry.folders import lock_path, map_file, private_dir

if TYPE_CHECKING:
    from types import ModuleType

    from tokcli.engine.text_tokenizer import TextTokenizer
    from tokcli.formats.sources import Sources
    from tokcli.registry.lazy_ranks import LazyRanks

FOLDER = "compiled"  # in the cache folder
VERSION = 9  # of the containers, and of the rules by which a tokenizer has a shortcut
MAX_BYTES = 512 << 20  # of all that is kept: some 30 of the largest vocabularies
RACY_NS = 2_000_000_000  # a file that was changed so shortly before it was read may change again within the same tick
COMPILE_S = 120.0  # a process that waits longer for another one compiles for itself; that takes up to 5 s
USED_S = 86_400  # the time of a container's last use is known to within so many seconds


class Store:
    """The folder of containers (SHA256.VERSION), of learned rules beside them, and of records of files (HASH.file)."""

    def __init__(self, folder: str, native: ModuleType) -> None:
        self._folder = folder
        self._version = f"{VERSION}-{native.IMAGE_VERSION}-{native.TEXT_IMAGE_VERSION}"

    @classmethod
    def open(cls, native: ModuleType) -> Store | None:
        """Return the store; None if its folder cannot be used."""
        try:
            return cls(private_dir(FOLDER), native)
        except OSError:
            return None

    def _container(self, sha256: str) -> str:
        return os.path.join(self._folder, f"{sha256}.{self._version}")

    def rules(self, sha256: str) -> str:
        """Return the path of the rules that are learned for the vocabulary with this SHA-256."""
        return f"{self._container(sha256)}.rules"

    def _record(self, path: str) -> str:
        data = os.fsencode(path)
        return os.path.join(self._folder, f"{zlib.crc32(data):08x}{zlib.adler32(data):08x}.file")

    def load(
        self, sha256: str, path: str, again: Callable[[], LazyRanks | TextTokenizer]
    ) -> LazyRanks | TextTokenizer | None:
        """Return the vocabulary of the container for the files with this SHA-256; None if there is none.

        `path` names the file in messages, and `again` reads it.
        """
        kept = self._container(sha256)
        block = map_file(kept)
        container = None if block is None else containers.unpack(memoryview(block))
        found = None if container is None else opened(container, sha256, Origin(path, again, self.rules(sha256)))
        if found is not None:
            with suppress(OSError):
                if os.stat(kept).st_mtime < time.time() - USED_S:
                    os.utime(kept)
        return found

    def compiling(self, sha256: str) -> AbstractContextManager[None]:
        """Return a lock so that only one of many processes compiles a container; a no-op if none can be kept."""
        kept = self._container(sha256)
        with suppress(OSError):
            if os.stat(kept).st_size == 0:
                return nullcontext()
        return locked(lock_path(sha256), COMPILE_S)

    def keep(self, sha256: str, block: bytes) -> None:
        """Write a container, and remove others until there is room for it; an empty one says that nothing is kept."""
        with suppress(OSError):
            self._prune(MAX_BYTES - len(block))
            replace_file(self._container(sha256), block)

    def _prune(self, most: int) -> None:
        """Remove the least recently used files until the folder holds at most `most` bytes."""
        held = []
        with os.scandir(self._folder) as items:
            for item in items:
                status = item.stat(follow_symlinks=False)
                held.append((status.st_mtime_ns, status.st_size, item.path))
        size = sum(item[1] for item in held)
        for _, bytes_held, path in sorted(held):
            if size <= most:
                return
            with suppress(OSError):
                os.unlink(path)
            size -= bytes_held

    def known(self, path: str) -> str | None:
        """Return the SHA-256 of the files at a path if they are unchanged since they were read; None if unsure."""
        path = os.path.abspath(path)
        block = map_file(self._record(path))
        container = None if block is None else containers.unpack(memoryview(block))
        if container is None or not fits(container.header, _RECORD) or container.header["path"] != path:
            return None
        if any(_status(name) != status for name, status in container.header["files"].items()):
            return None
        sha256: str = container.header["sha256"]
        return sha256

    def remember(self, path: str, sources: Sources, began: int) -> None:
        """Record which files were read at a path, from the time `began` on (nanoseconds since 1970).

        Nothing is recorded if a file was changed shortly before, or since.
        """
        path = os.path.abspath(path)
        files = {os.path.abspath(file): _status(file) for file, _ in sources.files}
        for status in files.values():
            if status is None or max(status[3:]) > began - RACY_NS:
                return
        absent = {os.path.abspath(file): _status(file) for file in sources.absent}
        if any(absent.values()):
            return
        with suppress(OSError, UnicodeError):
            block = containers.pack({"path": path, "sha256": sources.sha256, "files": {**files, **absent}}, {})
            replace_file(self._record(path), block, lasts=False)


def _is_status(value: Any) -> bool:
    return value is None or (type(value) is list and len(value) == 5 and all(type(item) is int for item in value))


_RECORD = {
    "path": is_text,
    "sha256": lambda v: type(v) is str and len(v) == 64 and v.isalnum(),
    "files": lambda v: type(v) is dict and bool(v) and all(map(_is_status, v.values())),
}


def _status(path: str | os.PathLike[str]) -> list[int] | None:
    """Return what changes when a file does: its device, inode, size, mtime and ctime; None if there is no file."""
    try:
        status = os.stat(path)
    except (OSError, ValueError):
        return None
    return [status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns]
