"""The connection to a Dask cluster: to one that runs already, or to processes on this machine, which end with it."""

from __future__ import annotations

import atexit
import logging
import multiprocessing
import os
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from multiprocessing import resource_tracker
from pathlib import Path
from typing import Any

from tokcli.cluster import LOCAL
from tokcli.errors import TokcliError, not_loaded

LOOPBACK = "127.0.0.1"
ANSWER_TIMEOUT = "15s"  # within which a cluster has to answer
INSTALL = "pip install 'tokcli[dask]'"
REPORTERS = ("distributed", "tornado", "asyncio")  # they would log the end of the workers
LOOP_THREAD = "IO loop"  # distributed's name for it
# Dask has workers give every freed page back, and the next task fetches its pages again: a fifth of the time of a run.
# Workers that find these in their environment keep what a task needs (bytes; mallopt(3)).
KEEPING_MEMORY = {"MALLOC_TRIM_THRESHOLD_": 1 << 28, "MALLOC_MMAP_THRESHOLD_": 1 << 25}
SPAWNING_S = 0.2  # for Dask's threads to finish starting the processes that they were starting when Ctrl-C came


@contextmanager
def connected(address: str, workers: int) -> Iterator[Any]:
    """Connect to the cluster at an address and yield Dask's client; LOCAL starts `workers` processes here.

    TokcliError where there is no Dask, or no cluster. Ctrl-C kills the processes that were started.
    """
    try:
        import distributed
    except ImportError as error:
        why, hint = not_loaded(error, INSTALL)
        raise TokcliError(f"a cluster needs distributed, {why}", hint) from None
    others = set(multiprocessing.active_children())
    runner = distributed.utils.LoopRunner()
    made = None
    with ExitStack() as stack:
        try:
            if address == LOCAL:
                with _silent_children():  # what this one has to say at Ctrl-C is that it removed a semaphore
                    resource_tracker.ensure_running()
                runner.start()
                stack.callback(runner.stop)
                for name, size in KEEPING_MEMORY.items():
                    os.environ.setdefault(name, str(size))
                made = distributed.LocalCluster(
                    loop=runner.loop,
                    n_workers=workers,
                    threads_per_worker=1,
                    host=LOOPBACK,
                    dashboard_address=None,
                    scheduler_kwargs={"dashboard_address": f"{LOOPBACK}:0"},  # else a fixed port, and a warning
                )
                address = stack.enter_context(made)
            yield stack.enter_context(_client(distributed, address, is_local=made is not None))
        except (KeyboardInterrupt, RuntimeError) as error:
            if not _came_of_ctrl_c(error):
                raise
            # closing waits for workers that are starting or busy, for 10 s and more: they are killed instead
            stack.pop_all()
            atexit.unregister(distributed.deploy.spec.close_clusters)
            for name in list(logging.root.manager.loggerDict):  # some have handlers of their own
                if name.partition(".")[0] in REPORTERS:
                    logging.getLogger(name).handlers, logging.getLogger(name).propagate = [logging.NullHandler()], False
            with _undisturbed(), _silent_children():
                for worker in set(multiprocessing.active_children()) - others:
                    worker.kill()  # before they say that nobody answers them
                _stop_loop(runner)
                until = time.monotonic() + SPAWNING_S
                while time.monotonic() < until:  # a worker that a thread of Dask is about to start
                    for worker in set(multiprocessing.active_children()) - others:
                        worker.kill()
                    _kill_spawned()
                    time.sleep(SPAWNING_S / 20)
            raise KeyboardInterrupt from None


def _came_of_ctrl_c(error: BaseException | None) -> bool:
    """Return whether an error is a Ctrl-C or came of one: in the middle of a lock, `threading` makes an error of it."""
    while error is not None and not isinstance(error, KeyboardInterrupt):
        error = error.__context__
    return error is not None


def _stop_loop(runner: Any) -> None:
    """End the thread that starts workers, so that it does not replace killed ones and does not hold a semaphore."""
    if runner.is_started():
        runner.loop.add_callback(runner.loop.stop)
        for thread in threading.enumerate():
            if thread.name == LOOP_THREAD:
                thread.join(SPAWNING_S)


@contextmanager
def _undisturbed() -> Iterator[None]:
    """Put off signals of the main thread while workers are ended: another Ctrl-C, or a timer that repeats the first."""
    is_main = threading.current_thread() is threading.main_thread()
    kept = {number: signal.signal(number, _ignore) for number in (signal.SIGINT, signal.SIGALRM) if is_main}
    try:
        yield
    finally:
        for number, handler in kept.items():
            signal.signal(number, handler)


def _ignore(_: int, __: object) -> None:
    """Handle a signal by doing nothing; children do not inherit that, as they do SIG_IGN."""


@contextmanager
def _silent_children() -> Iterator[None]:
    """Silence processes that start in this context: one whose parent ends while it starts prints a traceback."""
    try:
        kept = os.dup(2)
    except OSError:  # there is no standard error
        yield
        return
    try:
        with Path(os.devnull).open("wb") as nothing:
            os.dup2(nothing.fileno(), 2)
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)


def _kill_spawned() -> None:
    """Kill processes that are being spawned, which multiprocessing does not know yet; only Linux lists them."""
    for listed in Path("/proc/self/task").glob("*/children"):
        with suppress(OSError):
            for child in map(int, listed.read_text().split()):
                if b"spawn_main" in Path(f"/proc/{child}/cmdline").read_bytes():
                    os.kill(child, signal.SIGKILL)


def _client(distributed: Any, address: Any, *, is_local: bool) -> Any:
    """Return Dask's client, which fetches results from the workers; from those of others through their scheduler."""
    try:
        return distributed.Client(
            address, timeout=ANSWER_TIMEOUT, set_as_default=False, direct_to_workers=is_local or None
        )
    except (OSError, ValueError, TimeoutError) as error:
        raise TokcliError(
            f"no cluster answers: {error}", "Name its scheduler, tcp://HOST:PORT.", where=str(address)
        ) from None
