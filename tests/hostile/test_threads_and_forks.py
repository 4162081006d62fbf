"""Threads that share an encoding, processes that fork while others encode, and interpreters that end meanwhile."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from support import ROOT, without_coverage

import tokcli
from tokcli.engine.stream import parallel

FORMATS = ROOT / "tests" / "data" / "formats"
VOCABULARIES = [
    "cl100k_base",
    "byte-level.tokenizer.json",
    "unigram.tokenizer.json",
    "wordpiece.tokenizer.json",
    "unigram.model",
    "bpe.model",
]
TEXT = "Hello, wörld! 日本語 👩\u200d👩\u200d👧 e\u0301 1234567 \t\r\n  don't <|endoftext|> ﬁ ½ İ " * 20
CHILD_SECONDS = 20  # for what takes a few milliseconds: only a lock that nobody opens takes longer

needs_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")


def opened(name: str) -> tokcli.Encoding:
    """An encoding that has done nothing yet."""
    if (FORMATS / name).exists():
        return tokcli.load_encoding(FORMATS / name)
    from tokcli.registry.registered import make_registered

    return make_registered(name)


def run(code: str, *arguments: str, seconds: float = 60) -> subprocess.CompletedProcess[str]:
    """What a Python process does that runs some code; a process that hangs is ended and fails the test.

    It is not measured: a fork may copy the lock of coverage while another thread holds it, and the child waits for it.
    """
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments],
        capture_output=True,
        text=True,
        timeout=seconds,
        cwd=ROOT / "tests",
        env=without_coverage(),
    )
    assert "Traceback" not in done.stderr, done.stderr
    return done


# --- threads ---------------------------------------------------------------------------------------------------------


class NoRoom(dict[int, object]):
    """Results of which none can be kept, as where a table cannot grow."""

    def __setitem__(self, number: int, result: object) -> None:
        raise MemoryError


@pytest.mark.timeout(60)
@pytest.mark.parametrize("may_wait", [True, False])
def test_a_thread_that_cannot_keep_its_result_is_not_waited_for(may_wait: bool) -> None:
    crew = parallel._Crew(abs, iter([2, 3]), 1, 2, may_wait=may_wait)
    crew._results = NoRoom()  # type: ignore[assignment]
    with pytest.raises(MemoryError):
        list(crew.results())


@pytest.mark.timeout(60)
@pytest.mark.parametrize("may_wait", [True, False])
@pytest.mark.parametrize("begin", [0, 1])
def test_threads_that_never_begin_leave_their_work_to_the_others(
    begin: int, may_wait: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    start, left = parallel._thread.start_new_thread, [begin]

    def start_some(run: Callable[..., object], arguments: tuple[object, ...]) -> int:
        left[0] -= 1
        return start(run, arguments) if left[0] >= 0 else 0

    monkeypatch.setattr(parallel._thread, "start_new_thread", start_some)
    monkeypatch.setattr(parallel, "PATIENCE_TO_BEGIN", 0.1)
    assert list(parallel.ordered(abs, iter(range(-9, 0)), 3, may_wait=may_wait)) == list(range(9, 0, -1))


@pytest.mark.parametrize("name", VOCABULARIES)
def test_32_threads_on_a_new_encoding_get_the_ids_of_one(name: str) -> None:
    texts = [TEXT[at:] for at in range(32)]
    alone = opened(name)
    expected = [(alone.encode_ordinary(text), alone.count(text), alone.split(text)) for text in texts]
    shared, begin = opened(name), threading.Barrier(32)

    def work(text: str) -> tuple[list[int], int, list[str]]:
        begin.wait()
        return shared.encode_ordinary(text), shared.count(text), shared.split(text)

    with ThreadPoolExecutor(32) as pool:
        assert list(pool.map(work, texts)) == expected


def test_32_threads_that_ask_for_an_encoding_get_one_object() -> None:
    code = """
import threading, tokcli
from concurrent.futures import ThreadPoolExecutor
begin = threading.Barrier(32)
def work(number):
    begin.wait()
    encoding = tokcli.get_encoding(("cl100k_base", "o200k_base")[number % 2])
    return encoding, tuple(encoding.encode("hello world"))
with ThreadPoolExecutor(32) as pool:
    found = list(pool.map(work, range(32)))
print(len({id(encoding) for encoding, _ in found}), len({ids for _, ids in found}))
"""
    assert run(code).stdout.split() == ["2", "2"]


@pytest.mark.parametrize("first", ["mergeable_ranks", "native_tokens", "reference"])
def test_two_encodings_are_loaded_at_once_by_many_threads(first: str) -> None:
    encodings = [opened(name) for name in ("r50k_base", "p50k_base")]
    begin = threading.Barrier(8)

    def work(number: int) -> list[int]:
        begin.wait()
        encoding = encodings[number % 2]
        getattr(encoding.tokenizer.inner, first if number < 4 else "decoder")
        return encoding.encode(encoding.decode(encoding.encode("hello world")))

    with ThreadPoolExecutor(8) as pool:
        assert len({tuple(ids) for ids in pool.map(work, range(8), timeout=60)}) == 1


# --- forks -----------------------------------------------------------------------------------------------------------

FORK = f"""
import faulthandler, os, sys, threading
import tokcli
from tokcli.registry import registered

