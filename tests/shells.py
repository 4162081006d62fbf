"""Interactive shells that a test types into, on a terminal of their own."""

from __future__ import annotations

import os
import pty
import select
import signal
import subprocess
import time
from pathlib import Path

SECONDS = 60  # a limit against hanging


def typed(line: list[str], setup: str, keys: str, expected: str, folder: Path, environment: dict[str, str]) -> str:
    """Return what an interactive shell shows after `setup` and `keys` and a tab, until `expected` is there."""
    master, slave = pty.openpty()
    shell = subprocess.Popen(
        line, stdin=slave, stdout=slave, stderr=slave, cwd=folder, env=environment, start_new_session=True
    )
    os.close(slave)
    shown = b""

    def read_until(wanted: bytes) -> None:
        nonlocal shown
        end = time.monotonic() + SECONDS
        while wanted not in shown and time.monotonic() < end:
            if select.select([master], [], [], 0.1)[0]:
                try:
                    shown += os.read(master, 4096)
                except OSError:
                    return

    try:
        os.write(master, f"{setup}; echo rea''dy\n".encode())
        read_until(b"ready")
        shown = b""
        os.write(master, keys.encode() + b"\t")
        read_until(expected.encode())
    finally:
        os.killpg(shell.pid, signal.SIGKILL)
        shell.wait(SECONDS)
        os.close(master)
    return shown.decode("utf-8", "replace")
