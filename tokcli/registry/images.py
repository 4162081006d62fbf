"""Vocabulary images of what ships with the package: built once, kept in the cache, mapped into memory afterwards.

Only time is lost where the cache cannot be used: the image is then built in memory, every time.
"""

from __future__ import annotations

import mmap
import os
import stat
from contextlib import suppress
from types import ModuleType
from typing import Any

from tokcli.engine import backend
from tokcli.errors import VocabularyError
from tokcli.registry.folders import private_dir

IMAGES = "images"  # the folder in the cache folder


def load_image(path: str, sha256: str) -> Any:
    """The image (a buffer) of a packed vocabulary, made from ranks with this sha256.

    VocabularyError where the file is damaged or another one, ValueError without the native backend.
    """
    native = backend.native()
    if native is None:
        raise ValueError("there is no native backend")
    source = bytes.fromhex(sha256)
    try:
        kept = os.path.join(private_dir(IMAGES), f"{source.hex()}.{native.IMAGE_VERSION}")
    except OSError:
        return _build(path, source, native)
    if (found := _image_in(kept, source, native)) is not None:
        return found
    image = _build(path, source, native)
    with suppress(OSError):
        keep(kept, image)
    return image


def _build(path: str, source: bytes, native: ModuleType) -> bytes:
    from array import array
    from itertools import chain

    from tokcli.formats.limits import read_regular_file
    from tokcli.formats.packed import tables

    found = tables(read_regular_file(path), path)
    if found.sha256 != source:
        raise VocabularyError(f"{path}: not the ranks that the catalog names; it is damaged")
    ids = array("I", chain.from_iterable(range(first, first + count) for count, first in found.runs))
    try:
        image: bytes = native.build_image(found.body, found.lengths, ids, source)
    except ValueError as error:
        raise VocabularyError(f"{path}: {error}") from None
    return image


def _image_in(path: str, source: bytes, native: ModuleType) -> mmap.mmap | None:
    """The image in a file of ours, if it is whole and of this source; None for anything else."""
    image = mapped(path)
    if image is None:
        return None
    try:
        vocabulary = native.Vocabulary(image)
    except ValueError:
        return None
    return image if vocabulary.source() == source and vocabulary.verify() else None


def mapped(path: str) -> mmap.mmap | None:
    """The bytes of a file that is ours; None for anything else."""
    try:
        handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
    except (OSError, ValueError):
        return None
    try:
        status = os.fstat(handle)
        if not stat.S_ISREG(status.st_mode) or status.st_uid != os.geteuid() or status.st_size == 0:
            return None
        return mmap.mmap(handle, 0, access=mmap.ACCESS_READ)
    except (OSError, ValueError):
        return None
    finally:
        os.close(handle)


def keep(path: str, data: bytes, *, lasts: bool = True) -> None:
    """Writes the file whole or not at all; of processes that do it at once, any one may win.

    Not `lasts`: it is no loss where a crash of the machine takes it. (Waiting for the disk can take a second.)
    """
    made = f"{path}.{os.getpid()}.tmp"  # no tempfile: importing it costs 4 ms
    handle = os.open(made, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    try:
        with open(handle, "wb") as file:
            file.write(data)
            file.flush()
            if lasts:
                os.fsync(file.fileno())
        os.replace(made, path)
    except BaseException:
        with suppress(OSError):
            os.unlink(made)
        raise
