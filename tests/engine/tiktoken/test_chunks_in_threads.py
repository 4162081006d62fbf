"""Threads that take the chunks of a text, or the texts of a batch, one by one put their ids where one thread puts them."""

from __future__ import annotations

import os
import random
import signal
import threading
from contextlib import suppress
from itertools import pairwise

import pytest
from support import Twin

import tokcli
from tokcli.engine import backend
from tokcli.engine.pretokenizers.known_patterns import CL100K

pytestmark = [
    pytest.mark.no_cover,
    pytest.mark.skipif(backend.native() is None, reason="there is no native backend, or TOKCLI_BACKEND=python"),
]

MOST_THREADS = 8
LEAST_BYTES = 1 << 18  # for a thread: EncoderPool
SPECIAL = "<|endoftext|>"
WORDS = [
    "the ",
    "word",
    " and",
    "\n",
    " 12",
    "'s",
    "\u00e9t\u00e9 ",
    "\u4e2d\u6587 ",
    "\U0001f600",
    "  ",
    "ABC",
    SPECIAL,
]


def text_of(words: list[str], seed: int = 3) -> str:
    """A text that eight threads share."""
    rnd, parts, size = random.Random(seed), [], 0
    while size < MOST_THREADS * LEAST_BYTES:
        parts += rnd.choices(words, k=10_000)
        size += len("".join(parts[-10_000:]).encode())
    return "".join(parts)


TEXTS = {
    "words": text_of(WORDS),
    "special tokens at every border": SPECIAL * (MOST_THREADS * LEAST_BYTES // len(SPECIAL) + 1),
    "nearly as many ids as bytes": text_of(["\x01", "\x02", "z ", "\x7f"]),
    "one place to cut": "1\xe9" * LEAST_BYTES + "a " + "1\xe9" * LEAST_BYTES,
    "no place to cut": "1" * (2 * LEAST_BYTES),
}


@pytest.mark.parametrize("name", TEXTS)
def test_one_to_eight_threads_give_the_same_ids(name: str) -> None:
    text, enc = TEXTS[name], tokcli.get_encoding("cl100k_base")
    native, data = Twin(enc), text.encode()
    alone = bytes(native.encode_array(text, 1))
    assert bytes(native.encode_array(data)) == alone
    for threads in range(2, MOST_THREADS + 1):
        assert bytes(native.encode_array(text, threads)) == alone
        assert native.count(text, threads) * 4 == len(alone)


@pytest.mark.parametrize("threads", [2, 3, 8])
def test_the_texts_of_a_batch_keep_their_order(threads: int) -> None:
    enc, rnd = tokcli.get_encoding("o200k_base"), random.Random(8)
    text = TEXTS["words"]
    cuts = sorted({0, len(text), *(rnd.randrange(len(text)) for _ in range(400))})
    texts = ["", *(text[a:b] for a, b in pairwise(cuts)), "", text[: LEAST_BYTES * 2]]
    ids, offsets = enc.encode_array_batch(texts, num_threads=threads)
    expected, ends = enc.encode_array_batch(texts, num_threads=1)
    assert ids == expected
    assert offsets == ends
    assert len(offsets) == len(texts) + 1
    assert enc.encode_ordinary_batch(texts, num_threads=threads) == [expected[a:b].tolist() for a, b in pairwise(ends)]


@pytest.mark.parametrize("at", [0, 0.3, 0.999])
@pytest.mark.parametrize("threads", [1, 4])
def test_a_byte_that_no_token_has_ends_all_threads(at: float, threads: int) -> None:
    ranks = {bytes([byte]): byte for byte in range(256) if byte != ord("z")}
    enc = tokcli.Encoding("x", pat_str=CL100K, mergeable_ranks=ranks, special_tokens={})
    text = "a word " * (LEAST_BYTES // 3)
    assert len(Twin(enc).encode_array(text, threads)) == len(text)
    place = int(at * len(text))
    bad = text[:place] + "z" + text[place:]
    assert Twin(enc).encode_array(bad, threads) is None
    assert Twin(enc).count(bad, threads) is None
    for texts in ([bad, text], [text, bad]):
        assert Twin(enc).encode_batch(texts, threads) is None
        assert Twin(enc).encode_batch_lists(texts, threads) is None
    assert len(Twin(enc).encode_array(text, threads)) == len(text)


@pytest.mark.process
@pytest.mark.signals
@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
def test_a_fork_in_the_middle_of_a_call_leaves_both_processes_able_to_encode() -> None:
    enc, text = tokcli.get_encoding("cl100k_base"), TEXTS["words"] * 2
    expected, children = len(enc.encode_array(text)), []
    before = signal.signal(signal.SIGALRM, lambda *_: children.append(os.fork()))
    signal.setitimer(signal.ITIMER_REAL, 0.02)
    results = set()
    try:
        while not children:
            with suppress(RuntimeError):  # in the child: the other threads of the call are gone
                results.add(len(Twin(enc).encode_array(text, 4)))
        results.add(len(Twin(enc).encode_array(text, 4)))
    finally:
        if children == [0]:
            os._exit(0 if results == {expected} else 1)
        signal.signal(signal.SIGALRM, before)
    assert results == {expected}
    assert os.waitpid(children[0], 0)[1] == 0


def test_calls_in_several_threads_that_have_several_threads_give_the_same_ids() -> None:
    enc, text = tokcli.get_encoding("cl100k_base"), TEXTS["words"]
    expected, found = bytes(enc.encode_array(text)), []
    calls = [threading.Thread(target=lambda: found.append(bytes(Twin(enc).encode_array(text, 3)))) for _ in range(3)]
    for call in calls:
        call.start()
    for call in calls:
        call.join()
    assert found == [expected] * 3
