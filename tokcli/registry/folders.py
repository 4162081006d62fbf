"""The place of the cache, and folders and files in it that belong to this user alone.

(Paths are strings: pathlib would cost every run 5 ms.)
"""

from __future__ import annotations

import mmap
import os
import stat
from contextlib import suppress

from tokcli.errors import reason_of

MAX_SHOWN = 80  # characters of a path of a thousand folders
MAX_READ_BYTES = 1 << 20  # larger files are mapped, not read
_POPULATE: int = getattr(mmap, "MAP_POPULATE", 0)  # Linux


class UntrustedError(OSError):
    """A folder must not be used as a cache, because it is not this user's alone; the text says which, and why."""


def cache_dir() -> str:
    """Return the cache folder, for what can be made again: TOKCLI_CACHE_DIR, or tokcli in the user's cache folder.

    It need not exist. For a user without a home, return "".
    """
    if named := os.environ.get("TOKCLI_CACHE_DIR"):
        return named.rstrip("/") or "/"  # with a slash at its end, the target of a symlink would be looked at
    if os.uname().sysname == "Linux":  # as platformdirs has it there; importing that takes 10 ms
        home = os.environ.get("XDG_CACHE_HOME", "").strip() or os.path.expanduser("~/.cache")
        return "" if home.startswith("~") else os.path.join(home, "tokcli")
    import platformdirs

    return platformdirs.user_cache_dir("tokcli", appauthor=False)


def private_dir(name: str) -> str:
    """Return the path of the folder `name` in the cache, made if it is missing, for this user alone (mode 0700).

    UntrustedError says that the folder or the cache folder is not this user's alone, OSError that it cannot be made or
    written.
    """
    root = cache_dir()
    if not root:
        raise OSError("no cache folder: the user has no home")
    try:
        os.makedirs(os.path.dirname(root) or ".", exist_ok=True)
        for folder in (root, os.path.join(root, name)):
            with suppress(FileExistsError):
                os.mkdir(folder, mode=0o700)
            check_trusted(folder, may_be_open=folder != root)
        os.chmod(folder, 0o700)
    except UntrustedError:
        raise
    except OSError as error:
        raise OSError(f"{root}: {reason_of(error)}") from None
    except RecursionError:  # os.makedirs calls itself for each folder
        raise OSError(f"{root[:MAX_SHOWN]}...: too many folders inside each other") from None
    if not os.access(folder, os.R_OK | os.W_OK | os.X_OK):
        raise OSError(f"{folder}: not writable")
    return folder


def check_trusted(folder: str, *, may_be_open: bool = False) -> None:
    """Raise UntrustedError unless a path is this user's folder, and, if not `may_be_open`, not open to all writers."""
    status = os.lstat(folder)
    if stat.S_ISLNK(status.st_mode):
        raise UntrustedError(f"{folder} is a symlink")
    if not stat.S_ISDIR(status.st_mode):
        raise UntrustedError(f"{folder} is not a folder")
    if status.st_uid != os.geteuid():
        raise UntrustedError(f"{folder} belongs to another user")
    if status.st_mode & stat.S_IWOTH and not may_be_open:
        raise UntrustedError(f"{folder} may be written by anybody (mode {stat.S_IMODE(status.st_mode):04o})")


def untrusted_cache() -> str:
    """Return why the cache folder cannot be trusted; "" if it can, or does not exist."""
    try:
        check_trusted(cache_dir())
    except UntrustedError as error:
        return str(error)
    except OSError:
        pass
    return ""


def lock_path(sha256: str) -> str:
    """Return the path of the lock file for what is made of a file with this SHA-256 (hex); "" if there can be none.

    There are at most 256 lock files: those whose SHA-256 begins alike share one.
    """
    try:
        return os.path.join(private_dir("locks"), sha256[:2])
    except OSError:
        return ""


def map_file(path: str) -> mmap.mmap | bytes | None:
    """Return the bytes of a regular file that belongs to this user; None for anything else, and for an empty file.

    A small file is read, so that nothing that happens to it later matters. A large one is mapped: reading 10 MB takes
    longer than all else that a short run does. All of its pages are made at once: it is checked as a whole.
    """
    try:
        handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
    except (OSError, ValueError):
        return None
    try:
        status = os.fstat(handle)
        if not stat.S_ISREG(status.st_mode) or status.st_uid != os.geteuid() or status.st_size == 0:
            return None
        if status.st_size <= MAX_READ_BYTES:
            return os.read(handle, status.st_size)
        return mmap.mmap(handle, 0, flags=mmap.MAP_SHARED | _POPULATE, prot=mmap.PROT_READ)
    except (OSError, ValueError):
        return None
    finally:
        os.close(handle)
