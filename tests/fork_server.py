"""Runs `tokcli` in forks of a process that has loaded it: most of what a short run takes is loading Python modules.

A run is a process of its own, with the standard streams, arguments, environment and folder that it is given, and ends as
the program does. It differs from one that a shell starts in what has been imported: tests of starting do not come here.
"""

from __future__ import annotations

import os
import pickle
import signal
import socket
import struct
import subprocess
import sys
import threading
from importlib import import_module
from pathlib import Path
from pkgutil import walk_packages

import tokcli

SECONDS = 60  # for a run: a limit against hanging
# what Python, coverage or the C library read before the program begins, and the choice of the backend
FIXED = ("PYTHON", "COV", "LC_", "LANG", "LD_", "MALLOC_", "GLIBC_", "TOKCLI_BACKEND")
HEAD = struct.Struct("q")  # a length, a process id, a status
LIBRARIES = ("filelock", "pathspec", "platformdirs", "regex", "rich.console", "rich.table", "rich.text")
# the program itself, what needs an extra, and the native module, which the backend may leave out
NOT_LOADED = ("tokcli.__main__", "tokcli.cluster", "tokcli.engine._native")


def fixed(environment: dict[str, str]) -> dict[str, str]:
    """Return the variables that a fork cannot change any more."""
    return {name: value for name, value in environment.items() if name.startswith(FIXED)}


class ForkServer:
    """The server of this process, which ends with it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._channel, theirs = socket.socketpair()
        self._environment = fixed(dict(os.environ))
        number = theirs.fileno()
        command, none = [sys.executable, __file__, str(number)], subprocess.DEVNULL
        self._process = subprocess.Popen(command, pass_fds=[number], stdin=none, stdout=none)
        theirs.close()

    def takes(self, environment: dict[str, str]) -> bool:
        """Return whether a run with this environment may be a fork."""
        return fixed(environment) == self._environment

    def run(
        self, arguments: tuple[str | bytes | Path, ...], data: bytes, environment: dict[str, str], folder: str | Path
    ) -> tuple[int, bytes, bytes]:
        """Return the status (below 0: the signal that ended it), standard output and standard error of a run."""
        ours, theirs = zip(*[(w, r) if i == 0 else (r, w) for i in range(3) for r, w in [os.pipe()]], strict=True)
        request = pickle.dumps(([os.fsencode(argument) for argument in arguments], environment, os.fspath(folder)))
        with self._lock:
            socket.send_fds(self._channel, [HEAD.pack(len(request))], theirs)
            for end in theirs:
                os.close(end)
            self._channel.sendall(request)
            pid = self._answer()
            killed = threading.Event()

            def kill() -> None:
                killed.set()
                os.kill(pid, signal.SIGKILL)

            late = threading.Timer(SECONDS, kill)
            late.start()
            said: list[bytes] = [b"", b""]

            def read(i: int) -> None:
                with os.fdopen(ours[i + 1], "rb") as stream:
                    said[i] = stream.read()

            readers = [threading.Thread(target=read, args=[i]) for i in (0, 1)]
            for reader in readers:
                reader.start()
            try:
                with os.fdopen(ours[0], "wb", buffering=0) as stream:
                    rest = memoryview(data)
                    while rest:
                        rest = rest[stream.write(rest) :]
            except BrokenPipeError:
                pass
            for reader in readers:
                reader.join()
            status = self._answer()
            late.cancel()
        if killed.is_set():
            raise subprocess.TimeoutExpired([str(argument) for argument in arguments], SECONDS)
        return status, said[0], said[1]

    def _answer(self) -> int:
        head = self._channel.recv(HEAD.size, socket.MSG_WAITALL)
        if len(head) < HEAD.size:
            raise RuntimeError(f"the fork server ended with status {self._process.wait(10)}")
        (number,) = HEAD.unpack(head)
        return int(number)


def serve(channel: socket.socket) -> None:
    """Fork for each request; returns in a fork, to run the program, and where nobody is left to ask."""
    for name in (*LIBRARIES, *(found.name for found in walk_packages(tokcli.__path__, "tokcli."))):
        if not name.startswith(NOT_LOADED):
            import_module(name)
    while True:
        head, fds, _, _ = socket.recv_fds(channel, HEAD.size, 3)
        if not head:
            os._exit(0)
        request = channel.recv(HEAD.unpack(head)[0], socket.MSG_WAITALL)
        pid = os.fork()
        if pid == 0:
            channel.close()
            become(fds, *pickle.loads(request))
            return
        for fd in fds:
            os.close(fd)
        channel.sendall(HEAD.pack(pid))
        channel.sendall(HEAD.pack(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])))


def become(fds: list[int], arguments: list[bytes], environment: dict[str, str], folder: str) -> None:
    """Take the streams, arguments, environment and folder of a request."""
    for target, fd in enumerate(fds):
        os.dup2(fd, target)
        os.close(fd)
    os.environ.clear()
    os.environ.update(environment)
    os.chdir(folder)
    sys.argv[1:] = [os.fsdecode(argument) for argument in arguments]


def server() -> ForkServer | None:
    """Return the server of this process; None where processes do not fork, or coverage is measured.

    Each fork would write down what all modules did when they were loaded: 1 s.
    """
    global _server
    is_measured = any(name.startswith("COVERAGE_PROCESS") for name in os.environ)
    if _server is None and hasattr(os, "fork") and not is_measured:
        _server = ForkServer()
    return _server


_server: ForkServer | None = None

if __name__ == "__main__":
    serve(socket.socket(fileno=int(sys.argv.pop())))
    from tokcli.__main__ import main

    main()
