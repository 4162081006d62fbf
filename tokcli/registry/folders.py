"""Where the cache is, and folders in it that are ours alone."""

from __future__ import annotations

import os
import stat
from contextlib import suppress
from pathlib import Path


class UnusableError(Exception):
    """Why a cache folder is not used."""


def cache_dir() -> Path:
    """Where tokcli keeps what it can make again: TOKCLI_CACHE_DIR, or the user's cache folder. It need not exist."""
    if named := os.environ.get("TOKCLI_CACHE_DIR"):
        return Path(named)
    if os.uname().sysname == "Linux":  # what platformdirs says there, without the 10 ms of importing it
        home = os.environ.get("XDG_CACHE_HOME", "").strip()
        return (Path(home) if home else Path("~/.cache").expanduser()) / "tokcli"
    import platformdirs

    return Path(platformdirs.user_cache_dir("tokcli", appauthor=False))


def private_dir(name: str) -> Path:
    """The folder `name` in the cache, made where it is missing, ours alone (0700).

    OSError, saying why, where it cannot be used: it or the cache folder belongs to another user, is a symlink or no
    folder, or cannot be written.
    """
    root = cache_dir()
    try:
        root.parent.mkdir(parents=True, exist_ok=True)
        for folder in (root, root / name):
            with suppress(FileExistsError):
                folder.mkdir(mode=0o700)
            check_owner(folder)
        folder.chmod(0o700)
    except UnusableError as error:
        raise OSError(f"{folder} {error}") from None
    except OSError as error:
        raise OSError(f"{root}: {(error.strerror or str(error)).lower()}") from None
    if not os.access(folder, os.R_OK | os.W_OK | os.X_OK):
        raise OSError(f"{folder}: not writable")
    return folder


def check_owner(folder: Path) -> None:
    """UnusableError where a folder is not one, is a symlink, or belongs to another user."""
    status = folder.lstat()
    if stat.S_ISLNK(status.st_mode):
        raise UnusableError("is a symlink")
    if not stat.S_ISDIR(status.st_mode):
        raise UnusableError("is not a folder")
    if status.st_uid != os.geteuid():
        raise UnusableError("belongs to another user")
