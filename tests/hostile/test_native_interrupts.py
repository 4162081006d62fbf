"""Ctrl-C ends every long call of the native module soon, and what it leaves behind can be used, or says that it cannot."""

from __future__ import annotations

import os
import signal
import threading
import time
from array import array
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import pytest
from support import Ranks

from tokcli.engine import backend

native: Any = backend.native()
pytestmark = [
    pytest.mark.clock,
    pytest.mark.no_cover,
    pytest.mark.skipif(native is None, reason="there is no native backend, or TOKCLI_BACKEND=python"),
    pytest.mark.skipif(not hasattr(signal, "SIGALRM"), reason="signals are sent as POSIX has it"),
    pytest.mark.skipif("libasan" in os.environ.get("LD_PRELOAD", ""), reason="ASan makes everything slow"),
]
CL100K = 1
MOST_SECONDS = 0.6  # of processor time, from the signal to the exception


@pytest.fixture(autouse=True)
def default_handler() -> Iterator[None]:
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def interrupted(call: Callable[[], object], after: float = 0.2) -> float:
    """The processor time that passed between Ctrl-C and the end of a call, which is repeated until then."""
    sent: list[float] = []

    def send() -> None:
        time.sleep(after)
        sent.append(time.process_time())
        os.kill(os.getpid(), signal.SIGINT)

    thread = threading.Thread(target=send)
    thread.start()
    try:
        while True:
            call()
            time.sleep(0)
    except KeyboardInterrupt:
        return time.process_time() - sent[0]
    finally:
        thread.join()


def vocabulary() -> Any:
    tokens = [bytes([i]) for i in range(256)] + [b"a" * (1 << power) for power in range(1, 8)]
    return native.Vocabulary(
        native.build_image(b"".join(tokens), array("I", map(len, tokens)), array("I", range(len(tokens))), bytes(32))
    )


def text_model() -> Any:
    model = native.TextModel(b"abab", array("I", [1, 1, 2]), array("I", [0, 1, 2]))
    model.set_words(0, b" ", False)
    model.set_unknown(0, array("I"), False)
    return model


def unigram() -> Any:
    model = text_model()
    model.use_unigram(array("d", [-1.0, -2.0, -2.5]), -10.0, 0)
    return model


def pairs() -> Any:
    model = text_model()
    model.use_pairs(array("Q", [1]), array("I", [0]), array("I", [2]), False, False, False, b"", b"")
    return model


def pieces() -> Any:
    table = native.PieceTable()
    for i in range(1 << 17):
        table.add(i.to_bytes(8, "little") * 2, 1)
    return table


def trainer() -> Any:
    made = native.Trainer(100_000, 1, 0, False, 0, array("I", [1] * 256), array("I", range(256)))
    made.add(array("I", [i * i % 251 for i in range(4_000_000)]), 1)
    return made


def added() -> Any:
    model = text_model()
    model.use_whole(True)
    model.set_added(False, [(LONG, 7, False, False, True)])
    return model


def stacks() -> Any:
    spans = array("Q", [0, len(A)])
    return native.Stacks(A.encode(), [(b"one ", spans), (b"two ", spans)], 80, b"", [], False)


def with_long_token(use: Callable[[Any], object], prefix: bytes = b"") -> Any:
    """A model with a token that every place of a text of "a" almost is: each is looked at for the whole of it."""
    tokens = [b"a", prefix + b"a", prefix + b"a" * (1 << 18) + b"b"]
    tokens = tokens if prefix else [b"a", b"b", tokens[2]]
    model = native.TextModel(b"".join(tokens), array("I", map(len, tokens)), array("I", range(3)))
    model.set_words(0, b" ", False)
    model.set_unknown(0, array("I"), False)
    use(model)
    return model


def with_kept_symbol() -> Any:
    def use(model: Any) -> None:
        model.set_kept([b"a" * (1 << 18) + b"b"])
        model.set_spaces(array("I"), b"", False, False, False, True, b" ")
        model.use_whole(True)

    return with_long_token(use)


A = "a" * (12 << 20)
LONG = b"a" * ((1 << 20) + 1)
IDS = array("I", [97]) * (8 << 20)

