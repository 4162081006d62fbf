"""Work on a stream shared by threads, its results in order: for work that lets go of the GIL."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from time import monotonic
from typing import Any, TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")

PATIENCE = 0.2  # seconds to wait for threads whose work nobody wants any more
AHEAD = 2  # results that may wait for each thread: so much memory is taken, and so far reading runs ahead


def ordered(
    work: Callable[[Item], Result],
    items: Iterator[Item],
    threads: int,
    *,
    is_large: Callable[[Item], bool] = lambda _: True,
) -> Iterator[Result]:
    """`map(work, items)` by so many threads, which start with the first item that is large, and end with the iterator.

    The threads take turns in asking for the next item, so reading one overlaps with work on others. What `items` or
    `work` raises is raised in its place in the order.

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
    yield from _Crew(work, items, item, threads).results()


class _Crew:
    """Threads that take items by turns; each result waits in the slot of its turn."""

    def __init__(self, work: Callable[[Any], Any], items: Iterator[Any], first: object, threads: int) -> None:
        self._work, self._items, self._first = work, items, [first]
        self._turn = threading.Lock()  # held while the next item is asked for
        self._done = threading.Condition()
        self._room = threading.Semaphore(threads * AHEAD)
        self._results: dict[int, tuple[Any, BaseException | None]] = {}
        self._asked = 0
        self._ends = False  # there are no more items, or nobody wants them
        # daemons, for a thread may wait for input that never comes when all is over
        self._threads = [threading.Thread(target=self._run, daemon=True) for _ in range(threads)]

    def results(self) -> Iterator[Any]:
        """The results in order."""
        for thread in self._threads:
            thread.start()
        number = 0
        try:
            while True:
                with self._done:
                    while number not in self._results:
                        if self._ends and number >= self._asked:
                            return
                        self._done.wait()
                    result, error = self._results.pop(number)
                if error is not None:
                    raise error
                self._room.release()
                number += 1
                yield result
        finally:
            self._ends = True
            for _ in self._threads:
                self._room.release()
            until = monotonic() + PATIENCE
            for thread in self._threads:
                thread.join(max(0.0, until - monotonic()))

    def _run(self) -> None:
        while True:
            self._room.acquire()
            with self._turn:
                if self._ends:
                    return
                number = self._asked
                item, error, found = None, None, True
                try:
                    item = self._first.pop() if self._first else next(self._items)
                except StopIteration:
                    found = False
                except BaseException as raised:  # noqa: BLE001 - it is raised where the results are taken
                    error = raised
                with self._done:
                    self._ends = self._ends or not found or error is not None
                    self._asked += found
                    self._done.notify()
                if not found:
                    return
            result = None
            if error is None:
                try:
                    result = self._work(item)
                except BaseException as raised:  # noqa: BLE001 - the same
                    error = raised
            with self._done:
                self._results[number] = (result, error)
                self._done.notify()
