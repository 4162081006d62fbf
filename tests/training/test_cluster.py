"""Counting on a real Dask cluster of processes: what dies is done again, and nothing is counted twice."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest
from support import without_coverage

from tokcli.engine.pretokenizers.known_patterns import O200K
from tokcli.engine.pretokenizers.pretokenizer import PreTokenizer
from tokcli.errors import InputError, TokcliError
from tokcli.training import cluster
from tokcli.training.corpus_counter import CorpusCounter

pytest.importorskip("distributed")
pytestmark = [
    pytest.mark.slow,
    # what a process that was killed leaves open
    pytest.mark.filterwarnings("ignore"),
]


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    folder = tmp_path_factory.mktemp("cluster")
    paths = []
    for number in range(4):
        chance = random.Random(number)
        words = ["".join(chance.choices("abcdefghé世", k=chance.randint(1, 9))) for _ in range(2000)]
        path = folder / f"{number}.txt"
        path.write_text("".join(chance.choice(words) + chance.choice(" \n,") for _ in range(60_000)), encoding="utf-8")
        paths.append(str(path))
    return paths


def counted(paths: list[str]) -> dict[bytes, int]:
    counting = CorpusCounter(PreTokenizer(O200K), special_tokens=["<end>"])
    for path in paths:
        counting.add_stream([Path(path).read_bytes()])
    return dict(counting.finish().items())


def on_cluster(address: str, urls: list[str]) -> dict[bytes, int]:
    counting = CorpusCounter(PreTokenizer(O200K), special_tokens=["<end>"])
    cluster.count_on_cluster(address, urls, counting)
    return dict(counting.finish().items())


def test_a_worker_that_dies_loses_and_doubles_no_count(
    corpus: list[str], dask_workers: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cluster, "SLICE_BYTES", 5000)  # some 300 tasks
    expected = counted(corpus)
    killed = []

    def kill_one_half_way() -> None:
        from distributed import Client

        with Client(dask_workers.scheduler_address) as client:
            for _ in range(2000):
                done = client.run_on_scheduler(lambda dask_scheduler: sum(
                    task.state == "memory" for task in dask_scheduler.tasks.values()))  # fmt: skip
                if done > 40:
                    break
                time.sleep(0.005)
        process = next(iter(dask_workers.workers.values())).process.process
        os.kill(process.pid, signal.SIGKILL)
        killed.append(process.pid)

    killer = threading.Thread(target=kill_one_half_way)
    killer.start()
    found = on_cluster(dask_workers.scheduler_address, corpus)
    killer.join()
    assert killed
    assert found == expected


def test_urls_that_fsspec_opens_are_counted(corpus: list[str], dask_workers: Any) -> None:
    assert on_cluster(dask_workers.scheduler_address, [f"file://{path}" for path in corpus[:2]]) == counted(corpus[:2])


def test_what_is_wrong_with_a_part_is_said_with_its_name(dask_workers: Any, tmp_path: Path) -> None:
    bad = tmp_path / "bad.txt"
    bad.write_bytes(b"ab\xff")
    with pytest.raises(InputError, match=r"bad\.txt: not UTF-8 at byte 2"):
        on_cluster(dask_workers.scheduler_address, [str(bad)])
    with pytest.raises(InputError, match="no such file"):
        on_cluster(dask_workers.scheduler_address, [str(tmp_path / "none")])


def test_an_address_where_no_cluster_answers_is_an_error(corpus: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tokcli.cluster.connection.ANSWER_TIMEOUT", "1s")
    with pytest.raises(TokcliError, match="no cluster answers"):
        on_cluster("tcp://127.0.0.1:9", corpus[:1])


def children_of(pid: int) -> set[int]:
    """Return the processes that a process has started, and those that these have."""
    tasks = Path(f"/proc/{pid}/task").glob("*/children")
    direct = {int(child) for task in tasks for child in task.read_text().split()}
    return direct.union(*map(children_of, direct))


@pytest.mark.clock
@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="the children of a process are not listed here")
@pytest.mark.parametrize("wait", [0.0, 0.5, 2.0])
def test_ctrl_c_ends_the_workers_too(wait: float, corpus: list[str], tmp_path: Path) -> None:
    """Dask once waited for workers that were starting, for 10 s, and printed tracebacks."""
    arguments = [*corpus * 3000, "--dask", "local", "--vocab-size", "300", "-o", str(tmp_path / "out")]
    command = [sys.executable, "-m", "tokcli", "train", *arguments]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, env=without_coverage())
    until = time.monotonic() + 60
    while not (workers := children_of(process.pid)) and time.monotonic() < until:
        time.sleep(0.01)
    time.sleep(wait)
    workers |= children_of(process.pid)
    process.send_signal(signal.SIGINT)
    _, message = process.communicate(timeout=5)
    assert (process.returncode, message) == (130, b"")
    until = time.monotonic() + 10
    while any(Path(f"/proc/{worker}").exists() for worker in workers) and time.monotonic() < until:
        time.sleep(0.05)
    assert not [worker for worker in workers if Path(f"/proc/{worker}").exists()]
    assert not list(tmp_path.iterdir())
