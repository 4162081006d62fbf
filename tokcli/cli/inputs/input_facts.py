"""What is known about inputs before they are read: sizes, times, and whether they are read as they are."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Iterator

from tokcli.cli import streams
from tokcli.cluster.files import opened_url, size_of_url


def is_url(source: streams.Input) -> bool:
    """Return whether an input is not a file of this machine but a url that fsspec opens."""
    return source.opens is opened_url


def status_of(source: streams.Input) -> os.stat_result | None:
    """Return the status of an input's file, as `os.stat` gives it; None if it is not a regular file."""
    return None if is_url(source) else source.status()


def changed_at(source: streams.Input) -> int | None:
    """Return when a file was changed last, in nanoseconds; None where there is no such file."""
    return None if (status := status_of(source)) is None else status.st_mtime_ns


def size_of(source: streams.Input) -> int | None:
    """Return the number of bytes that an input holds; None where that is not known: of a pipe, or what is converted."""
    if source.data is not None:
        return len(source.data)
    status = status_of(source)
    return None if status is None or is_converted(source) else status.st_size


def size_on_disk(source: streams.Input) -> int | None:
    """Return the number of bytes of an input, compressed or not; None for standard input, pipes and devices.

    InputError for a file that is missing or cannot be opened.
    """
    if source.data is not None:
        return len(source.data)
    if is_url(source):
        return size_of_url(source.name)
    if source.name == streams.STANDARD_INPUT:  # where it begins is not known
        return None
    status = status_of(source)
    if status is None and not _is_stream(source.name):
        with source.opened():  # names what is missing, and what may not be read
            return None
    return None if status is None else status.st_size


def _is_stream(path: str) -> bool:
    """Return whether a path is that of a pipe or a device: whoever opens a pipe and closes it ends what is written."""
    try:
        mode = os.stat(path).st_mode
    except (OSError, ValueError):
        return False
    return stat.S_ISFIFO(mode) or stat.S_ISCHR(mode)


def is_converted(source: streams.Input) -> bool:
    """Return whether an input is not read as it is, but decompressed, or from UTF-16 or UTF-32 to UTF-8."""
    if source.data is not None or (source.as_is and source.errors in (None, "bytes")):
        return False
    head = next(source.replace(as_is=True, errors=None).blocks(max(map(len, streams.CONVERTED))), b"")
    is_compressed = not source.as_is and head.startswith(streams.COMPRESSED)
    return is_compressed or (source.errors not in (None, "bytes") and head.startswith(streams.MARKS))


def between(blocks: Iterable[bytes], begin: int, end: int | None) -> Iterator[bytes]:
    """Yield the bytes from `begin` to `end` of a stream, or to its end if `end` is None."""
    at = 0
    for block in blocks:
        part = block[max(begin - at, 0) : None if end is None else max(end - at, 0)]
        at += len(block)
        if part:
            yield part
        if end is not None and at >= end:
            return
