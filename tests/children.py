"""Children that a test has forked."""

from __future__ import annotations

import os
import signal
import time


def status_within(child: int, seconds: float) -> int | None:
    """Return the exit status of a child, minus the signal that ended it; None for one that is killed after some seconds."""
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        found, status = os.waitpid(child, os.WNOHANG)
        if found:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.001)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return None
