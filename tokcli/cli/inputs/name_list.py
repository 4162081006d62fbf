"""Lists of file names (--files0-from, --files-from): NULs or lines end them; bounded, and checked as they are read."""

from __future__ import annotations

import codecs
import os
from collections.abc import Iterable

from tokcli.errors import InputError

MAX_NAMES = 1_000_000  # held in memory: some 150 MB
MAX_NAME_BYTES = 4096  # the longest path that Linux takes


def names_in(blocks: Iterable[bytes], name: str, *, by_line: bool = False) -> list[str]:
    r"""Return the names in a list (`name`); InputError where one is empty or too long, or where there are too many.

    With `by_line`, a name is a line, which may end in CR LF; empty lines name nothing.

    >>> names_in([b"a b\nc\r\n", b"\nd"], "list", by_line=True)
    ['a b', 'c', 'd']
    """
    shown = "standard input" if name == "-" else name
    take, end = (_lines, b"\n") if by_line else (_checked, b"\0")
    names: list[bytes] = []
    rest = b""
    for block in blocks:
        *whole, rest = (rest + block).split(end)
        names += take(whole, rest, len(names), shown)
        _check_number(names, shown)
    if rest:
        names += take([rest], b"", len(names), shown)
        _check_number(names, shown)
    if by_line and names:
        names[0] = names[0].removeprefix(codecs.BOM_UTF8)
    if name == "-" and b"-" in names:
        raise InputError(
            "standard input holds the file names: - cannot be one of them", "Write ./- for a file of that name."
        )
    return [os.fsdecode(name) for name in names]


def _lines(lines: list[bytes], rest: bytes, before: int, shown: str) -> list[bytes]:
    """Return the names in lines, of which `before` were read before, and check the `rest` of the line that is read."""
    for line in (*lines, rest):
        if b"\0" in line:
            raise InputError("names are separated by NULs", "Read them with --files0-from.", where=shown)
    return _checked([line.removesuffix(b"\r") for line in lines if line.strip(b"\r")], rest, before, shown)


def _checked(names: list[bytes], rest: bytes, before: int, shown: str) -> list[bytes]:
    """Return the names after checking them, and the `rest`, the beginning of the next one."""
    if b"" in names:
        number = before + names.index(b"") + 1
        raise InputError(f"name {number} is empty", "Separate names by one NUL.", where=shown)
    for number, name in enumerate((*names, rest), before + 1):
        if len(name) > MAX_NAME_BYTES:
            raise InputError(
                f"name {number} has more than {MAX_NAME_BYTES} bytes",
                "Read names from lines with --files-from, or separate them by NULs, as `find -print0` does.",
                where=shown,
            )
    return names


def _check_number(names: list[bytes], shown: str) -> None:
    if len(names) > MAX_NAMES:
        raise InputError(f"more than {MAX_NAMES} names", "Split the list.", where=shown)
