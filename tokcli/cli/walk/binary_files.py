"""Which files in folders and lists are binary: those with a NUL near the beginning, as for ripgrep."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tokcli.cli.streams import Input

HEAD_BYTES = 1 << 16  # at the beginning of a file, which are searched for a NUL


def is_binary(source: Input, first: bytes) -> bool:
    """Return whether an input that begins with the bytes `first` is binary; one that is a FILE never is."""
    return (source.found_in is not None or source.is_listed) and b"\0" in first[:HEAD_BYTES]
