"""What the native backend keeps of the pieces it has merged never changes an id, however many there are of them."""

from __future__ import annotations

import random
import subprocess
import sys
from collections.abc import Iterator

import pytest
from support import Twin, first_in_gate, rounds

import tokcli
from tokcli.engine import backend

pytestmark = [
    pytest.mark.no_cover,
    pytest.mark.skipif(backend.native() is None, reason="there is no native backend, or TOKCLI_BACKEND=python"),
]
LETTERS = [
    "abcdefghijklmnopqrstuvwxyz",
    "абвгдежзийклмнопрстуфхцчшщ",
    "αβγδεζηθικλμνξοπρστυφχψω",
    "가나다라마바사아자차",
]


def rare_words(rnd: random.Random, count: int) -> Iterator[str]:
    """words of 2 to 40 letters that are hardly ever tokens: some fit a key, some have many ids, some are too long to keep"""
    for _ in range(count):
        letters = rnd.choice(LETTERS)
        yield "".join(rnd.choices(letters, k=rnd.choice((2, 3, 5, 8, 8, 13, 21, 40))))


@pytest.mark.parametrize("name", first_in_gate(["cl100k_base", "o200k_base"]))
def test_many_words_have_the_ids_of_the_reference_and_the_same_ones_again(name: str) -> None:
    enc, rnd = tokcli.get_encoding(name), random.Random(45)
    for _ in range(rounds(5)):
        words = list(rare_words(rnd, 15_000))
        text = " ".join(words)
        ids = enc.encode_array(text)
        enc.count(" ".join(rnd.sample(words, len(words))))
        assert enc.encode_array(text) == ids
        assert enc.count(text) == len(ids)
        part = " ".join(words[:500])
        expected = enc.tokenizer.inner.encode(part)
        assert Twin(enc).encode(part) == expected
        assert ids[: len(expected) - 9].tolist() == expected[:-9]  # the last word goes on


# counts texts of ever new words in some threads, and prints by how many kB the memory has grown
MEMORY = """
import random, resource, sys
from concurrent.futures import ThreadPoolExecutor
import tokcli
encs = [tokcli.get_encoding(name) for name in ("cl100k_base", "o200k_base")]
def count(number):
    rnd = random.Random(number)
    text = " ".join("%x" % rnd.getrandbits(64) for _ in range(100_000)).translate(dict(zip(b"0123456789", "ghijklmnop")))
    return encs[number % 2].count(text)
def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
with ThreadPoolExecutor(4) as pool:
    sum(pool.map(count, range(4)))
    before = peak()
    print(sum(pool.map(count, range(4, 64))), peak() - before)
"""


@pytest.mark.slow
@pytest.mark.memory
@pytest.mark.skipif(sys.platform != "linux", reason="ru_maxrss is in kB")
def test_the_stores_of_all_encodings_and_threads_have_a_bound_together() -> None:
    ran = subprocess.run([sys.executable, "-c", MEMORY], capture_output=True, check=True)
    tokens, grown = map(int, ran.stdout.split())
    assert tokens > 20_000_000
    assert grown < 80 << 10  # 64 MB of stores, and what four threads have of texts
