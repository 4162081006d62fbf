"""Which files hold columns (Parquet, and Arrow's files and streams), by their first bytes. `columns.py` reads them."""

from __future__ import annotations

import os

from tokcli.errors import SHORTAGES

PARQUET, ARROW = b"PAR1", b"ARROW1"  # the first bytes of such files
STREAM = b"\xff" * 4  # those of a stream of Arrow's messages; the length of the first message follows
LENGTH_BYTES, ALIGNED = 4, 8  # of a length, little-endian and signed; what it is a multiple of


def holds_columns(path: str) -> bool:
    """Return whether a path is that of a Parquet or Arrow file; not if it cannot be read: whoever reads it says why.

    OSError where no file can be opened: then nothing is known about this one.
    """
    try:
        if not os.path.isfile(path):  # the name may be no valid text
            return False
        with open(path, "rb", buffering=0) as file:  # the name may be no valid text
            head = file.read(len(STREAM) + LENGTH_BYTES)
    except ValueError:  # a NUL in the name
        return False
    except OSError as error:
        if error.errno in SHORTAGES:
            raise
        return False
    return columns_in(head) is not None


def columns_in(head: bytes) -> str | None:
    r"""Return what a file that begins with these bytes is; None for one that is no file of columns.

    >>> columns_in(b"PAR1\x15"), columns_in(b"{}\n")
    ('a Parquet file', None)
    """
    if head.startswith(PARQUET):
        return "a Parquet file"
    if head.startswith(ARROW):
        return "an Arrow file"
    length = int.from_bytes(head[len(STREAM) : len(STREAM) + LENGTH_BYTES], "little", signed=True)
    return "an Arrow stream" if head.startswith(STREAM) and length > 0 and length % ALIGNED == 0 else None
