"""`count --dask` and `encode --shards --dask` on a real cluster: the answers are those of a run without one."""

from __future__ import annotations

import gzip
import json
import os
import random
import signal
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from support import HARD_ATOMS, ROOT, ok, refused

from tokcli.cli import cluster_work
from tokcli.cli.main import run
from tokcli.cluster import connection
from tokcli.cluster.files import size_of_url
from tokcli.cluster.tasks import connected, in_order
from tokcli.errors import InputError

pytest.importorskip("distributed")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore"),  # what a process that was killed leaves open
]
TOKENIZER = ROOT / "tests" / "data" / "formats" / "byte-level.tokenizer.json"


class Answer(NamedTuple):
    """What a run gave: its status, its output, and what it said."""

    status: int
    out: bytes
    err: bytes


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with texts of every size, some of them wrong; nearly every one is cut into several tasks."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(cluster_work, "TASK_BYTES", 20_000)
    chance = random.Random(7)
    words = ["".join(chance.choices("abcdefghé世", k=chance.randint(1, 9))) for _ in range(2000)]

    def text(size: int) -> str:
        return "".join(chance.choice(words) + chance.choice([" ", "\n", ", ", "  "]) for _ in range(size))

    Path("long.txt").write_text(text(60_000))
    for number in range(9):
        Path(f"{number}.txt").write_text(text(number * 40))
    lines = [json.dumps({"text": one}) for one in [*HARD_ATOMS, *(text(200) for _ in range(300)), ""]]
    Path("lines.jsonl").write_text("\n".join([*lines[:100], "", *lines[100:]]) + "\n")
    Path("lines.jsonl.gz").write_bytes(gzip.compress(Path("lines.jsonl").read_bytes()))
    Path("wrong.jsonl").write_text("".join(f"{line}\n" for line in [*lines, '{"text": 1}', *lines]))
    Path("wrong.txt").write_bytes(text(30_000).encode() + b"\xff" + text(100).encode())
    Path("binary").write_bytes(b"\0" * 50_000)
    return tmp_path


def answer(capfdbinary: pytest.CaptureFixture[bytes], *arguments: str) -> Answer:
    """Run a command here; an error abandons standard output, which the next run needs."""
    kept = os.dup(1)
    status = run(list(arguments))
    os.dup2(kept, 1)
    os.close(kept)
    return Answer(status, *capfdbinary.readouterr())


def files_in(folder: str) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in Path(folder).rglob("*") if path.is_file()}


