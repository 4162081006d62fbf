"""`count` of many files: what each of them costs, and that files which come slowly hold up no others."""

from __future__ import annotations

import gzip
import io
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

import pytest
from support import ok

from tokcli.cli import streams
from tokcli.cli.count.count import asked_of, command
from tokcli.cli.count.many import HEAD_BYTES, SHORT_BYTES, ManyCounts
from tokcli.cli.request import TextRequest

MOST_CALLS = 60  # of functions, built-in ones included, until a short file is found, read and counted, and has its row


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """An empty folder is the current one."""
    monkeypatch.chdir(tmp_path)
    return


def counts_of(*arguments: str) -> ManyCounts:
    """Return the counts that a command line asks for."""
    given = command.make_context("count", list(arguments)).params
    return ManyCounts([TextRequest(asked_of(given))])


def test_a_short_file_takes_few_calls() -> None:
    calls: list[int] = []

    def called(_: object, event: str, __: object) -> None:
        calls[-1] += event in ("call", "c_call")

    for files in (200, 400):
        for number in range(files):
            Path(f"{number}.txt").write_text("hello world\n")
        counts = counts_of("-r", "-j", "1")
        calls.append(0)
        sys.setprofile(called)
        try:
            found = list(counts.rows())
        finally:
            sys.setprofile(None)
        assert [row.tokens for row in found] == [(3,)] * files
    assert (calls[1] - calls[0]) / 200 < MOST_CALLS


def test_a_file_that_comes_slowly_holds_up_no_other() -> None:
    is_done, opened = threading.Event(), threading.Event()

    def opens(name: str) -> BinaryIO:
        opened.set()
        assert is_done.wait(60)
        return io.FileIO(name)

    Path("a").write_text("hello world\n")
    counts = counts_of("a", "a")
    slow = threading.Thread(target=counts.outcomes, args=([streams.Input(name="a", opens=opens)],))
    slow.start()
    assert opened.wait(60)
    (outcome,) = counts.outcomes([streams.Input(name="a")])
    assert outcome.row is not None
    assert outcome.row.tokens == (3,)
    is_done.set()
    slow.join()


@pytest.mark.parametrize("size", [0, 1, HEAD_BYTES - 1, HEAD_BYTES, HEAD_BYTES + 1, SHORT_BYTES - 1, SHORT_BYTES])
def test_files_of_any_size_are_read_to_their_end(size: int) -> None:
    data = (b"hello " * (size // 6 + 1))[:size]
    Path("a").write_bytes(data)
    Path("b.gz").write_bytes(gzip.compress(data))
    expected = int(ok("count", data=data))
    assert [row.tokens for row in counts_of("-r").rows()] == [(expected,)] * 2
    assert [row.size for row in counts_of("-r").rows()] == [size] * 2


def test_a_file_whose_size_is_not_known_before_it_is_read_counts() -> None:
    name = "/proc/self/status"  # the system says that it has no bytes
    if not Path(name).exists():
        pytest.skip("there is no /proc")
    first, second = counts_of(name, name).rows()
    assert first.size > 100
    assert first.tokens == second.tokens != (0,)
