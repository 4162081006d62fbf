"""The process that runs a template: a fork without open files, which answers conversations until nobody asks.

It can open no file, and its memory and the time that it works are limited; `renderer.py` kills it if it waits too long.
"""

from __future__ import annotations

import json
import os
import resource
import signal
from typing import NoReturn

from jinja2 import TemplateSyntaxError

from tokcli.chat_templates import sandbox
from tokcli.chat_templates.protocol import (
    BYTES_A_SECOND,
    FAILED,
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
)

MOST_FILES = 2**20  # a process hardly has more open


def run(channel: int, text: str) -> NoReturn:
    """Answer on the channel until its other end is closed, and end the process, which is a fork."""
    try:
        _give_up_rights(channel)
        _serve(channel, text)
    finally:
        os._exit(0)


def _give_up_rights(channel: int) -> None:
    """Close all files but the channel; from now on none can be opened or written, and memory is limited."""
    sandbox.load_what_comes_late()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGXCPU, signal.SIGPROF):
        signal.signal(number, signal.SIG_DFL)
    memory = _memory_bytes()
    nowhere = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        if stream != channel:
            os.dup2(nowhere, stream)
    os.closerange(3, channel)
    os.closerange(max(channel + 1, 3), min(resource.getrlimit(resource.RLIMIT_NOFILE)[0], MOST_FILES))
    limits = [("RLIMIT_CORE", 0), ("RLIMIT_FSIZE", 0), ("RLIMIT_NOFILE", 0), ("RLIMIT_NPROC", 0)]
    for name, most in [*limits, ("RLIMIT_AS", memory and memory + MEMORY_BYTES)]:
        if most is not None and hasattr(resource, name):
            what = getattr(resource, name)
            hard = resource.getrlimit(what)[1]
            most = most if hard == resource.RLIM_INFINITY else min(most, hard)
            resource.setrlimit(what, (most, most))


def _memory_bytes() -> int | None:
    """Return the size of this process's address space in bytes; None where the system does not tell it."""
    try:
        with open("/proc/self/statm", "rb") as file:  # noqa: PTH123
            return int(file.read().split()[0]) * resource.getpagesize()
    except OSError:
        return None


def _serve(channel: int, text: str) -> None:
    """Answer each conversation that comes on the channel."""
    template = None
    while head := _read(channel, SIZE.size + SECONDS.size):
        (size,), (seconds,) = SIZE.unpack(head[: SIZE.size]), SECONDS.unpack(head[SIZE.size :])
        # the signal ends this process after so much work, and not after so much waiting for the processor
        signal.setitimer(signal.ITIMER_PROF, seconds + size / BYTES_A_SECOND)
        kind, answer = FAILED, b""
        try:
            variables = json.loads(_read(channel, size))
            template = template or sandbox.compile_template(text)
            kind, answer = TEXT, sandbox.render(template, variables).encode()
        except BaseException as error:  # noqa: BLE001 - whatever a template raises is told
            kind, answer = _told(error)
        signal.setitimer(signal.ITIMER_PROF, 0)
        _write(channel, SIZE.pack(1 + len(answer)) + kind)
        _write(channel, answer)


def _told(error: BaseException) -> tuple[bytes, bytes]:
    """Return the kind of an exception, and what it says: the line of the template, a colon and a message."""
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
