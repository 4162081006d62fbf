"""Runs a chat template in a process of its own, which is ended if it takes too long or too much memory.

A template comes from whoever made a tokenizer. The sandbox keeps it from everything but its variables; that it ends, no
check of its text can tell, and a single call of C code (a filter, a comparison) can take hours. So it runs in a fork
that has no open file but the socket to this process, cannot open any, and is killed when its time is up.
"""

from __future__ import annotations

import json
import os
import resource
import signal
import socket
import struct
import time
import warnings
from typing import Any, NoReturn

from tokcli.chat_templates.template import MAX_TEMPLATE_CHARS, NamedTemplate
from tokcli.engine.base.time_limit import seconds_allowed
from tokcli.errors import InputError, TokcliError, VocabularyError, not_loaded

MEMORY_BYTES = 2**30  # more than the process has when it starts; the largest conversation takes a third of it
BYTES_A_SECOND = 10_000_000  # of a conversation, which both sides write and read, beside the time for the template
INSTALL = "pip install 'tokcli[chat]'"
SHOWN_CHARS = 300  # of what a template says
SIZE = struct.Struct("<Q")
# the first byte of an answer
TEXT, RAISED, FAILED, SYNTAX, TOO_MUCH, MEMORY, RECURSION = (bytes([code]) for code in b"TRFSLMD")


class Renderer:
    """Renders conversations with one template; `close` ends its process, which starts with the first conversation."""

    def __init__(self, template: NamedTemplate) -> None:
        self._template = template
        self._channel: socket.socket | None = None
        self._process = 0
        self._has_worked = False
        self._failure: TokcliError | None = None  # of a template that never worked: it is not tried again

    def render(self, variables: dict[str, Any]) -> str:
        """Return the text that the template makes of its variables.

        InputError says that the template takes no such conversation, VocabularyError what is wrong with the template.
        """
        if self._failure is not None:
            raise self._failure
        try:
            asked = json.dumps(variables).encode()
        except RecursionError:
            raise InputError("nested too deep") from None
        if self._channel is None:
            self._start()
        try:
            kind, text = self._ask(asked)
            if kind != TEXT:
                self._refuse(kind, text)
        except VocabularyError as error:
            self._failure = None if self._has_worked else error
            raise
        self._has_worked = True
        return text

    def close(self) -> None:
        """End the process."""
        if self._channel is not None:
            self._channel.close()
            self._channel = None
            os.kill(self._process, signal.SIGKILL)
            os.waitpid(self._process, 0)

    def _fail(self, what: str, hint: str = "") -> NoReturn:
        raise VocabularyError(what, hint, where=self._template.shown)

    def _refuse(self, kind: bytes, text: str) -> NoReturn:
        """Raise the error for an answer that is no text."""
        line, _, said = text.partition(":")
        said = " ".join(said.split())[:SHOWN_CHARS]
        at = f", line {line}" if line else ""
        if kind == RAISED:
            raise InputError(f"the chat template in {self._template.shown} refuses the messages: {said}")
        if kind == SYNTAX:
            self._fail(f"the chat template is no valid Jinja2{at}: {said}")
        if kind == TOO_MUCH:
            self._fail(f"the chat template makes too much{at}: {said}")
        if kind == MEMORY:
            self._fail(f"the chat template takes more than {MEMORY_BYTES >> 20} MiB of memory{at}")
        if kind == RECURSION:
            self._fail(f"the chat template calls itself, or is nested, too deep{at}")
        self._fail(f"the chat template fails{at}: {said}")

    def _start(self) -> None:
        """Start the process; VocabularyError where Jinja2 is missing or too old."""
        if len(self._template.text) > MAX_TEMPLATE_CHARS:
            size = len(self._template.text)
            self._fail(f"a chat template of {size} characters; at most {MAX_TEMPLATE_CHARS} are read")
        try:
            from tokcli.chat_templates import sandbox  # Jinja2, 50 ms, of an extra
        except ImportError as error:
            why, hint = not_loaded(error, INSTALL)
            self._fail(f"a chat template needs Jinja2, {why}", hint)
        if not sandbox.is_safe_version():
            version = ".".join(map(str, sandbox.SAFE_VERSION))
            self._fail(f"a chat template needs Jinja2 {version}; older ones have ways out of the sandbox", INSTALL)
        self._channel, theirs = socket.socketpair()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # the fork needs none of the other threads
            self._process = os.fork()
        if self._process == 0:
            _be_the_process(theirs.detach(), self._template.text)
        theirs.close()

    def _ask(self, asked: bytes) -> tuple[bytes, str]:
        """Return the kind and the text of the process's answer."""
        channel, seconds = self._channel, seconds_allowed()
        assert channel is not None
        deadline = time.monotonic() + seconds + len(asked) / BYTES_A_SECOND
        try:
            channel.settimeout(max(deadline - time.monotonic(), 0.001))
            channel.sendall(SIZE.pack(len(asked)) + struct.pack("<d", seconds) + asked)
            (size,) = SIZE.unpack(_received(channel, SIZE.size, deadline))
            answer = _received(channel, size, deadline)
        except TimeoutError:
            self.close()
            self._fail(f"the chat template takes more than {seconds:g} s")
        except (EOFError, ConnectionError):
            self.close()
            self._fail("the chat template takes too much memory or time: its process was ended")
        except BaseException:
            self.close()
            raise
        if answer[:1] == MEMORY:
            self.close()
        return answer[:1], answer[1:].decode("utf-8", "replace")


