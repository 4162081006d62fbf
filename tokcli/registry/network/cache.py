"""Files that were downloaded, kept under their SHA-256, which is checked whenever they are read.

The cache only ever saves time: where its folder cannot be trusted or written, the run goes on without it.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from pathlib import Path

from tokcli.atomic import locked, replace_file
from tokcli.errors import OfflineError, VocabularyError, reason_of
from tokcli.formats.limits import MAX_FILE_BYTES, read_regular_file
from tokcli.registry.folders import cache_dir, check_trusted, private_dir
from tokcli.registry.network.answers import Progress
from tokcli.registry.network.download import download, is_offline, timeout_from_environment
from tokcli.registry.network.urls import shown_url

DOWNLOADS = "downloads"  # the folder in the cache folder


def fetch(
    url: str,
    sha256: str,
    *,
    offline: bool = False,
    note: Callable[[str], None] | None = None,
    progress: Progress | None = None,
) -> bytes:
    """Return the file at `url` with this SHA-256 (hex) from tiktoken's cache or ours, or download and keep it.

    Of many processes that ask at once, one downloads. `note` is told why a cache is not used. A file that has to be
    downloaded and cannot be, or must not be (`offline`, TOKCLI_OFFLINE), raises NetworkError.
    """
    if (data := _from_tiktoken_cache(url, sha256)) is not None:
        return data
    try:
        folder = Path(private_dir(DOWNLOADS))
    except OSError as error:
        if (data := _from_read_only_cache(sha256)) is not None:
            return data
        if note is not None:
            note(f"the cache is not used: {error}")
        return _download(url, sha256, offline, progress)
    path = folder / sha256
    if (data := read_kept(path, sha256)) is not None:
        return data
    if offline or is_offline():
        return _download(url, sha256, True, progress)
    with locked(f"{path}.lock", timeout_from_environment()):  # as long as a download may take
        if (data := read_kept(path, sha256)) is not None:  # another process downloaded it while this one waited
            return data
        data = _download(url, sha256, False, progress)
        try:
            replace_file(os.fspath(path), data)
        except OSError as error:
            if note is not None:
                note(f"{path} is not kept: {reason_of(error)}")
        return data


def _download(url: str, sha256: str, offline: bool, progress: Progress | None) -> bytes:
    if offline or is_offline():
        raise OfflineError(
            f"{shown_url(url)}: not in the cache, and the network may not be used",
            "Run once without offline mode (TOKCLI_OFFLINE), or name a file.",
        )
    return download(url, sha256, progress=progress)


def read_kept(path: Path, sha256: str) -> bytes | None:
    """Return a file of the cache; None if it is missing, damaged, a symlink, or another user's."""
    data = read_own(path, MAX_FILE_BYTES)
    return data if data is not None and hashlib.sha256(data).hexdigest() == sha256 else None


def read_own(path: Path, limit: int) -> bytes | None:
    """Return a file of at most `limit` bytes that belongs to this user; None if there is none, or it is a symlink."""
    try:
        return read_regular_file(path, limit, follow=False) if path.lstat().st_uid == os.geteuid() else None
    except (OSError, VocabularyError):
        return None


def _from_read_only_cache(sha256: str) -> bytes | None:
    """Return a file of a cache that belongs to this user but cannot be written; None if the file is not there."""
    folder = Path(cache_dir(), DOWNLOADS)
    try:
        check_trusted(os.fspath(folder.parent))
        check_trusted(os.fspath(folder))
    except OSError:
        return None
    return read_kept(folder / sha256, sha256)


def tiktoken_cache_path(url: str) -> Path | None:
    """Return the path at which tiktoken caches a url: its SHA-1 in the folder TIKTOKEN_CACHE_DIR or DATA_GYM_CACHE_DIR.

    None means that neither variable names a folder.
    """
    folder = os.environ.get("TIKTOKEN_CACHE_DIR", os.environ.get("DATA_GYM_CACHE_DIR", ""))
    return Path(folder) / hashlib.sha1(url.encode(), usedforsecurity=False).hexdigest() if folder else None


def _from_tiktoken_cache(url: str, sha256: str) -> bytes | None:
    """Return the file of a url in tiktoken's cache; None if it is missing, or has another SHA-256."""
    path = tiktoken_cache_path(url)
    if path is None:
        return None
    try:
        data = read_regular_file(path)
    except VocabularyError:
        return None
    return data if hashlib.sha256(data).hexdigest() == sha256 else None