def child_can(work):
    "Whether a child of this process does some work; one that hangs is ended."
    child = os.fork()
    if not child:
        faulthandler.dump_traceback_later({CHILD_SECONDS}, exit=True)
        work()
        os._exit(0)
    return os.waitpid(child, 0)[1] == 0

def during(block, work):
    "Whether a child of this process can work while another thread is inside of `block`."
    inside, leave = threading.Event(), threading.Event()
    def stay():
        with block:
            inside.set()
            leave.wait()
    thread = threading.Thread(target=stay)
    thread.start()
    inside.wait()
    done = child_can(work)
    leave.set()
    thread.join()
    return done
"""


@pytest.mark.process
@needs_fork
def test_a_child_opens_an_encoding_while_a_thread_of_its_parent_does() -> None:
    code = FORK + 'print(during(registered._lock, lambda: tokcli.get_encoding("cl100k_base").encode("hello")))'
    assert run(code).stdout == "True\n"


@pytest.mark.process
@needs_fork
def test_a_child_reads_ranks_while_a_thread_of_its_parent_does() -> None:
    code = (
        FORK
        + """
ranks = {bytes([byte]): byte for byte in range(256)}
def encoding(load):
    made = tokcli.Encoding("x", pat_str=".+", mergeable_ranks=ranks, special_tokens={})
    made.tokenizer.inner.load_ranks = load
    return made
inside, leave = threading.Event(), threading.Event()
def slowly():
    inside.set()
    leave.wait()
    return ranks
thread = threading.Thread(target=lambda: encoding(slowly).token_byte_values())
thread.start()
inside.wait()
print(child_can(encoding(lambda: ranks).token_byte_values))
leave.set()
thread.join()
"""
    )
    assert run(code).stdout == "True\n"


@pytest.mark.process
@needs_fork
def test_a_child_imports_what_a_thread_of_its_parent_is_importing() -> None:
    code = (
        FORK
        + """
from importlib.machinery import PathFinder
inside, leave = threading.Event(), threading.Event()
class Slow:
    def find_spec(self, name, path, target=None):
        if name == "tokcli.engine.bpe.merges" and threading.current_thread() is thread:
            spec = PathFinder.find_spec(name, path)
            run = spec.loader.exec_module
            spec.loader.exec_module = lambda module: (inside.set(), leave.wait(), run(module))
            return spec
sys.meta_path.insert(0, Slow())
enc = tokcli.get_encoding("cl100k_base")
step = enc.tokenizer.merge_steps
thread = threading.Thread(target=lambda: step(b"ab"))
thread.start()
inside.wait()
print(child_can(lambda: list(step(b"ab"))))
leave.set()
thread.join()
print(len(list(step(b"ab"))))
"""
    )
    assert run(code).stdout == "True\n2\n"


@pytest.mark.process
@needs_fork
@pytest.mark.parametrize("name", VOCABULARIES)
def test_children_encode_whatever_the_threads_of_their_parent_do(name: str) -> None:
    code = (
        FORK
        + """
path = sys.argv[1]
enc = tokcli.load_encoding(path) if os.path.exists(path) else tokcli.get_encoding(path)
text = sys.argv[2]
good = enc.encode_ordinary(text)
ends = False
def encode():
    while not ends:
        enc.encode_ordinary(text), enc.count(text), enc.encode_array_batch([text] * 9), enc.decode(good)
threads = [threading.Thread(target=encode) for _ in range(4)]
for thread in threads:
    thread.start()
def work():
    assert enc.encode_ordinary(text) == good
    assert enc.encode_batch([text] * 9, disallowed_special=()) == [good] * 9
    assert len(enc.encode_array_batch([text] * 9)[0]) == 9 * len(good)
    assert enc.encode_ordinary("\\u0416\\u6f22\\u0e01") is not None
print(sum(child_can(work) for _ in range(25)))
ends = True
for thread in threads:
    thread.join()
"""
    )
    path = FORMATS / name
    assert run(code, str(path) if path.exists() else name, TEXT, seconds=110).stdout == "25\n"


# --- the end ---------------------------------------------------------------------------------------------------------


@pytest.mark.clock
@pytest.mark.parametrize("name", VOCABULARIES)
@pytest.mark.parametrize("method", ["encode_ordinary", "count", "encode_array", "split"])
def test_an_interpreter_ends_while_daemon_threads_encode(name: str, method: str) -> None:
    code = """
import os, sys, threading, time
import tokcli
path = sys.argv[1]
enc = tokcli.load_encoding(path) if os.path.exists(path) else tokcli.get_encoding(path)
text = sys.argv[2] * 50
def work():
    while True:
        getattr(enc, sys.argv[3])(text)
for _ in range(4):
    threading.Thread(target=work, daemon=True).start()
time.sleep(0.1)
"""
    path = FORMATS / name
    done = run(code, str(path) if path.exists() else name, TEXT, method)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.clock
def test_a_thread_that_was_left_behind_reads_files_to_the_end(tmp_path: Path) -> None:
    file = tmp_path / "text"
    file.write_text(TEXT * 200, "utf-8")
    code = """
import sys, threading, time
import tokcli
enc = tokcli.get_encoding("o200k_base")
for _ in range(4):
    threading.Thread(target=lambda: [enc.count_file(sys.argv[1]) for _ in range(99)], daemon=True).start()
time.sleep(0.1)
"""
    done = run(code, str(file))
    assert (done.returncode, done.stderr) == (0, "")
