"""Texts, tokens and buffers that somebody chose to make native tables slow, to overrun them, or to change under them."""

from __future__ import annotations

import random
import time
from array import array
from collections.abc import Callable
from typing import Any

import pytest

from tokcli.engine import backend

native: Any = backend.native()
pytestmark = [
    pytest.mark.clock,
    pytest.mark.no_cover,
    pytest.mark.skipif(native is None, reason="there is no native backend, or TOKCLI_BACKEND=python"),
]
CL100K = 1
WORD = 2**64 - 1
HASH_LOW = 0x9E3779B97F4A7C15
INVERSE = pow(HASH_LOW, -1, 2**64)
MOST_SECONDS = 5.0  # of processor time; each of these took minutes


def words(*numbers: int) -> array[int]:
    return array("I", numbers)


def seconds(call: Callable[[], object]) -> float:
    begin = time.process_time()
    call()
    return time.process_time() - begin


def colliding(count: int) -> list[bytes]:
    """Pieces of eight bytes that multiplying by HASH_LOW leads to the same place."""
    return [(i * INVERSE & WORD).to_bytes(8, "little") for i in range(1, count + 1)]


def mix(a: int, b: int) -> int:
    product = a * b
    return (product ^ product >> 64) & WORD


def equal_hashes(count: int) -> list[bytes]:
    """Pieces of sixteen bytes that have one hash in vocabulary images: the second word takes back what the first did."""
    rnd = random.Random(1)
    begin = 16 * HASH_LOW & WORD
    firsts = [rnd.getrandbits(64) for _ in range(count)]
    return [w.to_bytes(8, "little") + (mix(begin ^ w, 0xE7037ED1A0B428DB) ^ 1).to_bytes(8, "little") for w in firsts]


# --- tables that are filled with what was chosen to collide -------------------------------------------------------------


@pytest.mark.parametrize("pieces", [colliding(60_000), equal_hashes(60_000)], ids=["short", "long"])
def test_pieces_that_once_had_one_hash_are_counted_in_time(pieces: list[bytes]) -> None:
    table = native.PieceTable()
    assert seconds(lambda: [table.add(piece, 1) for piece in pieces]) < MOST_SECONDS
    assert len(table) == len(set(pieces))


def text_model(tokens: list[bytes]) -> Any:
    return native.TextModel(b"".join(tokens), array("I", map(len, tokens)), array("I", range(len(tokens))))


def test_a_model_of_tokens_that_once_had_one_hash_is_made_in_time() -> None:
    assert seconds(lambda: text_model(colliding(60_000))) < MOST_SECONDS


def test_merges_that_once_had_one_hash_are_read_in_time() -> None:
    numbers = [i * INVERSE & WORD for i in range(1, 60_001)]
    model = text_model([b"a"])
    made = array("I", bytes(4 * len(numbers)))
    assert (
        seconds(lambda: model.use_pairs(array("Q", numbers), made, made, False, False, False, b"", b"")) < MOST_SECONDS
    )


@pytest.mark.parametrize("tokens", [colliding(100_000), equal_hashes(100_000)], ids=["short", "long"])
def test_tokens_with_one_hash_make_no_image_and_take_no_time(tokens: list[bytes]) -> None:
    def build() -> None:
        with pytest.raises(ValueError, match="the same hash"):
            native.build_image(
                b"".join(tokens), array("I", map(len, tokens)), array("I", range(len(tokens))), bytes(32)
            )

    assert seconds(build) < MOST_SECONDS


def test_an_encoding_of_tokens_with_one_hash_still_encodes() -> None:
    import tokcli

    hostile = colliding(30_000)
    ranks = {token: rank for rank, token in enumerate([*(bytes([i]) for i in range(256)), *hostile])}
    encoding = tokcli.Encoding("hostile", pat_str=r"[\s\S]{1,8}", mergeable_ranks=ranks, special_tokens={})
    begin = time.process_time()
    assert encoding.encode("abc") == [97, 98, 99]
    assert encoding.encode_single_token(hostile[7]) == 256 + 7
    assert time.process_time() - begin < 2 * MOST_SECONDS


def ids_of_added(texts: list[bytes], text: str) -> list[int]:
    """Return the ids of the added tokens alone: any other text is unknown, and has one id."""
    model = native.TextModel(b"", array("I"), array("I"))
    model.set_unknown(1 << 20, array("I"), False)
    model.use_whole(True)
    model.set_words(0, b" ", False)
    model.set_added(False, [(data, number, False, False, False) for number, data in enumerate(texts)])
    return [number for number in model.encode(text, b"\1" * len(texts), b"", 1, True) if number < 1 << 20]


def test_many_added_tokens_with_one_first_character_are_found_in_time() -> None:
    texts = [f"<{i:06}>".encode() for i in range(100_000)]
    texts += [f"<{i:06}".encode() for i in range(0, 100_000, 1000)]
    text = "".join(f"<{i:06}>x<{i:06} <" for i in range(0, 100_000, 50))
    found: list[list[int]] = []
    assert seconds(lambda: found.append(ids_of_added(texts, text))) < MOST_SECONDS
    expected = []
    for i in range(0, 100_000, 50):
        expected += [i, *([100_000 + i // 1000] if i % 1000 == 0 else [])]
    assert found[0] == expected


def test_the_longest_added_token_is_found_in_all_kinds_of_text() -> None:
    texts = [text.encode() for text in ("ab", "abc", "abcé", "abcé中", "abx", "a", "中a", "中ab")]
    for text, expected in [
        ("abcé中abcéabcab abx a aa", [3, 2, 1, 0, 4, 5, 5, 5]),
        ("zab", [0]),
        ("中ab中a中", [7, 6]),
        ("abcé", [2]),
        ("a", [5]),
    ]:
        assert ids_of_added(texts, text) == expected
