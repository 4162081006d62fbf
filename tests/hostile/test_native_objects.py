"""Native objects that somebody makes twice, changes while they are read, or uses in a child that a signal handler forked."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from array import array
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import children
import pytest

from tokcli.engine import backend

native: Any = backend.native()
pytestmark = [
    pytest.mark.no_cover,
    pytest.mark.skipif(native is None, reason="there is no native backend, or TOKCLI_BACKEND=python"),
]


def vocabulary() -> Any:
    image = native.build_image(bytes(range(256)), array("I", [1] * 256), array("I", range(256)), bytes(32))
    return native.Vocabulary(image)


class Running:
    """Bytes that run some code whenever they are read."""

    def __init__(self, data: bytes, code: Callable[[], object]) -> None:
        self.data, self.code = data, code

    def __buffer__(self, _flags: int) -> memoryview:
        self.code()
        return memoryview(self.data)


needs_python_buffers = pytest.mark.skipif(sys.version_info < (3, 12), reason="no class in Python has a buffer")
CLASSES = [name for name in dir(native) if isinstance(getattr(native, name, None), type)]


@pytest.mark.filterwarnings("ignore:nanobind:RuntimeWarning")
@pytest.mark.parametrize("name", CLASSES)
def test_an_object_that_init_has_not_seen_is_made_or_refused(name: str) -> None:
    kind = getattr(native, name)
    with suppress(TypeError):
        empty = kind.__new__(kind)
        for method in (getattr(empty, name) for name in dir(kind) if callable(getattr(kind, name)) and name[0] != "_"):
            with suppress(TypeError):  # all others of nanobind's errors, or none where it was made
                method()


# An object that was made twice in one place was twice in the list of locks, which then had no end.
MADE_TWICE = """
import os
from array import array
from children import status_within
from tokcli.engine import _native as native

class Running:
    def __buffer__(self, _flags):
        make(b"ab")
        return memoryview(b"ab")

def make(tokens):
    model.__init__(tokens, array("I", [1, 1]), array("I", [0, 1]))

model = native.TextModel.__new__(native.TextModel, b"ab", array("I", [1, 1]), array("I", [0, 1])) if MAKES else \
    native.TextModel.__new__(native.TextModel)
make(Running())
child = os.fork()
if child == 0:
    os._exit(0)
print(status_within(child, 10))
"""


@pytest.mark.process
@needs_python_buffers
@pytest.mark.parametrize("makes", [False, True])
def test_an_object_is_made_once(makes: bool) -> None:
    assert output_of(MADE_TWICE.replace("MAKES", str(makes))) == "0\n"


def output_of(script: str) -> str:
    ran = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", script],
        env=os.environ | {"PYTHONPATH": str(Path(children.__file__).parent)},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (ran.returncode, ran.stderr) == (0, "")
    return ran.stdout


@needs_python_buffers
def test_a_decoder_keeps_the_tokens_that_a_dict_had() -> None:
    def clear() -> None:
        tokens.clear()
        junk.extend([[None] * 4 for _ in range(1000)])

    junk: list[object] = []
    tokens: dict[int, Any] = {}
    tokens.update({10**6 + number: Running(b"abc", clear) for number in range(50)})
    decoder = native.Decoder(vocabulary(), tokens)
    assert decoder.decode(array("I", range(10**6, 10**6 + 50)), 4) == b"abc" * 50


def test_pieces_come_before_the_first_merge() -> None:
    trainer, table = (
        native.Trainer(2000, 1, 0, False, 0, array("I", [1] * 256), array("I", range(256))),
        native.PieceTable(),
    )
    table.add(b"abc", 1)
    trainer.add(array("I", [1, 2, 3]), 10**6)
    trainer.add(array("I", range(200)), 1)
    trainer.run(0, 0)
    trainer.add_table(table, False)
    trainer.run(1000, 1)
    for add in (
        lambda: trainer.add(array("I", range(200)), 1),
        lambda: trainer.add_table(table, False),
        lambda: trainer.add_block(b""),
    ):
        with pytest.raises(ValueError, match="after the first merge"):
            add()
    assert trainer.run(1000, 1 << 30)[1] is False


def test_a_number_of_any_size_that_does_not_fit_is_an_overflow() -> None:
    for number in (10**5000, -(10**5000), 2**64, -1):
        with pytest.raises(OverflowError, match="does not fit into"):
            vocabulary().decode([number])


def test_places_before_a_text_of_any_number_are_refused_or_0() -> None:
    decoder = native.Decoder(vocabulary(), {})
    with pytest.raises(ValueError, match="no text is so long"):
        decoder.spans(array("I", [0x80]), -(2**63), True)
    assert decoder.spans(array("I", [0x80]), -(2**62), True) == bytes(16)


@pytest.mark.clock
def test_merges_and_texts_that_are_given_again_and_again_take_no_time() -> None:
    begin = time.process_time()
    merges = array("I", [0, 1, 2] * 300_000)
    live = native.live_merges(b"abab", array("I", [1, 1, 2]), array("I", range(3)), merges)
    assert list(array("I", live)) == [0]
    for text in ("a", "a" * 100):
        native.merge_ids([text] * 300_000, array("I", range(300_000)), [], 0)
    assert time.process_time() - begin < 3  # it took minutes


# A list is filled while signal handlers may run, and one of them may look at all lists there are.
LOOKS = """
import gc, signal
from array import array
from tokcli.engine import _native as native

