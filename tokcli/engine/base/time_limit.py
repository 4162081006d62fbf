"""The time limit for patterns. It belongs to the call, not to an encoding, which other calls may share.

`with time_limit(seconds):` holds for every pattern that is compiled or matched inside: of an argument, of a
tokenizer.json, of any other file. It is a context variable, as an argument would have to pass through every tokenizer:
threads and tasks have their own, and the threads that `stream/parallel.py` starts take over that of their caller.
"""

from __future__ import annotations

import _thread
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import TypeVar

    Result = TypeVar("Result")

DEFAULT_SECONDS = 5.0
_PAUSE_S = 0.25  # time for the exception to unwind what it interrupted, before it is sent again
_seconds = ContextVar("tokcli_time_limit", default=DEFAULT_SECONDS)


@contextmanager
def time_limit(seconds: float) -> Iterator[None]:
    """Limit the seconds that a pattern may take inside the `with` block: for compiling, and for each block of text.

    PatternTimeoutError ends what takes longer.

    >>> with time_limit(0.5):
    ...     seconds_allowed()
    0.5
    """
    token = _seconds.set(seconds)
    try:
        yield
    finally:
        _seconds.reset(token)


def seconds_allowed() -> float:
    """Return the time limit of the current call, in seconds."""
    return _seconds.get()


def run_within(seconds: float, work: Callable[[], Result]) -> Result:
    """Return `work()`; TimeoutError if it takes longer than `seconds`.

    This is for work in pure Python that has no time limit of its own. Checking the time at every function call
    (sys.setprofile) would make it four to ten times slower; a waiting thread costs 0.1 ms. That thread raises an
    exception in this one, as Ctrl-C does, so a running call of C code is waited for.

    >>> run_within(5, lambda: 1)
    1
    """
    alarm = _Alarm(min(seconds, threading.TIMEOUT_MAX))
    try:
        alarm.start()
        try:
            return work()
        finally:
            alarm.stop()
    except _Expired:
        _until_done(alarm.stop)
        raise TimeoutError(f"more than {seconds:g} s") from None


class _Expired(BaseException):  # not an Exception, so that nothing but `run_within` catches it
    """Raised in a thread whose time is up."""


def _until_done(stop: Callable[[], None]) -> None:
    """Call `stop`, and again each time that the exception which it prevents interrupts it."""
    while True:
        try:
            return stop()
        except _Expired:
            continue


class _Alarm:
    """An alarm that raises _Expired in the thread that made it, again and again, until it is stopped.

    Once is not enough: Python drops an exception that arrives in a finalizer or in the callback of a weak reference.
    """

    def __init__(self, seconds: float) -> None:
        self._thread = threading.get_ident()
        self._seconds = seconds
        self._lock = threading.Lock()  # held while the exception is sent, or taken back
        self._running = threading.Lock()  # held until `stop`
        self._running.acquire()
        self._is_over = self._is_sent = False

    def start(self) -> None:
        """Start the waiting thread; the exception may come from here on. MemoryError if no thread can be made.

        `threading.Thread.start` waits until the new thread reports that it runs: for ever, where memory is too short
        for the report. Here such a thread just ends, and there is no time limit.
        """
        try:
            _thread.start_new_thread(self._expire, ())
        except RuntimeError as error:
            raise MemoryError(str(error)) from None

    def stop(self) -> None:
        """Make sure that the exception does not come any more."""
        with self._lock:
            if self._is_sent and not self._is_over:
                _raise_in(self._thread, None)
            self._is_over = True
        with suppress(RuntimeError):  # it was released before
            self._running.release()

    def _expire(self) -> None:
        while not self._running.acquire(timeout=_PAUSE_S if self._is_sent else self._seconds):
            with self._lock:
                if self._is_over:
                    return
                self._is_sent = True
                _raise_in(self._thread, _Expired)


def _raise_in(thread: int, kind: type[BaseException] | None) -> None:
    """Raise an exception in a thread at its next step; None takes back one that has not been raised yet."""
    if sys.implementation.name != "cpython":
        return  # other Pythons lack the call below, so there is no limit
    import ctypes  # 10 ms, which nothing else needs

    ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread), None if kind is None else ctypes.py_object(kind))
