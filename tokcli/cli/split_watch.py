"""`split --watch`: a view again and again, whenever the pattern's file or an input changes, until Ctrl-C."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from tokcli.cli import streams
from tokcli.errors import InputError, TokcliError

POLL = 0.2  # seconds between two looks at the files
CLEAR = "\x1b[H\x1b[2J"  # the cursor to the corner, and the screen empty
SEPARATOR = "---\n"  # between two views where there is no screen

Seen = tuple[tuple[int, int] | None, ...]


def watch(given: dict[str, Any], show: Callable[[], None]) -> None:
    """Shows the view now and after every change; what is wrong is said and may be mended. Ends by Ctrl-C only."""
    names = watched(given)
    before: Seen | None = None
    while True:
        now = looked_at(names)
        if now != before:
            if given["output"] is None:
                separate(is_first=before is None)
            redraw(show)
            before = now
        time.sleep(POLL)


def watched(given: dict[str, Any]) -> list[str]:
    """The files to look at; InputError where there are none, or the input cannot be read twice."""
    names = [] if given["pattern_file"] is None else [given["pattern_file"]]
    if not given["lint"] and given["text"] is None:
        names += given["files"] or [streams.STANDARD_INPUT]
    if streams.STANDARD_INPUT in names:
        raise InputError("--watch reads the text again, and standard input comes once", "Name a FILE, or use -t.")
    if not names:
        raise InputError("--watch has no file to look at", "Name one with --pattern-file, or a FILE.")
    return names


def looked_at(names: Iterable[str]) -> Seen:
    """When each file changed last, and its size; None for one that is not there."""
    return tuple(_state(name) for name in names)


def _state(name: str) -> tuple[int, int] | None:
    try:
        found = Path(name).stat()
    except (OSError, ValueError):
        return None
    return found.st_mtime_ns, found.st_size


def separate(*, is_first: bool) -> None:
    """Empties the screen; where there is none, puts a line between two views."""
    if sys.stdout.isatty():
        sys.stdout.write(CLEAR)
    elif not is_first:
        sys.stdout.write(SEPARATOR)
    sys.stdout.flush()


def redraw(show: Callable[[], None]) -> None:
    """One view, or what is wrong."""
    try:
        show()
    except TokcliError as error:
        streams.print_error(error.what, error.hint)
