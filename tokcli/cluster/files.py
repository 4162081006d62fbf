"""Files for the tasks of a cluster, opened by fsspec: their sizes, and where their text can be cut.

Both the client and the workers read them, so a path has to mean the same to all of them.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import Any, BinaryIO

from tokcli.engine.tiktoken.native_encoder import FAMILY_OF
from tokcli.errors import InputError, TokcliError, not_loaded, reason_of

SLICE_BYTES = 32 << 20  # of a file that can be cut
_SEARCHED_BYTES = 1 << 16  # at a time
# Where the text of a known pattern can be cut, whatever is before and after it (as next_cut in native/scan.h).
_CUT = re.compile(rb"(?<=[!-~]) |(?<=[0-9A-Za-z])\n")


def can_cut(pat_str: str, special_tokens: Collection[str]) -> bool:
    """Return whether text under a pattern can be cut at `first_cut` without a change to its pieces."""
    return pat_str in FAMILY_OF and not any(set(token) & set(" \n") for token in special_tokens)


def first_cut(file: BinaryIO, at: int) -> int:
    """Return the first offset from `at` (above 0) on where text can be cut; the end of the file where there is none."""
    file.seek(at - 1)
    window, searched = b"", 1
    while block := file.read(_SEARCHED_BYTES):
        window += block
        if match := _CUT.search(window, searched):
            return at - 1 + match.start()
        searched = len(window)
    return at - 1 + len(window)


def size_of_url(url: str) -> int | None:
    """Return the size of a file or url in bytes, None if it is not known. InputError where it cannot be found."""
    try:
        files, path = _located(url)
        size = files.size(path)
    # no such file; no such protocol, or half a url; a file system without sizes; the package of a protocol is missing
    except (OSError, ValueError, NotImplementedError, ImportError) as error:
        raise InputError(reason_of(error), where=url) from None
    return None if size is None else int(size)


def opened_url(url: str) -> Any:
    """Return a file or url, opened for reading bytes; OSError where that is not possible."""
    try:
        files, path = _located(url)
        return files.open(path, "rb")
    except (ValueError, NotImplementedError, ImportError) as error:
        raise OSError(str(error)) from None


def _located(url: str) -> tuple[Any, str]:
    """Return the file system of a url, and the path in it."""
    try:
        import fsspec  # Dask installs it
    except ImportError as error:
        why, hint = not_loaded(error, "pip install 'tokcli[dask]'")
        raise TokcliError(f"a cluster needs fsspec, {why}", hint) from None
    files, path = fsspec.core.url_to_fs(url)
    return files, path
