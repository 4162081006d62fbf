"""Which files hold columns: Parquet and Arrow files, told by their first bytes. `columns.py` reads them."""

from __future__ import annotations

import os

PARQUET, ARROW = b"PAR1", b"ARROW1"  # the first bytes of such files


def holds_columns(path: str) -> bool:
    """Return whether a path is that of a Parquet or Arrow file; not if it cannot be read: whoever reads it says why."""
    try:
        if not os.path.isfile(path):  # noqa: PTH113 - the name may be no valid text
            return False
        with open(path, "rb", buffering=0) as file:  # noqa: PTH123 - the name may be no valid text
            return file.read(len(ARROW)).startswith((PARQUET, ARROW))
    except (OSError, ValueError):
        return False