image = native.build_image(bytes(range(256)), array("I", [1] * 256), array("I", range(256)), bytes(32))
vocabulary = native.Vocabulary(image)

def look(*_):
    for found in gc.get_objects():
        if type(found) is list:
            for item in found:
                break
            for item in found[-1:]:
                repr(item)

signal.signal(signal.SIGALRM, look)
gc.collect()
gc.freeze()
for _ in range(8):
    signal.setitimer(signal.ITIMER_REAL, 0.002, 0.002)
    ids = vocabulary.encode("b c " * (2 << 20), 1, as_list=True)
    signal.setitimer(signal.ITIMER_REAL, 0)
    assert len(ids) == 8 << 20
    assert gc.is_tracked(ids)
    del ids
"""


@pytest.mark.clock
@pytest.mark.skipif(sys.platform == "win32", reason="signals are sent as POSIX has it")
def test_a_signal_handler_sees_no_list_that_is_not_filled() -> None:
    assert output_of(LOOKS) == ""


# What a signal handler forks goes on in the middle of the call; `CALL` is made until it has, and then `AFTER`.
FORKS = """
import os, signal
from array import array
from children import status_within
from tokcli.engine import _native as native

def fork(*_):
    if not children:
        children.append(os.fork())

children = []
PREPARE
signal.signal(signal.SIGALRM, fork)
signal.setitimer(signal.ITIMER_REAL, 0.06, 0.06)
try:
    while not children:
        CALL
except RuntimeError as error:
    assert children[0] == 0 and "left behind" in str(error), error
signal.setitimer(signal.ITIMER_REAL, 0)
if children[0] == 0:
    AFTER
    os._exit(0)
print(status_within(children[0], 20))
"""
VOCABULARY = """
image = native.build_image(bytes(range(256)), array("I", [1] * 256), array("I", range(256)), bytes(32))
vocabulary = native.Vocabulary(image)
"""
MODEL = """
model = native.TextModel(b"ab", array("I", [1, 1]), array("I", [0, 1]))
model.set_unknown(0, array("I"), False)
model.set_words(0, b" ", False)
model.use_whole(True)
model.add_step(3, b"", b"", False, False)
model.set_characters([("lower", "")], b"", b"", b"")
"""


@pytest.mark.clock
@pytest.mark.process
@pytest.mark.skipif(sys.platform == "win32", reason="there is no fork")
@pytest.mark.parametrize(
    ("prepare", "call", "after"),
    [
        (VOCABULARY, 'vocabulary.count("b c " * (4 << 20), 1, 3)', 'assert vocabulary.count("b c " * 10, 1, 3) == 40'),
        (
            VOCABULARY,
            'vocabulary.encode_batch(["b c " * (1 << 18)] * 8, 1, True, 3)',
            'vocabulary.count("b", 1)',
        ),
        (MODEL, 'model.count("a" * (8 << 20), b"", b"")', 'model.count("b", b"", b"")'),
        ("table = native.PieceTable()", 'table.count(b"b c " * (4 << 20), 1)', "len(table)"),
    ],
)
def test_the_child_that_a_signal_handler_forks_goes_on(prepare: str, call: str, after: str) -> None:
    script = FORKS.replace("PREPARE", prepare).replace("CALL", call).replace("AFTER", after)
    assert output_of(script) == "0\n"
