"""Runs tasks on a cluster, and yields their results in order."""

from __future__ import annotations

import warnings
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from itertools import chain, islice
from typing import Any, TypeVar

Item = TypeVar("Item")
Made = TypeVar("Made")

AHEAD = 3  # tasks for each thread of the cluster whose results may wait: a bound on memory
LEAST_AHEAD = 8  # a cluster may have no worker yet


@contextmanager
def connected(address: str, workers: int) -> Iterator[Any]:
    """Connect to the cluster at an address and yield Dask's client; LOCAL starts `workers` processes here.

    TokcliError where there is no Dask, or no cluster.
    """
    from tokcli.cluster import connection

    with connection.connected(address, workers) as client:
        yield client


def in_order(
    client: Any, task: Callable[..., Made], items: Iterable[Item], *shared: Any
) -> Iterator[tuple[Item, Made]]:
    """Yield (item, `task(item, *shared)`) for each item, in order; the cluster works some items ahead.

    The `shared` objects are sent once, not with each task, and not before there is an item. When a worker dies, others
    do its tasks again.
    """
    items = iter(items)
    first = list(islice(items, 1))  # an input may be refused here: a worker that was loading objects would log its end
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that a vocabulary is large
        held = [client.submit(_itself, thing, pure=False) for thing in shared]
    most = max(LEAST_AHEAD, AHEAD * sum(client.nthreads().values()))
    waiting: deque[tuple[Item, Any]] = deque()
    for item in chain(first, items):
        waiting.append((item, client.submit(task, item, *held, pure=False)))
        if len(waiting) >= most:
            done, result = waiting.popleft()
            yield done, result.result()
    while waiting:
        done, result = waiting.popleft()
        yield done, result.result()


def _itself(thing: Item) -> Item:
    return thing
