"""Settings of the tests: what the gate runs, hypothesis without luck, and a cache of our own."""

from __future__ import annotations

import gc
import os
import signal
import sys
import tempfile
import threading
import warnings
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

# Each test has a cache folder of its own. What is made outside tests, as in fixtures of a module, goes to this one.
_caches = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
BETWEEN_TESTS = Path(_caches.name, "between-tests")
os.environ["TOKCLI_CACHE_DIR"] = str(BETWEEN_TESTS)

# The gate draws the same examples on every run; .ci/full takes HYPOTHESIS_PROFILE=random, which draws others, and more. A
# machine that is busy draws slowly: that is no failure.
PROFILES: dict[str, dict[str, Any]] = {
    "gate": {"max_examples": 25, "derandomize": True, "database": None},
    "random": {"max_examples": 200},
    "long": {"max_examples": 5000},
}
for _name, _more in PROFILES.items():
    _patient = [hypothesis.HealthCheck.too_slow]
    hypothesis.settings.register_profile(_name, deadline=None, suppress_health_check=_patient, **_more)
hypothesis.settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "gate"))


def pytest_collection_finish() -> None:
    """Keep the garbage collector from the thousands of tests, which are none: it would go through them time and again.

    And leave the source tree's folder, where processes that tests start would import from: Python 3.10 has no PYTHONSAFEPATH.
    """
    gc.collect()
    gc.freeze()
    if sys.version_info < (3, 11):
        os.chdir(Path(__file__).parent)


class SecondOpinion:
    """Writes down, for .ci/run, the tests that failed, and those of which nothing was heard since their worker ended."""

    def __init__(self) -> None:
        self.asked: set[str] = set()
        self.heard: set[str] = set()
        self.failed: set[str] = set()

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_node_collection_finished(self, ids: list[str]) -> None:
        self.asked.update(ids)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self.heard.add(report.nodeid)
        if report.failed:
            self.failed.add(report.nodeid)

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        assert session.config.cache is not None  # pytest_configure has looked
        folder = session.config.cache.mkdir("again")
        for name, tests in (("failed", self.failed), ("unheard", self.asked - self.heard)):
            (folder / name).write_text("".join(f"{test}\n" for test in sorted(tests)))


def pytest_configure(config: pytest.Config) -> None:
    is_worker = hasattr(config, "workerinput")  # which reports to the process that started it
    if not is_worker and config.pluginmanager.hasplugin("cacheprovider"):
        config.pluginmanager.register(SecondOpinion())


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


@pytest.fixture(scope="session")
def images() -> dict[Path, os.stat_result]:
    """Return the images of the vocabularies that ship, which are built once, with what the system says of each."""
    import tokcli  # sys.path is set above

    for name in ("r50k_base", "p50k_base", "cl100k_base", "o200k_base"):
        tokcli.get_encoding(name).encode_ordinary("a")
    return {path: path.stat() for path in BETWEEN_TESTS.glob("images/*")}


@pytest.fixture(autouse=True)
def own_cache(images: dict[Path, os.stat_result], monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Give a test a cache folder that holds these images, as links: to build one takes longer than most tests."""
    with tempfile.TemporaryDirectory(dir=_caches.name, ignore_cleanup_errors=True) as folder:
        Path(folder, "images").mkdir(0o700)
        for path in images:
            os.link(path, Path(folder, "images", path.name))
        monkeypatch.setenv("TOKCLI_CACHE_DIR", folder)
        yield
    for path, before in images.items():
        now = path.stat()
        same = (now.st_size, now.st_mtime_ns) == (before.st_size, before.st_mtime_ns)
        assert same, f"{path} was written to: replace the link in the cache of the test"


@pytest.fixture(scope="module")
def dask_workers() -> Iterator[Any]:
    """A Dask cluster of three processes."""
    distributed = pytest.importorskip("distributed")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with distributed.LocalCluster(n_workers=3, threads_per_worker=1, dashboard_address=None) as made:
            yield made
        gc.collect()
