"""The folder of containers in the cache, each under the SHA-256 of the file that it was compiled from.

A file that was read before is recognised by its status, as in git's index (device, inode, size, times), or else by its
bytes. Whatever is wrong with the folder only costs time: the file is read again.
"""

from __future__ import annotations

import os
import time
import zlib
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING

from tokcli.engine import backend
from tokcli.registry.compiled import container as containers
from tokcli.registry.compiled.opening import opened
from tokcli.registry.folders import map_file, private_dir

if TYPE_CHECKING:
    from tokcli.engine.text_tokenizer import TextTokenizer
    from tokcli.registry.lazy_ranks import LazyRanks

FOLDER = "compiled"  # in the cache folder
VERSION = 21  # of the containers, and of the rules by which ranks give a tokenizer's ids
USED_S = 86_400  # the time of a container's last use is known to within so many seconds


class Store:
    """The folder of containers (SHA256.VERSION) and of records of files (HASH.file)."""

    def __init__(self, folder: str) -> None:
        self.folder, native = folder, backend.code()
        self._version = f"{VERSION}-{native.IMAGE_VERSION}-{native.TEXT_IMAGE_VERSION}"

    @classmethod
    def open(cls) -> Store | None:
        """Return the store; None if its folder cannot be used, or there is no native code, for which containers are."""
        try:
            return cls(private_dir(FOLDER)) if backend.is_native() else None
        except OSError:
            return None

    def container(self, sha256: str) -> str:
        """Return the path of the container for the files with this SHA-256."""
        return os.path.join(self.folder, f"{sha256}.{self._version}")

    def record(self, path: str) -> str:
        """Return the path of the record of the files that were read at a path."""
        data = os.fsencode(path)
        return os.path.join(self.folder, f"{zlib.crc32(data):08x}{zlib.adler32(data):08x}.file")

    def load(
        self, sha256: str, path: str, again: Callable[[], LazyRanks | TextTokenizer]
    ) -> LazyRanks | TextTokenizer | None:
        """Return the vocabulary of the container for the files with this SHA-256; None if there is none.

        `path` names the file in messages, and `again` reads it.
        """
        kept = self.container(sha256)
        block = map_file(kept)
        container = None if block is None else containers.unpack(memoryview(block))
        found = None if container is None else opened(container, sha256, path, again)
        if found is not None:
            with suppress(OSError):
                if os.stat(kept).st_mtime < time.time() - USED_S:
                    os.utime(kept)
        return found

    def known(self, path: str) -> str | None:
        """Return the SHA-256 of the files at a path if they are unchanged since they were read; None if unsure."""
        path = os.path.abspath(path)
        block = map_file(self.record(path))
        container = None if block is None else containers.unpack(memoryview(block))
        header = {} if container is None else container.header
        sha256, files = header.get("sha256"), header.get("files")
        if header.get("path") != path or type(sha256) is not str or not sha256.isalnum() or type(files) is not dict:
            return None
        is_same = files and all(status_of(name) == status for name, status in files.items())
        return sha256 if is_same else None


def status_of(path: str | os.PathLike[str]) -> list[int] | None:
    """Return what changes when a file does: its device, inode, size, mtime and ctime; None if there is no file."""
    try:
        status = os.stat(path)
    except (OSError, ValueError):
        return None
    return [status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns]