CALLS: dict[str, Callable[[], Callable[[], object]]] = {
    "count of one piece": lambda: partial(Ranks(vocabulary()).count, A),
    "count in threads": lambda: partial(Ranks(vocabulary()).count, ("a" * 1000 + " ") * (1 << 16), 3),
    "encode of one piece": lambda: partial(Ranks(vocabulary()).encode, A),
    "encode of a buffer": lambda: partial(Ranks(vocabulary()).encode, A.encode()),
    "encode_piece": lambda: partial(vocabulary().encode_pieces, A.encode(), array("Q", [len(A)])),
    "encode to a list": lambda: partial(Ranks(vocabulary()).encode, "b c" * (4 << 20), as_list=True),
    "encode_batch": lambda: partial(Ranks(vocabulary()).encode_batch, [A, A], 2),
    "decode": lambda: partial(vocabulary().decode, IDS.tolist()),
    "Decoder": lambda: partial(native.Decoder(vocabulary(), {}).decode, IDS, 4),
    "split": lambda: partial(native.split, "b c" * (8 << 20), CL100K),
    "format_ids": lambda: partial(native.format_ids, IDS, b" "),
    "parse_ids": lambda: partial(native.parse_ids, b"97 " * (8 << 20)),
    "valid_utf8": lambda: partial(native.valid_utf8, "é中".encode() * (8 << 20)),
    "a Unigram word": lambda: partial(unigram().encode, A, b"", b""),
    "a word of merges": lambda: partial(pairs().count, "ab" * (1 << 20), b"", b""),
    "a long token of Unigram": lambda: partial(
        with_long_token(lambda model: model.use_unigram(array("d", [-1.0, -2.0, -3.0]), -10.0, 0)).encode,
        A[: 1 << 20],
        b"",
        b"",
    ),
    "a long token of WordPiece": lambda: partial(
        with_long_token(lambda model: model.use_word_piece(b"#", 1 << 30), b"#").encode, A[: 1 << 20], b"", b""
    ),
    "a long kept symbol of llama.cpp": lambda: partial(with_kept_symbol().encode, A[: 1 << 20], b"", b""),
    "an added token of a megabyte": lambda: partial(added().count, A[: 1 << 20], b"\1", b""),
    "places of tokens": lambda: partial(
        added().encode_part, "é" + "b " * (4 << 20), b"\1", b"", 1, True, True, 0.0, True
    ),
    "one of the longest texts": lambda: partial(native.LongestMatch([LONG]).find, LONG[1:], len(LONG), 1),
    "replace_invalid": lambda: partial(native.replace_invalid, b"\xff a" * (8 << 20)),
    "split_invalid": lambda: partial(native.split_invalid, b"\xff a" * (8 << 20), 0, CL100K, True),
    "byte_spans": lambda: partial(native.byte_spans, "é".encode() * len(A), array("Q", range(len(A)))),
    "rows of stacks": lambda: partial(stacks().rows, 0, 1 << 40),
    "escape_pieces": lambda: partial(native.escape_pieces, A.encode(), array("Q", range(1, len(A) + 1)), b"", False),
    "a table of pieces": lambda: partial(native.PieceTable().count, b"b c" * (8 << 20), CL100K),
    "a table that is sorted": lambda: pieces().sort,
}


@pytest.mark.parametrize("name", CALLS)
def test_a_long_call_ends_with_ctrl_c(name: str) -> None:
    call = CALLS[name]()
    assert interrupted(call) < MOST_SECONDS


def test_a_trainer_ends_with_ctrl_c_and_is_of_no_use_then() -> None:
    is_of_use = True
    for after in (
        0.05,
        0.03,
        0.02,
        0.01,
        0.005,
    ):  # it is done after 0.08 s on a quick machine: Ctrl-C may come too late
        made = trainer()
        assert interrupted(lambda made=made: made.run(1_000_000_000, 1 << 30), after) < MOST_SECONDS
        try:
            made.run(1, 1)
        except RuntimeError as error:
            assert "in the middle of a call" in str(error)
            is_of_use = False
            break
    assert not is_of_use


def test_a_vocabulary_is_as_before_after_ctrl_c() -> None:
    used, expected = Ranks(vocabulary()), Ranks(vocabulary()).encode("aaab aab" * 1000, as_list=True)
    interrupted(lambda: used.count(A))
    assert used.encode("aaab aab" * 1000, as_list=True) == expected
    assert used.count(A[: 1 << 16]) == (1 << 16) // 128


def test_a_handler_that_only_looks_changes_no_answer() -> None:
    seen: list[int] = []
    used = Ranks(vocabulary())

    def look(*_: object) -> None:
        seen.append(used.count("a" * 256))

    before = signal.signal(signal.SIGALRM, look)
    signal.setitimer(signal.ITIMER_REAL, 0.05, 0.05)
    try:
        for _ in range(3):
            assert used.count(A, 2) == len(A) // 128
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert set(seen) == {2}


def test_a_handler_that_takes_what_is_in_use_gets_an_error() -> None:
    table, errors = native.PieceTable(), []

    def look(*_: object) -> None:
        try:
            len(table)
        except RuntimeError as error:
            errors.append(str(error))

    before = signal.signal(signal.SIGALRM, look)
    signal.setitimer(signal.ITIMER_REAL, 0.05, 0.05)
    try:
        while not errors:
            table.count(b"b c" * (4 << 20), CL100K)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert "in the middle of a call" in errors[0]
