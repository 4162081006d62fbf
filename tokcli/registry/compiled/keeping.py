"""Keeps containers and records of files in the store's folder, within a limit on its size; store.py reads them."""

from __future__ import annotations

import os
from contextlib import AbstractContextManager, nullcontext, suppress
from typing import TYPE_CHECKING

from tokcli.atomic import locked, replace_file
from tokcli.registry.compiled import container as containers
from tokcli.registry.compiled.store import Store, status_of
from tokcli.registry.folders import lock_path

if TYPE_CHECKING:
    from tokcli.formats.sources import Sources

MAX_BYTES = 512 << 20  # of all that is kept: some 30 of the largest vocabularies
RACY_NS = 2_000_000_000  # a file that was changed so shortly before it was read may change again within the same tick
COMPILE_S = 120.0  # a process that waits longer for another one compiles for itself; that takes up to 5 s


def compiling(store: Store, sha256: str) -> AbstractContextManager[None]:
    """Return a lock so that only one of many processes compiles a container; a no-op if none can be kept."""
    kept = store.container(sha256)
    with suppress(OSError):
        if os.stat(kept).st_size == 0:
            return nullcontext()
    return locked(lock_path(sha256), COMPILE_S)


def keep(store: Store, sha256: str, block: bytes) -> None:
    """Write a container, and remove others until there is room for it; an empty one says that nothing is kept."""
    with suppress(OSError):
        _prune(store.folder, MAX_BYTES - len(block))
        replace_file(store.container(sha256), block)


def _prune(folder: str, most: int) -> None:
    """Remove the least recently used files until a folder holds at most `most` bytes."""
    held = []
    with os.scandir(folder) as items:
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


def remember(store: Store, path: str, sources: Sources, began: int) -> None:
    """Record which files were read at a path, from the time `began` on (nanoseconds since 1970).

    Nothing is recorded if a file was changed shortly before, or since.
    """
    path = os.path.abspath(path)
    files = {os.path.abspath(file): status_of(file) for file, _ in sources.files}
    for status in files.values():
        if status is None or max(status[3:]) > began - RACY_NS:
            return
    absent = {os.path.abspath(file): status_of(file) for file in sources.absent}
    if any(absent.values()):
        return
    with suppress(OSError, UnicodeError):
        block = containers.pack({"path": path, "sha256": sources.sha256, "files": {**files, **absent}}, {})
        replace_file(store.record(path), block, lasts=False)
