"""Lists of file names (--files0-from): NUL-separated, bounded, and checked as they are read."""

from __future__ import annotations

import os
from collections.abc import Iterable

from tokcli.errors import InputError

MAX_NAMES = 1_000_000  # held in memory: some 150 MB
MAX_NAME_BYTES = 4096  # the longest path that Linux takes


def names_in(blocks: Iterable[bytes], name: str) -> list[str]:
    """Return the names in a list (`name`); InputError where one is empty or too long, or where there are too many."""
    shown = "standard input" if name == "-" else name
    names: list[bytes] = []
    rest = b""
    for block in blocks:
        *whole, rest = (rest + block).split(b"\0")
        _check_names(whole, rest, len(names), shown)
        names += whole
    if rest:
        _check_names([rest], b"", len(names), shown)
        names.append(rest)
    if name == "-" and b"-" in names:
        raise InputError(
            "standard input holds the file names: - cannot be one of them", "Write ./- for a file of that name."
        )
    return [os.fsdecode(name) for name in names]


def _check_names(names: list[bytes], rest: bytes, before: int, shown: str) -> None:
    if b"" in names:
        number = before + names.index(b"") + 1
        raise InputError(f"name {number} is empty", "Separate names by one NUL.", where=shown)
    for number, name in enumerate((*names, rest), before + 1):
        if len(name) > MAX_NAME_BYTES:
            raise InputError(
                f"name {number} has more than {MAX_NAME_BYTES} bytes",
                "Separate names by NULs, as `find -print0` and `git ls-files -z` do.",
                where=shown,
            )
    if before + len(names) > MAX_NAMES:
        raise InputError(f"more than {MAX_NAMES} names", "Split the list.", where=shown)
