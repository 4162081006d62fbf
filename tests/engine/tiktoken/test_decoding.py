"""Ids become the text and the bytes of their tokens, however the str widens and wherever the characters are cut."""

from __future__ import annotations

import random
import sys
from collections.abc import Sequence

import pytest

import tokcli
from tokcli.engine import backend
from tokcli.errors import UnknownTokenError

CHUNK = 1 << 13  # bytes that are decoded at a time: module/classes/decoding.cc
SAMPLED = 64 * 32  # ids, of which the first 64 are in the sample
ENCODINGS = ["cl100k_base", "o200k_base"]


def bytes_of(enc: tokcli.Encoding, ids: Sequence[int]) -> bytes:
    return b"".join(map(enc.decode_single_token_bytes, ids))


@pytest.mark.parametrize("wide", ["\x7f", "\xff", "\u0416", "\u4e2d", "\uffff", "\U0001f600", "\U0010ffff"])
@pytest.mark.parametrize("narrow", ["ab cd ", "\xe9 \xe8 ", "\u4e2d "])
@pytest.mark.parametrize("size", [1, CHUNK // 4, 2 * CHUNK])
def test_one_wide_character_anywhere_makes_the_str_that_python_makes(narrow: str, wide: str, size: int) -> None:
    enc = tokcli.get_encoding("cl100k_base")
    for expected in (narrow * size + wide + narrow * (size // 2), wide + narrow * size, narrow * size + wide):
        ids = enc.encode(expected)
        text = enc.decode(ids)
        assert text == expected
        assert sys.getsizeof(text) == sys.getsizeof(expected)  # of the same kind, so that it has the same hash
        assert enc.decode_bytes(ids) == text.encode()


@pytest.mark.parametrize("token", [b"\x00", b" " * 64])
def test_ids_that_are_not_like_the_sample_of_them(token: bytes) -> None:
    enc = tokcli.get_encoding("cl100k_base")
    ids = enc.encode(" " * 64 if len(token) == 1 else "\x00") * (4 * SAMPLED)
    for first in range(0, len(ids), SAMPLED):
        ids[first : first + 64] = [enc.encode_single_token(token)] * 64
    assert enc.decode_bytes(ids) == bytes_of(enc, ids)
    assert enc.decode(ids) == bytes_of(enc, ids).decode()


@pytest.mark.parametrize("name", ENCODINGS)
def test_characters_whose_bytes_are_in_several_tokens(name: str) -> None:
    enc, rnd = tokcli.get_encoding(name), random.Random(4)
    text = "".join(chr(rnd.choice((0x1F9FF, 0x10FFFD, 0x2F800, 0x3FFFD, 0x7FF, ord("a")))) for _ in range(3 * CHUNK))
    ids = enc.encode(text)
    assert len(ids) > len(text)
    assert enc.decode(ids) == text
    for first in range(5):  # so that chunks end anywhere in a character, and the first one is cut
        assert enc.decode(ids[first:]) == bytes_of(enc, ids[first:]).decode("utf-8", "replace")
        assert enc.decode(ids[: len(ids) - first]) == bytes_of(enc, ids[: len(ids) - first]).decode("utf-8", "replace")


@pytest.mark.parametrize("count", [0, 1, 2, 63, 64, 65, 3000, 30_000])
def test_any_ids_at_all(count: int) -> None:
    enc, rnd = tokcli.get_encoding("cl100k_base"), random.Random(count)
    ids = [rnd.randrange(100_256) for _ in range(count)]
    assert enc.decode_bytes(ids) == bytes_of(enc, ids)
    assert enc.decode(ids) == bytes_of(enc, ids).decode("utf-8", "replace")


class Number:
    """What has an `__index__`, and runs Python code in it."""

    def __init__(self, number: int, ids: list[object]) -> None:
        self.number, self.ids = number, ids

    def __index__(self) -> int:
        self.ids.clear()
        return self.number


@pytest.mark.skipif(backend.native() is None, reason="about the native decoder")
def test_ids_that_are_no_ints_and_change_the_list_are_read_as_the_list_was() -> None:
    enc = tokcli.get_encoding("cl100k_base")
    plain = enc.encode("hello world " * 3000)
    for place in (0, 100, len(plain) - 1):
        for decode in (enc.tokenizer.inner.native_tokens.decode, enc.tokenizer.inner.native_tokens.decode_str):
            ids: list[object] = list(plain)
            ids[place] = Number(plain[place], ids)
            assert decode(ids) == decode(plain)
            assert ids == []
    for kind in (tuple, type("Ids", (list,), {}), lambda ids: dict.fromkeys(range(len(ids)), 0).keys()):
        ids_of_kind = kind(plain)
        assert enc.tokenizer.inner.native_tokens.decode(ids_of_kind) == bytes_of(enc, list(ids_of_kind))


@pytest.mark.parametrize("place", [0, 70, 9000])
@pytest.mark.parametrize("bad", [100_256, 2**32 - 1])
def test_an_id_that_is_no_token_is_named_wherever_it_is(place: int, bad: int) -> None:
    enc = tokcli.get_encoding("cl100k_base")
    ids = [100] * 10_000
    ids[place] = bad
    for decode in (enc.decode, enc.decode_bytes):
        with pytest.raises((UnknownTokenError, KeyError), match=str(bad)):
            decode(ids)
    for worse, error in ((2**32, OverflowError), (-1, OverflowError), ("a", TypeError), (None, TypeError)):
        ids[place] = worse  # type: ignore[call-overload]
        with pytest.raises((error, KeyError)):
            enc.decode(ids)
