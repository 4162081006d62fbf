"""Files that were downloaded, kept under their sha256 and checked by it whenever they are read.

The cache only ever saves time: where its folder cannot be trusted or written, the run goes on without it.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from tokcli.errors import NetworkError, VocabularyError
from tokcli.formats.limits import MAX_FILE_BYTES, read_regular_file
from tokcli.registry.download import download, is_offline, shown_url, timeout_from_environment
from tokcli.registry.folders import UnusableError, cache_dir, check_owner, private_dir

if TYPE_CHECKING:
    from tokcli.registry.download import Progress

DOWNLOADS = "downloads"  # the folder in the cache folder; others hold what is compiled


def fetch(
    url: str,
    sha256: str,
    *,
    offline: bool = False,
    note: Callable[[str], None] | None = None,
    progress: Progress | None = None,
) -> bytes:
    """The file at `url` with this sha256 (hex): from tiktoken's cache or ours, else downloaded and kept.

    However many processes ask at once, one of them downloads. `note` is told why a cache is not used. NetworkError
    where it must be downloaded and cannot be, or may not (`offline`, TOKCLI_OFFLINE).
    """
    if (data := _from_tiktoken_cache(url, sha256)) is not None:
        return data
    try:
        folder = Path(private_dir(DOWNLOADS))
    except OSError as error:
        readable = _read_only(sha256)
        if readable is not None:
            return readable
        if note is not None:
            note(f"the cache is not used: {error}")
        return _download(url, sha256, offline, progress)
    path = folder / sha256
    if (data := read_kept(path, sha256)) is not None:
        return data
    if offline or is_offline():
        return _download(url, sha256, True, progress)
    return _fetch_once(url, sha256, path, note, progress)


def _fetch_once(
    url: str, sha256: str, path: Path, note: Callable[[str], None] | None, progress: Progress | None
) -> bytes:
    """Downloads under a lock into the cache, unless another process has done so in the meantime."""
    import filelock

    lock = filelock.FileLock(path.with_name(path.name + ".lock"), mode=0o600)
    try:
        # Whoever holds the lock downloads for at most this long.
        lock.acquire(timeout=timeout_from_environment())
    except (OSError, NotImplementedError):  # filelock.Timeout is an OSError; no locks on some file systems
        return _download(url, sha256, False, progress)
    try:
        if (data := read_kept(path, sha256)) is not None:
            return data
        data = _download(url, sha256, False, progress)
        try:
            write_whole(path, data)
        except OSError as error:
            if note is not None:
                note(f"{path} is not kept: {(error.strerror or str(error)).lower()}")
        return data
    finally:
        lock.release()


def _download(url: str, sha256: str, offline: bool, progress: Progress | None) -> bytes:
    if offline or is_offline():
        raise NetworkError(
            f"{shown_url(url)}: not here, and the network may not be used",
            "Leave out --offline and TOKCLI_OFFLINE once, or name a file.",
        )
    return download(url, sha256, progress=progress)


def read_kept(path: Path, sha256: str) -> bytes | None:
    """A file of the cache; None where it is missing, damaged, a symlink, or another user's."""
    data = read_own(path, MAX_FILE_BYTES)
    return data if data is not None and hashlib.sha256(data).hexdigest() == sha256 else None


def read_own(path: Path, limit: int) -> bytes | None:
    """The same for a file whose sha256 nobody knows."""
    try:
        return read_regular_file(path, limit, follow=False) if path.lstat().st_uid == os.geteuid() else None
    except (OSError, VocabularyError):
        return None


def _read_only(sha256: str) -> bytes | None:
    """A file of a cache that is ours but cannot be written."""
    root = cache_dir()
    folder = os.path.join(root, DOWNLOADS)  # noqa: PTH118 - folders.py is without pathlib
    try:
        check_owner(root)
        check_owner(folder)
    except (OSError, UnusableError):
        return None
    return read_kept(Path(folder, sha256), sha256)


def write_whole(path: Path, data: bytes) -> None:
    """Puts a file in its place whole or not at all, in the place of whatever stood there."""
    handle, temporary = tempfile.mkstemp(prefix=path.name[:16] + "-", suffix=".part", dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        Path(temporary).replace(path)
    except BaseException:
        with suppress(OSError):
            Path(temporary).unlink()
        raise
    folder = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def _from_tiktoken_cache(url: str, sha256: str) -> bytes | None:
    """The file in the cache that tiktoken was told to use, under the sha1 of its url, if it is what it should be."""
    folder = os.environ.get("TIKTOKEN_CACHE_DIR", os.environ.get("DATA_GYM_CACHE_DIR", ""))
    if not folder:
        return None
    path = Path(folder) / hashlib.sha1(url.encode(), usedforsecurity=False).hexdigest()
    try:
        data = read_regular_file(path)
    except VocabularyError:
        return None
    return data if hashlib.sha256(data).hexdigest() == sha256 else None
