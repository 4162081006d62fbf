"""Shares the work on a stream among threads and returns the results in order; for work that releases the GIL.

What the work is, and how the stream is cut into items, is left to the caller.
"""

from __future__ import annotations

import _thread
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from contextvars import ContextVar, copy_context
from itertools import chain
from time import monotonic
from typing import TYPE_CHECKING, Any

from tokcli.errors import is_memory_short

if TYPE_CHECKING:
    from typing import TypeVar

    Item = TypeVar("Item")
    Result = TypeVar("Result")

PATIENCE = 0.2  # seconds to wait for threads whose results are no longer wanted, or that may have ended without notice
PATIENCE_TO_BEGIN = 10.0  # seconds after which a thread that has not begun is given up
THREAD_BYTES = (
    1 << 26
)  # of memory that must be free before a thread is started: for its stack and its first allocations
_threads_inside = ContextVar("tokcli_threads_inside", default=1)
AHEAD = 2  # results that may wait for each thread: a bound on memory, and on how far reading runs ahead


def ordered(
    work: Callable[[Item], Result],
    items: Iterator[Item],
    threads: int,
    *,
    is_large: Callable[[Item], bool] = lambda _: True,
    may_wait: bool = True,
) -> Iterator[Result]:
    """Yield the results of `map(work, items)`, made by this number of threads.

    The threads start at the first large item, have the context variables of the caller, and end with the iterator. They
    take turns in asking for the next item, so reading one overlaps with work on others. An exception of `items` or
    `work` is raised in its place in the order.

    Where no item has to be waited for (`may_wait` is False), the calling thread is one of them, and works on an item
    while the result that it needs is not there. Of items that come from a pipe, it takes none: while it waited for one,
    it could not yield the results before.

    >>> list(ordered(abs, iter([-1, 2, -3]), 2))
    [1, 2, 3]
    """
    if threads == 1:
        yield from map(work, items)
        return
    for item in items:
        if is_large(item):
            break
        yield work(item)
    else:
        return
    yield from _Crew(work, items, item, threads, may_wait=may_wait).results()


def allow_inner_threads(work: Callable[[Item], Result], threads: int) -> Callable[[Item], Result]:
    """Return `work` changed so that `threads` threads may share a single item: a long text that is not cut into items.

    Like the time limit (base/time_limit.py) this is a context variable: an argument would pass through every tokenizer.

    >>> allow_inner_threads(lambda _: threads_inside(), 2)("a text"), threads_inside()
    (2, 1)
    """

    def run(item: Item) -> Result:
        token = _threads_inside.set(threads)
        try:
            return work(item)
        finally:
            _threads_inside.reset(token)

    return run


def threads_inside() -> int:
    """Return how many threads may share the work on one text, which the calling thread starts."""
    return _threads_inside.get()


class _Crew:
    """Threads that take items in turn; a result waits until those of earlier turns are taken.

    They are started without `threading.Thread`, whose `start` waits forever for a thread that lacks the memory to
    report that it runs. Python does not wait for them when the program ends: they may be waiting for input that never
    comes.
    """

    def __init__(
        self, work: Callable[[Any], Any], items: Iterator[Any], first: object, threads: int, *, may_wait: bool
    ) -> None:
        self._work, self._items, self._first = work, items, [first]
        self._turn = threading.Lock()  # held while a thread asks for the next item
        self._done = threading.Condition()
        self._room = threading.Semaphore(threads * AHEAD)
        self._results: dict[int, tuple[Any, BaseException | None]] = {}
        self._asked = self._awaited = 0  # the numbers of the item that is taken next, and of the result
        self._ends = False  # whether there are no more items, or no more are wanted
        self._failed: BaseException | None = None  # what ended a thread that could not even keep its result
        self._caller_works = not may_wait
        self._wanted, self._started = threads - self._caller_works, 0
        self._begun, self._ended = threading.Semaphore(0), threading.Semaphore(0)

    def results(self) -> Iterator[Any]:
        """Yield the results in order."""
        taken = self._take() if self._caller_works else None  # where it is the only item, no thread gets in its way
        self._start()
        if not self._started and not self._caller_works:
            with self._turn:
                self._ends = True  # for a thread that begins after all
            yield from map(self._work, chain(self._first, self._items))
            return
        try:
            if taken is not None:
                self._keep(*taken)
            while (made := self._next_result()) is not None:
                result, error = made
                if error is not None:
                    raise error
                self._room.release()
                yield result
        finally:
            self._ends = True
            for _ in range(self._started):
                self._room.release()
            until = monotonic() + PATIENCE
            for _ in range(self._started):
                self._ended.acquire(timeout=max(0.0, until - monotonic()))

    def _next_result(self) -> tuple[Any, BaseException | None] | None:
        """Return the next result in order, or what was raised instead; None where there are no more."""
        works = self._caller_works
        while True:
            with self._done:
                while self._awaited not in self._results:
                    if self._failed is not None:
                        raise self._failed
                    if self._ends and self._awaited >= self._asked:
                        return None
                    if works:
                        break
                    self._done.wait(PATIENCE)  # a thread without memory may end without a notification
                else:
                    self._awaited += 1
                    return self._results.pop(self._awaited - 1)
            taken = self._take(waits=False)
            if taken is None:
                works = False  # until this result is there
            else:
                self._keep(*taken)

    def _start(self) -> None:
        """Start as many of the threads as the system allows."""
        while self._started < self._wanted:
            try:
                if is_memory_short(THREAD_BYTES):  # a thread without memory to begin aborts the process
                    return
                _thread.start_new_thread(copy_context().run, (self._run,))
            except (RuntimeError, MemoryError):  # there is no memory for it, or there are too many
                return
            if not self._begun.acquire(timeout=PATIENCE_TO_BEGIN):
                return
            self._started += 1

    def _run(self) -> None:
        try:
            self._begun.release()
            self._take_turns()
        except BaseException as error:  # noqa: BLE001 - it is raised where the results are taken
            self._failed = error
        finally:
            with suppress(MemoryError):
                self._ended.release()

    def _take_turns(self) -> None:
        while (taken := self._take()) is not None:
            self._keep(*taken)

    def _keep(self, number: int, item: object, error: BaseException | None) -> None:
        """Keep the result of an item until its turn, or what was raised instead."""
        result = None
        if error is None:
            try:
                result = self._work(item)
            except BaseException as raised:  # noqa: BLE001 - it is raised where the results are taken
                error = raised
        with self._done:
            self._results[number] = (result, error)
            if number == self._awaited:
                self._done.notify()

    def _take(self, *, waits: bool = True) -> tuple[int, Any, BaseException | None] | None:
        """Return the number of the next item, and the item or what was raised instead; None where there are no more.

        Without `waits`, None also where as many results as may be kept are not taken yet.
        """
        if not self._room.acquire(blocking=waits):
            return None
        with self._turn:
            if self._ends:
                return None
            number = self._asked
            item, error, found = None, None, True
            try:
                item = self._first.pop() if self._first else next(self._items)
            except StopIteration:
                found = False
            except BaseException as raised:  # noqa: BLE001 - it is raised where the results are taken
                error = raised
            with self._done:
                self._asked += found
                if not found or error is not None:
                    self._ends = True
                    self._done.notify()
            return (number, item, error) if found else None
