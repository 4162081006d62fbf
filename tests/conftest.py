"""Settings of the tests: hypothesis without deadlines, since machines differ; `HYPOTHESIS_PROFILE=long` or `quick`."""

from __future__ import annotations

import gc
import os
import signal
import sys
import tempfile
import threading
import warnings
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import hypothesis
import pytest

# What is installed is tested, not the source tree (which has no native backend): also under `python -m pytest`, which
# puts the current folder first, and in processes that tests start.
os.environ["PYTHONSAFEPATH"] = "1"
if (Path(sys.executable).parent / "tokcli").exists():
    sys.path[:] = [p for p in sys.path if Path(p).resolve() != Path(__file__).resolve().parent.parent]

# A shell starts jobs in the background with Ctrl-C ignored, which children inherit: tests that press it would wait forever.
if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# tests have a cache of their own
_cache = tempfile.TemporaryDirectory()
os.environ["TOKCLI_CACHE_DIR"] = _cache.name

hypothesis.settings.register_profile("default", deadline=None, max_examples=150)
hypothesis.settings.register_profile("quick", deadline=None, max_examples=40)
hypothesis.settings.register_profile("long", deadline=None, max_examples=5000)
hypothesis.settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "default"))


# files with few tests that take minutes
LONG_FILES = ("test_run.py", "test_short_of_memory.py", "test_vectors.py")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put long files first, then those with most tests, so that parallel workers end at about the same time."""
    sizes = Counter(item.path for item in items)
    items.sort(key=lambda item: (item.path.name not in LONG_FILES, -sizes[item.path]))
    for item in items:
        if item.get_closest_marker("clock"):
            item.add_marker(pytest.mark.flaky(reruns=2))


@pytest.hookimpl(wrapper=True, trylast=True)
def pytest_runtest_call(item: pytest.Item) -> Iterator[None]:
    """Measure nothing in a test that is marked `no_cover`.

    In a worker, coverage is measured more than once, and pytest-cov stops only the last of these measurements. Another
    one then slowed the test, and was left with its lock held by the exception with which a time limit ends work.
    """
    if item.get_closest_marker("no_cover") is None:
        return (yield)
    traces = sys.gettrace(), threading.gettrace()
    sys.settrace(None)
    threading.settrace(None)  # type: ignore[arg-type]
    try:
        return (yield)
    finally:
        threading.settrace(traces[1])  # type: ignore[arg-type]
        sys.settrace(traces[0])


@pytest.fixture(scope="module")
def dask_workers() -> Iterator[Any]:
    """A Dask cluster of three processes."""
    distributed = pytest.importorskip("distributed")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with distributed.LocalCluster(n_workers=3, threads_per_worker=1, dashboard_address=None) as made:
            yield made
        gc.collect()