@pytest.mark.parametrize(
    "arguments",
    [
        ["long.txt"],
        ["long.txt", "0.txt", "8.txt", "none.txt", "wrong.txt", "lines.jsonl.gz"],
        ["wrong.txt"],
        ["-r", "--json"],
        ["-r", "--csv", "-e", "cl100k_base", "-e", str(TOKENIZER)],
        ["-r", "--tree", "--max", "5000"],
        ["--errors", "replace", "--jsonl", "wrong.txt", "1.txt"],
        ["--add-special-tokens", "-e", str(TOKENIZER), "long.txt", "3.txt"],
        ["--records", "jsonl", "lines.jsonl", "lines.jsonl.gz"],
        ["--records", "jsonl", "--json", "--max", "600", "lines.jsonl"],
        ["--records", "lines", "--total", "long.txt", "1.txt"],
    ],
    ids=" ".join,
)
def test_a_cluster_counts_as_this_machine_does(
    arguments: list[str], folder: Path, dask_workers: Any, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    del folder
    here = answer(capfdbinary, "count", *arguments)
    assert answer(capfdbinary, "count", "--dask", dask_workers.scheduler_address, *arguments) == here


def test_a_cluster_gets_nothing_to_load_where_the_first_input_is_refused() -> None:
    class NoCluster:
        def submit(self, *_: object, **__: object) -> None:
            raise AssertionError("something was sent")

    def items() -> Iterator[str]:
        raise InputError("not a file")
        yield ""

    with pytest.raises(InputError):
        list(in_order(NoCluster(), str.upper, items(), "shared"))


def test_a_url_that_is_not_there_says_so() -> None:
    with pytest.raises(InputError, match=r"^memory://nope: no such file or directory$"):
        size_of_url("memory://nope")


def test_a_wrong_record_ends_the_counts_where_it_is(
    folder: Path, dask_workers: Any, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    del folder
    asked = ["count", "--records", "jsonl", "wrong.jsonl"]
    here = answer(capfdbinary, *asked)
    there = answer(capfdbinary, *asked, "--dask", dask_workers.scheduler_address)
    assert (there.status, there.out) == (here.status, here.out) != (0, b"")
    assert b"Error: wrong.jsonl: after byte " in there.err
    assert b"is not a string" in there.err


@pytest.mark.parametrize("layout", ["flat", "datatrove", "megatron", "npy"])
@pytest.mark.parametrize(
    "arguments",
    [
        ["--records", "jsonl", "lines.jsonl", "lines.jsonl.gz"],
        ["--records", "jsonl", "-e", str(TOKENIZER), "lines.jsonl"],
        ["--records", "jsonl", "--shard-of", "2/3", "lines.jsonl", "lines.jsonl.gz"],
        ["long.txt", *(f"{number}.txt" for number in range(9))],
        ["-e", str(TOKENIZER), "--add-special-tokens", "5.txt", "long.txt"],
        ["-r", "-q"],
    ],
    ids=" ".join,
)
def test_a_cluster_writes_the_shards_that_this_machine_does(
    layout: str, arguments: list[str], folder: Path, dask_workers: Any, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    del folder
    asked = ["encode", "--special", "text", "--layout", layout, "--shard-tokens", "9000", *arguments]
    here = answer(capfdbinary, *asked, "--shards", "here/ids")
    made = files_in("here/ids")
    for path in sorted(Path("here").rglob("*"), reverse=True):  # -r would find them
        path.unlink() if path.is_file() else path.rmdir()
    there = answer(capfdbinary, *asked, "--shards", "there/ids", "--dask", dask_workers.scheduler_address)
    assert there == here
    assert len(made) > 2
    assert files_in("there/ids") == made


def test_what_is_wrong_is_said_in_the_same_words(
    folder: Path, dask_workers: Any, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    del folder
    for name in ("wrong.txt", "none.txt"):
        here = answer(capfdbinary, "encode", "--shards", "here", "1.txt", name)
        there = answer(
            capfdbinary, "encode", "--shards", "there", "--dask", dask_workers.scheduler_address, "1.txt", name
        )
        assert there == here
        assert here.status == 2


def test_a_run_goes_on_with_or_without_a_cluster(
    folder: Path, dask_workers: Any, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    del folder
    good = Path("lines.jsonl").read_bytes()
    asked = ["encode", "--special", "text", "--shard-tokens", "3000", "--records", "jsonl", "corpus.jsonl"]
    Path("corpus.jsonl").write_bytes(good)
    answer(capfdbinary, *asked, "--shards", "whole")
    times = Path("corpus.jsonl").stat()
    before, _, after = good.rpartition(b'"text"')
    Path("corpus.jsonl").write_bytes(before + b'"tex" ' + after)  # the last record has no text
    os.utime("corpus.jsonl", ns=(times.st_atime_ns, times.st_mtime_ns))
    assert answer(capfdbinary, *asked, "--shards", "resumed", "--dask", dask_workers.scheduler_address).status == 2
    assert len(files_in("resumed")) > 3
    Path("corpus.jsonl").write_bytes(good)
    os.utime("corpus.jsonl", ns=(times.st_atime_ns, times.st_mtime_ns))
    assert answer(capfdbinary, *asked, "--shards", "resumed").status == 0
    assert files_in("resumed") == files_in("whole")


def test_urls_are_counted_and_encoded(
    folder: Path, dask_workers: Any, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    asked = ["--dask", dask_workers.scheduler_address]
    here = answer(capfdbinary, "count", "long.txt")
    assert answer(capfdbinary, "count", *asked, f"file://{folder}/long.txt") == here
    done = answer(
        capfdbinary, "encode", "--shards", "ids", *asked, f"file://{folder}/long.txt", f"file://{folder}/1.txt"
    )
    assert done == (0, b"", b"")
    assert answer(capfdbinary, "decode", "ids").out == Path("long.txt").read_bytes() + Path("1.txt").read_bytes()
    for url, why in (("nowhere://x/y", b"protocol not known"), (f"file://{folder}/none", b"no such file")):
        failed = answer(capfdbinary, "count", *asked, url)
        assert failed.status == 2
        assert why in failed.err.lower()


def test_a_worker_that_dies_changes_no_shard(
    folder: Path, dask_workers: Any, capfdbinary: pytest.CaptureFixture[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    del folder
    monkeypatch.setattr(cluster_work, "TASK_BYTES", 1000)
    asked = ["encode", "--shard-tokens", "9000", "--records", "lines", "long.txt"]
    answer(capfdbinary, *asked, "--shards", "here")

    def kill_one() -> None:
        until = time.monotonic() + 30
        while not list(Path().glob("there/*1.bin")) and time.monotonic() < until:
            time.sleep(0.005)
        os.kill(next(iter(dask_workers.workers.values())).process.process.pid, signal.SIGKILL)

    killer = threading.Thread(target=kill_one)
    killer.start()
    assert answer(capfdbinary, *asked, "--shards", "there", "--dask", dask_workers.scheduler_address).status == 0
    killer.join()
    assert files_in("there") == files_in("here")


def test_a_cluster_of_this_machine_is_started_for_a_run(tmp_path: Path) -> None:
    (tmp_path / "text").write_text("hello world")
    assert ok("count", "--dask", "local", "-j", "1", "text", cwd=tmp_path) == b"2\n"


def test_a_cluster_reads_files_only() -> None:
    assert "--dask reads files and urls" in refused("count", "--dask", "local", "-", data=b"x")
    assert "--text" in refused("count", "--dask", "local", "-t", "x")
    assert "--shards" in refused("encode", "--dask", "local", "x")


def test_the_end_of_the_workers_is_not_cut_off_by_the_same_ctrl_c() -> None:
    """A timer repeats Ctrl-C every quarter of a second, and once cut off what ends the workers: some lived on."""
    handlers = [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGALRM)]
    with connection._undisturbed():
        for number in (signal.SIGINT, signal.SIGALRM):
            signal.raise_signal(number)
    assert [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGALRM)] == handlers


def test_ctrl_c_in_the_middle_of_a_lock_is_a_ctrl_c(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(**_: object) -> None:
        try:
            raise KeyboardInterrupt
        finally:
            threading.Lock().release()  # as Condition.__exit__ does

    monkeypatch.setattr("distributed.LocalCluster", interrupted)
    with pytest.raises(KeyboardInterrupt), connected("local", 1):
        pass
