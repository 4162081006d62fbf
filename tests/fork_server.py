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
from collections.abc import Callable, Sequence
from importlib import import_module
from pathlib import Path
from pkgutil import walk_packages

import tokcli

SECONDS = 60  # for a run: a limit against hanging
# what Python, coverage or the C library read before the program begins
FIXED = ("PYTHON", "COV", "LC_", "LANG", "LD_", "MALLOC_", "GLIBC_")
Arguments = Sequence[str | bytes | Path]
HEAD = struct.Struct("q")  # a length, a process id, a status
LIBRARIES = ("platformdirs", "regex", "rich.console", "rich.table", "rich.text")
# the program itself, what needs an extra, and the native module, which the backend may leave out
NOT_LOADED = (
    "tokcli.__main__",
    "tokcli.cluster",
    "tokcli.chat_templates.sandbox",
    "tokcli.chat_templates.template_process",
    "tokcli.engine._native",
)


def fixed(environment: dict[str, str]) -> dict[str, str]:
    """Return the variables that a fork cannot change any more."""
    return {name: value for name, value in environment.items() if name.startswith(FIXED)}


class ForkServer:
    """The server of this process, which ends with it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._channel, theirs = socket.socketpair()
        number = theirs.fileno()
        command, none = [sys.executable, __file__, str(number)], subprocess.DEVNULL
        self._process = subprocess.Popen(command, pass_fds=[number], stdin=none, stdout=none)
        theirs.close()

    def run(
        self, arguments: Arguments, data: bytes, environment: dict[str, str], folder: str | Path
    ) -> tuple[int, bytes, bytes]:
        """Return the status (below 0: the signal that ended it), standard output and standard error of a run."""
        ours, theirs = zip(*[(w, r) if i == 0 else (r, w) for i in range(3) for r, w in [os.pipe()]], strict=True)
        said: list[bytes] = [b"", b""]

        def read(i: int) -> None:
            with os.fdopen(ours[i + 1], "rb") as stream:
                said[i] = stream.read()

        def talk() -> None:
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

        status = self.run_on(theirs, talk, arguments, environment, folder)
        return status, said[0], said[1]

    def run_on(
        self,
        streams: Sequence[int],
        talk: Callable[[], None],
        arguments: Arguments,
        environment: dict[str, str],
        folder: str | Path,
    ) -> int:
        """Run with these three standard streams, which are closed here, and return the status.

        What is called in the meantime writes and reads their other ends until they are closed.
        """
        request = pickle.dumps(([os.fsencode(argument) for argument in arguments], environment, os.fspath(folder)))
        with self._lock:
            socket.send_fds(self._channel, [HEAD.pack(len(request))], streams)
            for end in streams:
                os.close(end)
            self._channel.sendall(request)
            pid = self._answer()
            killed = threading.Event()

            def kill() -> None:
                killed.set()
                os.kill(pid, signal.SIGKILL)

            late = threading.Timer(SECONDS, kill)
            late.start()
            talk()
            status = self._answer()
            late.cancel()
        if killed.is_set():
            raise subprocess.TimeoutExpired([str(argument) for argument in arguments], SECONDS)
        return status

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


def server(environment: dict[str, str]) -> ForkServer | None:
    """Return the server of this process; None for what is no run of a fork.

    So where processes do not fork, or the environment has what a fork cannot change any more, or coverage is measured:
    each fork would write down what all modules did when they were loaded, for 1 s.
    """
    global _server
    is_measured = any(name.startswith("COVERAGE_PROCESS") for name in os.environ)
    if is_measured or not hasattr(os, "fork") or fixed(environment) != fixed(dict(os.environ)):
        return None
    if _server is None:
        _server = ForkServer()
    return _server


_server: ForkServer | None = None

if __name__ == "__main__":
    serve(socket.socket(fileno=int(sys.argv.pop())))
    from tokcli.__main__ import main

    main()
