"""Runs `tokcli` in a process that dies, or whose disk is full, at a call that is told: no fork, since a test may have threads.

python dying.py replace-before:9 encode ...     os._exit(9) in place of the ninth os.replace; replace-after: after it
python dying.py fsync-full:10 encode ...        the tenth fsync of a file fails
"""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from pathlib import Path

SECONDS = 60  # a limit against hanging
DIED = 9


def status_of(arguments: list[str], fault: str = "", data: bytes | None = None) -> int:
    """Return the exit status of a run with a fault, and `data` on standard input (by default there is none)."""
    line = [sys.executable, __file__, fault, *arguments]
    kept = {name: value for name, value in os.environ.items() if not name.startswith("COV")}
    return subprocess.run(line, input=data or b"", env=kept, timeout=SECONDS, stderr=subprocess.DEVNULL).returncode


def patch(kind: str, number: int) -> None:
    """Let a call of the system, counted from 1, end this process or fail."""
    replace, sync, calls = os.replace, os.fsync, 0

    def replace_and_die(source: str, target: str) -> None:
        nonlocal calls
        calls += 1
        if calls == number and kind == "replace-before":
            os._exit(DIED)
        replace(source, target)
        if calls == number:
            os._exit(DIED)

    def sync_or_fail(fd: int) -> None:
        nonlocal calls
        calls += stat.S_ISREG(os.fstat(fd).st_mode)
        if calls == number:
            raise OSError(28, "No space left on device")
        sync(fd)

    if kind == "fsync-full":
        os.fsync = sync_or_fail
    else:
        os.replace = replace_and_die  # type: ignore[assignment]


if __name__ == "__main__":
    sys.path[:] = [path for path in sys.path if Path(path or ".").resolve() != Path(__file__).resolve().parent]
    from tokcli.cli.main import run

    fault, *arguments = sys.argv[1:]
    if fault:
        patch(fault.split(":")[0], int(fault.split(":")[1]))
    sys.exit(run(arguments))
