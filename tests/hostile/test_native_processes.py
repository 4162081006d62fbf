"""Native calls that are going on while the process ends or forks: neither is held up, and nothing is half done."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from array import array
from collections.abc import Callable
from typing import Any

import pytest
from children import status_within
from support import pipeline_of

from tokcli.engine import backend
from tokcli.engine.bpe.byte_alphabet import byte_token
from tokcli.engine.spec.models import Pairs
from tokcli.engine.spec.normalizers import UnicodeForm

native: Any = backend.native()
pytestmark = [
    pytest.mark.no_cover,
    pytest.mark.skipif(native is None, reason="there is no native backend, or TOKCLI_BACKEND=python"),
]
CL100K = 1

ENDING = """
import threading, time
from array import array
from tokcli.engine import backend
native = backend.native()
image = native.build_image(bytes(range(256)), array("I", [1] * 256), array("I", range(256)), bytes(32))
vocabulary = native.Vocabulary(image)
data = b"hello world " * 30000
text = data.decode()
table = native.PieceTable()
def work(call):
    while True:
        call()
for call in (
    lambda: vocabulary.count(text, 1, 2),
    lambda: vocabulary.encode(text, 1, as_list=True),
    lambda: vocabulary.encode_batch([text, text], 1, False, 2),
    lambda: table.count(data, 1),
    lambda: native.valid_utf8(data),
    lambda: native.format_ids(vocabulary.encode(text, 1), b" "),
):
    threading.Thread(target=work, args=(call,), daemon=True).start()
time.sleep(0.3)
"""


@pytest.mark.clock
@pytest.mark.parametrize("attempt", range(3))
def test_threads_that_encode_while_the_interpreter_ends_hurt_nobody(attempt: int) -> None:
    ran = subprocess.run([sys.executable, "-W", "ignore", "-c", ENDING], capture_output=True, timeout=60, check=False)
    assert (ran.returncode, ran.stderr) == (0, b""), attempt


def exit_of_child(call: Callable[[], object], seconds: float = 20) -> int | None:
    """The status with which a child ends that makes this call; None where it is still at it after some seconds."""
    child = os.fork()
    if child == 0:
        try:
            call()
        except RuntimeError:
            os._exit(3)
        finally:
            os._exit(0)
    return status_within(child, seconds)


class Working:
    """Threads that make a call again and again."""

    def __init__(self, *calls: Callable[[], object]) -> None:
        self.stopped = False
        self.threads = [threading.Thread(target=self.work, args=(call,)) for call in calls]

    def work(self, call: Callable[[], object]) -> None:
        while not self.stopped:
            call()

    def __enter__(self) -> None:
        for thread in self.threads:
            thread.start()
        time.sleep(0.1)

    def __exit__(self, *_: object) -> None:
        self.stopped = True
        for thread in self.threads:
            thread.join()


needs_fork = [
    pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork"),
    pytest.mark.filterwarnings("ignore:This process:DeprecationWarning"),
]


@pytest.mark.clock
@pytest.mark.process
@pytest.mark.parametrize("_", [pytest.param(None, marks=needs_fork)])
def test_the_child_of_a_fork_encodes_while_others_did(_: None) -> None:
    image = native.build_image(bytes(range(256)), array("I", [1] * 256), array("I", range(256)), bytes(32))
    vocabulary = native.Vocabulary(image)
    with Working(*[lambda: vocabulary.encode_batch(["a b"] * 50, CL100K)] * 4):
        for _attempt in range(10):
            assert exit_of_child(lambda: vocabulary.count("a b" * 100_000, CL100K, 3)) == 0


@pytest.mark.clock
@pytest.mark.process
@pytest.mark.parametrize("_", [pytest.param(None, marks=needs_fork)])
def test_the_child_of_a_fork_finds_rules_for_characters_while_others_read_theirs(_: None) -> None:
    model = Pairs({byte_token(byte): byte for byte in range(256)}, {}, byte_fallback=True)
    parts = pipeline_of(model, normalizer=(UnicodeForm("NFD"),))
    assert parts.native is not None
    twin, text = parts.native, "abc d\u0301" * 200_000
    expected = twin.count(text, frozenset())
    with Working(*[lambda: twin.count(text, frozenset())] * 3):
        for _attempt in range(5):
            assert exit_of_child(lambda: twin.count("\u4e2d\u6587" * 100, frozenset())) == 0
    assert twin.count(text, frozenset()) == expected


@pytest.mark.clock
@pytest.mark.process
@pytest.mark.parametrize("_", [pytest.param(None, marks=needs_fork)])
def test_what_a_fork_leaves_half_done_is_refused_in_the_child(_: None) -> None:
    table, data = native.PieceTable(), b"b c" * (4 << 20)
    statuses: list[int | None] = []
    with Working(lambda: table.count(data, CL100K)):
        while 3 not in statuses and len(statuses) < 50:  # (now and then nobody counts at the moment of a fork)
            statuses.append(exit_of_child(lambda: table.count(b"a", CL100K)))
            time.sleep(0.01)
    assert 3 in statuses
    assert None not in statuses
    assert len(table) == 3
