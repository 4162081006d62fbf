"""Single keys from a POSIX terminal, for views that wait between their steps."""

from __future__ import annotations

import os
import signal
import sys
import termios
import tty
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from tokcli.errors import InputError

_QUIT = frozenset(b"qQ\x04")


@contextmanager
def reading_keys() -> Iterator[Callable[[], bool]]:
    """Yield a function that waits for a key and returns whether to go on.

    Keys come from standard input where that is a terminal, else (as that is the text) from the terminal of the process.
    The terminal's settings are restored at the end, and before SIGTERM ends the program.
    """
    own = None if sys.stdin is not None and sys.stdin.isatty() else _open_terminal()
    terminal = sys.stdin.fileno() if own is None else own
    before = termios.tcgetattr(terminal)

    def key() -> bool:
        pressed = os.read(terminal, 64)
        return bool(pressed) and pressed[0] not in _QUIT

    def leave(number: int, _: object) -> None:
        termios.tcsetattr(terminal, termios.TCSANOW, before)
        signal.signal(number, signal.SIG_DFL)
        signal.raise_signal(number)

    handler = signal.signal(signal.SIGTERM, leave)
    try:
        tty.setcbreak(terminal)
        yield key
    finally:
        termios.tcsetattr(terminal, termios.TCSADRAIN, before)
        signal.signal(signal.SIGTERM, handler)
        if own is not None:
            os.close(own)


def _open_terminal() -> int:
    try:
        return os.open("/dev/tty", os.O_RDWR | os.O_NOCTTY)
    except OSError:
        raise InputError("--step waits for keys, and there is no terminal that could send them") from None
