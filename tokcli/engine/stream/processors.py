"""Which processors the threads of a crew begin on: each on another one, where there are few and all are wanted.

A system that starts a thread while all its processors are busy puts it behind another one. It moves it as soon as a
processor is free, as a rule at the next tick of its clock or the one after that: two threads that have work for 20 ms
shared one of two processors for half that time (Linux 6.18, two processors, while a third thread wrote what they made).
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from time import monotonic

MOST = 8  # processors; among more, one that two threads share is a small part, and each start would take its time
FIXED_S = 0.1  # for which a thread stays where it began: a busy system needs to move it some time


class Processors:
    """The processors of the calling thread, for the start of `threads` threads."""

    def __init__(self, threads: int) -> None:
        free_thread()  # if it belongs to another crew
        affinity = getattr(os, "sched_getaffinity", None)  # Linux has it
        self._all = frozenset[int](affinity(0) if affinity else ())
        self._order, self._threads = sorted(self._all), threads
        self._are_shared_out = 1 < len(self._all) <= min(threads, MOST)
        self._until = monotonic() + FIXED_S

    @contextmanager
    def starting(self, number: int) -> Iterator[None]:
        """Let a thread that is started meanwhile begin on its own processor: it inherits that from this thread.

        Then this thread goes to the processor of the next thread, if there is one: it has work to do before it waits.
        """
        self._go_to(number)
        try:
            yield
        finally:
            if number + 1 < self._threads:
                self._go_to(number + 1)
            else:
                self.free()

    def _go_to(self, number: int) -> None:
        if self._are_shared_out:
            _set(frozenset({self._order[number % len(self._order)]}))

    def free(self) -> None:
        """Let the system move the calling thread to any of the processors."""
        if self._are_shared_out:
            _set(self._all)

    def stay(self) -> None:
        """Say that the calling thread was started on one of them: it stays there until it is freed."""
        if self._are_shared_out:
            _here.fixed = self

    def free_in_time(self) -> None:
        """Free the calling thread once the threads have had the time to begin."""
        if getattr(_here, "fixed", None) is self and monotonic() >= self._until:
            free_thread()


def free_thread() -> None:
    """Free the calling thread: threads that it starts, and that know nothing of crews, would begin where it is."""
    fixed: Processors | None = getattr(_here, "fixed", None)
    if fixed is not None:
        _here.fixed = None
        fixed.free()


_here = threading.local()  # `fixed`: the processors of a crew, one of which the thread stays on


def _set(processors: frozenset[int]) -> None:
    with suppress(OSError):  # they were taken from this process meanwhile: then the system knows better
        os.sched_setaffinity(0, processors)
