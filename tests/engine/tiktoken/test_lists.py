"""Long lists of ids, which native code makes part by part, are those that short texts and arrays have."""

from __future__ import annotations

import gc
import sys
import weakref
from typing import cast

import pytest

import tokcli
from tokcli.engine import backend

pytestmark = [
    pytest.mark.no_cover,
    pytest.mark.skipif(backend.native() is None, reason="there is no native backend, or TOKCLI_BACKEND=python"),
]

WORDS = "The cat sat on the mat, and 17 dogs looked at it. "
# texts of several parts: even ones, and such of which the first parts say little about how many ids there will be
LONG = {
    "even": WORDS * 40_000,
    "wide": ("Wörter und мама, 漢字. " + WORDS) * 20_000,
    "dense at the end": "internationalization " * 50_000 + "\x01\x02\x03\x04 a" * 100_000,
    "dense at first": "\x01\x02\x03\x04 a" * 100_000 + " internationalization" * 50_000,
    "one piece at the end": WORDS * 12_000 + "a" * 600_000,
}


@pytest.mark.parametrize("what", LONG)
def test_a_long_list_has_the_ids_of_the_array_and_no_more_room(what: str) -> None:
    enc, text = tokcli.get_encoding("cl100k_base"), LONG[what]
    ids = enc.encode_ordinary(text)
    assert ids == enc.encode_array(text).tolist()
    assert sys.getsizeof(ids) == sys.getsizeof([]) + len(ids) * 8
    assert gc.is_tracked(ids)


def test_a_long_list_may_grow_and_shrink() -> None:
    enc = tokcli.get_encoding("cl100k_base")
    ids, expected = enc.encode_ordinary(LONG["even"]), enc.encode_array(LONG["even"]).tolist()
    for numbers in (ids, expected):
        numbers.extend(numbers[:1000])
        numbers.append(7)
        del numbers[5:-1000]
        numbers.insert(3, 8)
    assert ids == expected


def test_half_a_surrogate_pair_after_many_parts_is_a_replacement_character() -> None:
    enc = tokcli.get_encoding("cl100k_base")
    assert enc.encode_ordinary(LONG["wide"] + "\ud800") == enc.encode_ordinary(LONG["wide"] + "\ufffd")


def test_a_batch_of_many_texts_has_the_lists_of_each() -> None:
    enc = tokcli.get_encoding("cl100k_base")
    texts = [WORDS * (1 + number % 400) for number in range(300)]
    for threads in (1, 3):
        assert enc.encode_ordinary_batch(texts, num_threads=threads) == list(map(enc.encode_ordinary, texts))


class Circle:
    """An object whose references may be of any kind."""

    made: object


def test_the_lists_of_a_batch_are_known_to_the_garbage_collector() -> None:
    made = tokcli.get_encoding("gpt2").encode_ordinary_batch(["a b", "", "c"] * 1000, num_threads=2)
    assert all(map(gc.is_tracked, made))
    circle = Circle()
    died, circle.made = weakref.ref(circle), made
    cast("list[object]", made[1]).append(circle)
    del made, circle
    gc.collect()
    assert died() is None
