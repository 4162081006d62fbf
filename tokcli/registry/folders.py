"""Where the cache is, and folders in it that are ours alone. Without pathlib, which costs every run 5 ms."""

from __future__ import annotations

import os
import stat
from contextlib import suppress


class UnusableError(Exception):
    """Why a cache folder is not used."""


def cache_dir() -> str:
    """Where tokcli keeps what it can make again: TOKCLI_CACHE_DIR, or the user's cache folder. It need not exist."""
    if named := os.environ.get("TOKCLI_CACHE_DIR"):
        return named
    if os.uname().sysname == "Linux":  # what platformdirs says there, without the 10 ms of importing it
        home = os.environ.get("XDG_CACHE_HOME", "").strip()
        return os.path.join(home or os.path.expanduser("~/.cache"), "tokcli")
    import platformdirs

    return platformdirs.user_cache_dir("tokcli", appauthor=False)


def private_dir(name: str) -> str:
    """The folder `name` in the cache, made where it is missing, ours alone (0700).

    OSError, saying why, where it cannot be used: it or the cache folder belongs to another user, is a symlink or no
    folder, or cannot be written.
    """
    root = cache_dir()
    try:
        os.makedirs(os.path.dirname(root) or ".", exist_ok=True)
        for folder in (root, os.path.join(root, name)):
            with suppress(FileExistsError):
                os.mkdir(folder, mode=0o700)
            check_owner(folder)
        os.chmod(folder, 0o700)
    except UnusableError as error:
        raise OSError(f"{folder} {error}") from None
    except OSError as error:
        raise OSError(f"{root}: {(error.strerror or str(error)).lower()}") from None
    if not os.access(folder, os.R_OK | os.W_OK | os.X_OK):
        raise OSError(f"{folder}: not writable")
    return folder


def check_owner(folder: str) -> None:
    """UnusableError where a folder is not one, is a symlink, or belongs to another user."""
    status = os.lstat(folder)
    if stat.S_ISLNK(status.st_mode):
        raise UnusableError("is a symlink")
    if not stat.S_ISDIR(status.st_mode):
        raise UnusableError("is not a folder")
    if status.st_uid != os.geteuid():
        raise UnusableError("belongs to another user")
