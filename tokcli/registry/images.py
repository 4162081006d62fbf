"""Builds the images of packed vocabularies and keeps them in the cache: for the first run with each.

That run waits for this, so what reads other files is not loaded here. A writer that is killed, a full disk and a file
that was lost with its machine only cost time: an image that is not intact is built again.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable
from contextlib import suppress
from itertools import chain
from types import ModuleType
from typing import TYPE_CHECKING

from tokcli.atomic import locked, replace_file
from tokcli.errors import VocabularyError
from tokcli.formats.limits import read_regular_file
from tokcli.formats.packed_ranks import read_tables
from tokcli.registry.folders import lock_path

if TYPE_CHECKING:
    from typing_extensions import Buffer

BUILD_S = 60.0  # a process that waits longer for another one builds for itself; building takes some 0.03 s


def build_once(kept: str, sha256: str, find: Callable[[], Buffer | None], build: Callable[[], bytes]) -> Buffer:
    """Return what `find` finds in the file `kept`, or else build it and keep it; of many processes, one builds."""
    with locked(lock_path(sha256), BUILD_S):
        if (found := find()) is not None:  # another process built it while this one waited
            return found
        made = build()
        with suppress(OSError):
            replace_file(kept, made, lasts=False)  # (each run checks all of an image before it uses it)
        return made


def build_image(path: str, sha256: bytes, native: ModuleType) -> bytes:
    """Return the native image of the ranks in a packed file that was made from ranks with this sha256.

    VocabularyError says that the file is damaged, or that it holds other ranks.
    """
    found = read_tables(read_regular_file(path), path)
    if found.sha256 != sha256:
        raise VocabularyError(f"{path}: these are not the ranks that the catalog names; the file is damaged")
    runs = array("I", chain.from_iterable(found.runs))
    try:
        image: bytes = native.build_packed_image(found.body, found.lengths, runs, found.lefts, sha256)
    except ValueError as error:
        raise VocabularyError(f"{path}: {error}") from None
    return image
