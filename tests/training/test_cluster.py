"""Counting on a real Dask cluster of processes: what dies is done again, and nothing is counted twice."""

from __future__ import annotations

import gc
import os
import random
import signal
import threading
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tokcli.engine.known_patterns import O200K
from tokcli.engine.pretokenizer import PreTokenizer
from tokcli.errors import InputError, TokcliError
from tokcli.training import cluster
from tokcli.training.counting import Counting

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


@pytest.fixture(scope="module")
def workers() -> Iterator[Any]:
    from distributed import LocalCluster

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with LocalCluster(n_workers=3, threads_per_worker=1, dashboard_address=None, processes=True) as made:
            yield made
        gc.collect()


def counted(paths: list[str]) -> dict[bytes, int]:
    counting = Counting(PreTokenizer(O200K), special_tokens=["<end>"])
    for path in paths:
        counting.add_stream([Path(path).read_bytes()])
    return dict(counting.finish().items())


def on_cluster(address: str, urls: list[str]) -> dict[bytes, int]:
    counting = Counting(PreTokenizer(O200K), special_tokens=["<end>"])
    cluster.count_on_cluster(address, urls, counting)
    return dict(counting.finish().items())


def test_a_worker_that_dies_loses_and_doubles_no_count(
    corpus: list[str], workers: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cluster, "PART_BYTES", 5000)  # some 300 tasks
    expected = counted(corpus)
    killed = []

    def kill_one_half_way() -> None:
        from distributed import Client

        with Client(workers.scheduler_address) as client:
            for _ in range(2000):
                done = client.run_on_scheduler(lambda dask_scheduler: sum(
                    task.state == "memory" for task in dask_scheduler.tasks.values()))  # fmt: skip
                if done > 40:
                    break
                time.sleep(0.005)
        process = next(iter(workers.workers.values())).process.process
        os.kill(process.pid, signal.SIGKILL)
        killed.append(process.pid)

    killer = threading.Thread(target=kill_one_half_way)
    killer.start()
    found = on_cluster(workers.scheduler_address, corpus)
    killer.join()
    assert killed
    assert found == expected


def test_urls_that_fsspec_opens_are_counted(corpus: list[str], workers: Any) -> None:
    assert on_cluster(workers.scheduler_address, [f"file://{path}" for path in corpus[:2]]) == counted(corpus[:2])


def test_what_is_wrong_with_a_part_is_said_with_its_name(workers: Any, tmp_path: Path) -> None:
    bad = tmp_path / "bad.txt"
    bad.write_bytes(b"ab\xff")
    with pytest.raises(InputError, match=r"bad\.txt: not UTF-8 at byte 2"):
        on_cluster(workers.scheduler_address, [str(bad)])
    with pytest.raises(InputError, match="no such file"):
        on_cluster(workers.scheduler_address, [str(tmp_path / "none")])


def test_an_address_where_no_cluster_answers_is_an_error(corpus: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cluster, "PATIENCE", "1s")
    with pytest.raises(TokcliError, match="no cluster answers"):
        on_cluster("tcp://127.0.0.1:9", corpus[:1])
