"""Reads the ranks of the registered encodings: the packed files in tokcli/vocab, or the published files.

Only what needs the dictionary of ranks, or builds its image, loads this module.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from types import ModuleType
from typing import TYPE_CHECKING

from tokcli.atomic import locked, replace_file
from tokcli.errors import VocabularyError
from tokcli.formats.gpt2 import parse_gpt2
from tokcli.formats.limits import read_regular_file
from tokcli.formats.packed_ranks import read_tables, unpack
from tokcli.formats.tiktoken import parse_tiktoken
from tokcli.registry.catalog import Entry
from tokcli.registry.folders import lock_path

if TYPE_CHECKING:
    from typing_extensions import Buffer

BUILD_S = 60.0  # a process that waits longer for another one builds for itself; building takes some 0.1 s


def read_shipped(path: str) -> dict[bytes, int]:
    """Return the mergeable_ranks in a packed file; raise VocabularyError if it is damaged."""
    return unpack(read_regular_file(path), path)


def read_published(entry: Entry, offline: bool) -> dict[bytes, int]:
    """Return the mergeable_ranks in the published files of an encoding, from a cache or the network.

    Raise NetworkError if they have to be downloaded and cannot be, or must not be (`offline`).
    """
    from tokcli.registry.network.cache import fetch  # 20 ms: hashlib, tempfile and urllib

    files = [fetch(source.url, source.sha256, offline=offline) for source in entry.sources]
    if len(files) == 1:
        return parse_tiktoken(files[0], entry.sources[0].url)
    merges, vocab = files
    return parse_gpt2(vocab, merges, entry.sources[1].url, entry.sources[0].url)[0]


def build_once(kept: str, sha256: str, find: Callable[[], Buffer | None], build: Callable[[], bytes]) -> Buffer:
    """Return what `find` finds in the file `kept`, or else build it and keep it; of many processes, one builds."""
    with locked(lock_path(sha256), BUILD_S):
        if (found := find()) is not None:  # another process built it while this one waited
            return found
        made = build()
        with suppress(OSError):
            replace_file(kept, made)
        return made


def build_image(path: str, sha256: bytes, native: ModuleType) -> bytes:
    """Return the native image of the ranks in a packed file that was made from ranks with this sha256.

    VocabularyError says that the file is damaged, or that it holds other ranks.
    """
    found = read_tables(read_regular_file(path), path)
    if found.sha256 != sha256:
        raise VocabularyError(f"{path}: these are not the ranks that the catalog names; the file is damaged")
    try:
        image: bytes = native.build_packed_image(found.body, found.lengths, found.packed_runs, found.lefts, sha256)
    except ValueError as error:
        raise VocabularyError(f"{path}: {error}") from None
    return image
