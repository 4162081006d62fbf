"""Interactive shells that a test types into, on a terminal of their own."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import termios
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

SECONDS = 60  # a limit against hanging
SHOW = "\x14"  # Ctrl-T: the shell is set up to show its line in these signs, and to forget it
_LINE = re.compile(r"<<(.*?)>>", re.DOTALL)
SHOWS_LINE = {
    "bash": """show() { printf '<''<%s>''>' "$READLINE_LINE"; READLINE_LINE=; }; bind -x '"\\C-t": show'""",
    "zsh": "show() { print -rn -- '<''<'$BUFFER'>''>'; BUFFER= }; zle -N show; bindkey '^T' show",
}


class Shell:
    """bash or zsh on a terminal of 40 lines and 300 columns, after the commands of `setup`."""

    def __init__(self, line: Sequence[str], setup: str, folder: Path, environment: Mapping[str, str]) -> None:
        self._master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 300, 0, 0))
        self._process = subprocess.Popen(
            line, stdin=slave, stdout=slave, stderr=slave, cwd=folder, env=environment, start_new_session=True
        )
        os.close(slave)
        self._shown = b""
        try:
            self._type(f" {SHOWS_LINE[Path(line[0]).name]}; {setup}; echo rea''dy\n")
            self._read_until(re.compile("ready"))
        except BaseException:
            self.close()
            raise

    def completed(self, keys: str, tabs: int = 1) -> str:
        """Return the line after these keys and a tab (or several)."""
        return self.shown(keys, tabs)[0]

    def shown(self, keys: str, tabs: int = 1) -> tuple[str, str]:
        """Return the line after these keys and tabs, and all that the shell has shown meanwhile."""
        self._shown = b""
        self._type(keys + "\t" * tabs + SHOW)
        return self._read_until(_LINE)[1], self._shown.decode("utf-8", "replace")

    def close(self) -> None:
        """End the shell."""
        os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait(SECONDS)
        os.close(self._master)

    def _type(self, keys: str) -> None:
        os.write(self._master, keys.encode())

    def _read_until(self, wanted: re.Pattern[str]) -> re.Match[str]:
        end = time.monotonic() + SECONDS
        while (found := wanted.search(self._shown.decode("utf-8", "replace"))) is None:
            assert time.monotonic() < end, self._shown
            if select.select([self._master], [], [], 0.1)[0]:
                self._shown += os.read(self._master, 4096)
        return found
