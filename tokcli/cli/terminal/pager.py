"""The pager: a view that is taller than the terminal goes through $PAGER, any other output goes straight out.

Rows are handed on as they come, so that the first screen of a long view is there at once. Leaving the pager ends the
view without an error.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import TypeAlias

from tokcli.cli import streams
from tokcli.render.console import has_shapes, without_shapes
from tokcli.render.glyphs import cell_len

DEFAULT = "less"
CHARSET = "utf-8"  # what a view is written in, whatever the locale says
LESS = "FRX"  # as in git: quit if all fits on one screen, pass colours through, leave the view on the screen
# FSI and PDI, written by tokcli only: `visible` replaces those in the data. Pagers show them as <U+2068>.
ISOLATES = tuple(char.encode() for char in "\u2068\u2069")
_COLOURS = re.compile(rb"\x1b\[[0-9;]*m")


class _Left(Exception):
    """The user left the pager before all was shown."""


class Screen:
    """An output whose rows are counted: when there are more than the screen holds, a pager gets them all."""

    def __init__(self, output: streams.Output, command: list[str], size: os.terminal_size) -> None:
        self._output, self._command, self._size = output, command, size
        self._rows = 0
        self._held: list[bytes] | None = [] if command else None  # None: no row is held back
        self._pager: subprocess.Popen[bytes] | None = None
        self._has_shapes = has_shapes(os.environ, is_coerced=bool(sys.flags.utf8_mode))
        self.is_terminal = output.is_terminal

    def write(self, data: bytes) -> None:
        """Show bytes that end with a newline; _Left if the user has left the pager."""
        if not self._has_shapes:
            data = without_shapes(data)
        if self._pager is not None:
            self._to_pager(data)
        elif self._held is None:
            self._output.write(data)
        else:
            self._held.append(data)
            self._rows += rows_of(data, self._size.columns)
            if self._rows >= self._size.lines:
                self._start()

    def flush(self) -> None:
        """Flush what was written, unless it is held back until it is known whether a pager is needed."""
        if self._held is None and self._pager is None:
            self._output.flush()

    def finish(self) -> None:
        """Show the rows that are held back, or wait until the user leaves the pager."""
        held, self._held = self._held, None
        if self._pager is None:
            self._output.write(b"".join(held or ()))
            self._output.flush()
            return
        with _interrupts_ignored():
            if self._pager.stdin is not None:
                with suppress(OSError):
                    self._pager.stdin.close()
            self._pager.wait()

    def _start(self) -> None:
        held, self._held = b"".join(self._held or ()), None
        environment = {"LESS": LESS, "LESSCHARSET": CHARSET} | os.environ
        self._output.flush()
        try:
            self._pager = subprocess.Popen(self._command, stdin=subprocess.PIPE, bufsize=0, env=environment)
        except OSError:  # there is no such pager: the terminal scrolls
            self._output.write(held)
        else:
            self._to_pager(held)

    def _to_pager(self, data: bytes) -> None:
        pipe = self._pager.stdin if self._pager is not None else None
        for isolate in ISOLATES:
            data = data.replace(isolate, b"")
        rest = memoryview(data)
        try:
            while rest and pipe is not None:
                rest = rest[pipe.write(rest) :]
        except OSError:  # also where it could not even start
            raise _Left from None


ShownOn: TypeAlias = streams.Output | Screen  # an output, or the pager over it


@contextmanager
def paged(output: streams.Output, *, wanted: bool = True) -> Iterator[Screen]:
    """Yield a screen over an output, with a pager if `wanted`; the block ends when the user leaves the pager."""
    screen = Screen(output, command(output) if wanted else [], _size())
    try:
        with suppress(_Left):
            yield screen
    finally:
        screen.finish()


def command(output: streams.Output) -> list[str]:
    """Return the pager's command as a list of words; an empty list where no pager is to be used."""
    if not output.is_terminal or os.environ.get("TERM") in ("dumb", "unknown"):
        return []
    try:
        words = shlex.split(os.environ.get("PAGER", DEFAULT))
    except ValueError:  # an unmatched quote
        return []
    return [] if words == ["cat"] else words


def rows_of(data: bytes, columns: int) -> int:
    r"""Return how many rows of a screen with `columns` cells some lines take, without colour escape sequences.

    >>> rows_of("\x1b[1mfour\x1b[0m\n日本語\n\n".encode(), 4)
    4
    """
    lines = _COLOURS.sub(b"", data).decode("utf-8", "replace").split("\n")
    return sum(max(-(-cell_len(line) // max(columns, 1)), 1) for line in lines[:-1])


def _size() -> os.terminal_size:
    """Return the size of the terminal, or what COLUMNS and LINES say."""
    return shutil.get_terminal_size()


@contextmanager
def _interrupts_ignored() -> Iterator[None]:
    """Leave Ctrl-C to the pager while it runs."""
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