def _received(channel: socket.socket, size: int, deadline: float) -> bytes:
    """Return the next `size` bytes; TimeoutError where they have not come in time, EOFError where none will come."""
    held = bytearray()
    while len(held) < size:
        if (left := deadline - time.monotonic()) <= 0:
            raise TimeoutError
        channel.settimeout(left)
        block = channel.recv(min(size - len(held), 1 << 20))
        if not block:
            raise EOFError
        held += block
    return bytes(held)


# --- the process that runs the template ------------------------------------------------------------------------------


def _be_the_process(channel: int, text: str) -> NoReturn:
    """Answer on the channel until its other end is closed, and end the process, which is a fork."""
    try:
        _give_up_rights(channel)
        _serve(channel, text)
    finally:
        os._exit(0)


def _give_up_rights(channel: int) -> None:
    """Close all files but the channel; from now on none can be opened or written, and memory is limited."""
    from tokcli.chat_templates import sandbox

    sandbox.load_what_comes_late()
    for name in (signal.SIGINT, signal.SIGTERM, signal.SIGXCPU):
        signal.signal(name, signal.SIG_DFL)
    memory = _memory_bytes()
    nowhere = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        if stream != channel:
            os.dup2(nowhere, stream)
    os.closerange(3, channel)
    os.closerange(max(channel + 1, 3), os.sysconf("SC_OPEN_MAX"))
    limits = [("RLIMIT_CORE", 0), ("RLIMIT_FSIZE", 0), ("RLIMIT_NOFILE", 0), ("RLIMIT_NPROC", 0)]
    for name, most in [*limits, ("RLIMIT_AS", memory and memory + MEMORY_BYTES)]:
        if most is not None and hasattr(resource, name):
            resource.setrlimit(getattr(resource, name), (most, most))


def _memory_bytes() -> int | None:
    """Return the size of this process's address space in bytes; None where the system does not tell it."""
    try:
        with open("/proc/self/statm", "rb") as file:  # noqa: PTH123
            return int(file.read().split()[0]) * resource.getpagesize()
    except OSError:
        return None


def _serve(channel: int, text: str) -> None:
    """Answer each conversation that comes on the channel."""
    from tokcli.chat_templates import sandbox

    template = None
    while head := _read(channel, SIZE.size + 8):
        (size,), (seconds,) = SIZE.unpack(head[: SIZE.size]), struct.unpack("<d", head[SIZE.size :])
        used = resource.getrusage(resource.RUSAGE_SELF)
        cpu = int(used.ru_utime + used.ru_stime + seconds + size / BYTES_A_SECOND) + 2
        # should the other process end meanwhile, nobody else would end this one
        resource.setrlimit(resource.RLIMIT_CPU, (cpu, resource.getrlimit(resource.RLIMIT_CPU)[1]))
        kind, answer = FAILED, b""
        try:
            variables = json.loads(_read(channel, size))
            template = template or sandbox.compile_template(text)
            kind, answer = TEXT, sandbox.render(template, variables).encode()
        except BaseException as error:  # noqa: BLE001 - whatever a template raises is told
            kind, answer = _told(error)
        _write(channel, SIZE.pack(1 + len(answer)) + kind)
        _write(channel, answer)


def _told(error: BaseException) -> tuple[bytes, bytes]:
    """Return the kind of an exception, and what it says: the line of the template, a colon and a message."""
    from jinja2 import TemplateSyntaxError

    from tokcli.chat_templates import sandbox

    kinds: list[tuple[type[BaseException] | tuple[type[BaseException], ...], bytes]] = [
        (sandbox.RaisedError, RAISED),
        ((TemplateSyntaxError, SyntaxError), SYNTAX),
        ((sandbox.TooMuchError, OverflowError), TOO_MUCH),
        (MemoryError, MEMORY),
        (RecursionError, RECURSION),
    ]
    kind = next((kind for types, kind in kinds if isinstance(error, types)), FAILED)
    line = sandbox.line_of(error) if not isinstance(error, SyntaxError) else None
    message = str(error)[: 4 * SHOWN_CHARS] or type(error).__name__
    return kind, f"{line or ''}:{message}".encode("utf-8", "replace")


def _read(channel: int, size: int) -> bytes:
    """Return the next `size` bytes of the channel; fewer where it ends."""
    held = bytearray()
    while len(held) < size and (block := os.read(channel, min(size - len(held), 1 << 20))):
        held += block
    return bytes(held) if len(held) == size else b""


def _write(channel: int, data: bytes) -> None:
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(channel, rest) :]
