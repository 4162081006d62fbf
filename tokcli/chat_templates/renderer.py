"""Runs a chat template in a process of its own, which is ended if it takes too long or too much memory.

A template comes from whoever made a tokenizer. The sandbox keeps it from everything but its variables; that it ends, no
check of its text can tell, and a single call of C code (a filter, a comparison) can take hours. So it runs in a fork,
the process of `template_process.py`, which ends when it has worked for its time.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import time
import warnings
from typing import Any, NoReturn

from tokcli.chat_templates.protocol import (
    BYTES_A_SECOND,
    MEMORY,
    MEMORY_BYTES,
    RAISED,
    RECURSION,
    SECONDS,
    SHOWN_CHARS,
    SIZE,
    SYNTAX,
    TEXT,
    TOO_MUCH,
    WAITS,
)
from tokcli.chat_templates.template import MAX_TEMPLATE_CHARS, NamedTemplate
from tokcli.engine.base.locks import new_lock
from tokcli.engine.base.time_limit import seconds_allowed
from tokcli.errors import InputError, TokcliError, VocabularyError, not_loaded

INSTALL = "pip install 'tokcli[chat]'"


class Renderer:
    """Renders conversations with one template; `close` ends its process, which starts with the first conversation."""

    def __init__(self, template: NamedTemplate) -> None:
        self._template = template
        self._channel: socket.socket | None = None
        self._process = 0
        self._lock = new_lock()
        self._has_worked = False
        self._failure: TokcliError | None = None  # of a template that never worked: it is not tried again

    def start(self) -> None:
        """Start the process; VocabularyError where Jinja2 is missing or too old, or the template is too long."""
        with self._lock:
            self._start()

    def render(self, variables: dict[str, Any]) -> str:
        """Return the text that the template makes of its variables. Threads may call this at the same time.

        InputError says that the template takes no such conversation, or fails on it, VocabularyError what is wrong with
        the template.
        """
        if self._failure is not None:
            raise self._failure
        try:
            asked = json.dumps(variables).encode()
        except RecursionError:
            raise InputError("nested too deep") from None
        with self._lock:
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

    def close(self) -> int:
        """End the process; return the signal that ended it, or 0."""
        if self._channel is None:
            return 0
        self._channel.close()
        self._channel = None
        os.kill(self._process, signal.SIGKILL)
        return os.WTERMSIG(os.waitpid(self._process, 0)[1])

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
        raise InputError(f"the chat template in {self._template.shown} fails{at}: {said}")

    def _start(self) -> None:
        if len(self._template.text) > MAX_TEMPLATE_CHARS:
            size = len(self._template.text)
            self._fail(f"a chat template of {size} characters; at most {MAX_TEMPLATE_CHARS} are read")
        try:
            from tokcli.chat_templates import sandbox, template_process  # Jinja2, of an extra
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
            template_process.run(theirs.detach(), self._template.text)
        theirs.close()

    def _ask(self, asked: bytes) -> tuple[bytes, str]:
        """Return the kind and the text of the process's answer."""
        channel, seconds = self._channel, seconds_allowed()
        assert channel is not None
        deadline = time.monotonic() + WAITS * (seconds + len(asked) / BYTES_A_SECOND)
        try:
            channel.settimeout(max(deadline - time.monotonic(), 0.001))
            channel.sendall(SIZE.pack(len(asked)) + SECONDS.pack(seconds) + asked)
            (size,) = SIZE.unpack(_received(channel, SIZE.size, deadline))
            answer = _received(channel, size, deadline)
        except (TimeoutError, EOFError, ConnectionError) as error:
            ended_by = self.close()
            if isinstance(error, TimeoutError) or ended_by == signal.SIGPROF:
                self._fail(f"the chat template takes more than {seconds:g} s")
            self._fail(f"the process of the chat template was ended (signal {ended_by}), as for too much memory")
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
