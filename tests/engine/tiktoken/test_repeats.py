"""Pieces that repeat a character, or a few of them, have the ids that merging their bytes one by one gives."""

from __future__ import annotations

import random
from itertools import pairwise

import pytest
from support import rounds

import tokcli
from tokcli.engine import backend
from tokcli.engine.bpe.bpe import encode_piece, merge_by_scanning

pytestmark = [
    pytest.mark.no_cover,
    pytest.mark.skipif(backend.native() is None, reason="there is no native backend, or TOKCLI_BACKEND=python"),
]

NAMES = ("gpt2", "r50k_base", "p50k_base", "p50k_edit", "cl100k_base", "o200k_base", "o200k_harmony")
UNITS = (" ", "\n", "-", "=", "a", "\u3000", "\U0001f602", "\0", "\t", "0", "\u2500", "\u4e2d", "ab", "-=")
# Where windows of 62 bytes, of 256, and of 64 cells end, and a little beside it.
LENGTHS = (1, 2, 3, 61, 62, 63, 64, 65, 127, 128, 129, 255, 256, 257, 511, 512, 513, 640)


def assert_merged(name: str, piece: str) -> None:
    encoding = tokcli.get_encoding(name)
    expected = encode_piece(encoding._mergeable_ranks, piece.encode())
    assert encoding._encode_single_piece(piece) == expected
    assert encoding.decode_bytes(expected) == piece.encode()


@pytest.mark.parametrize("name", ["r50k_base", "cl100k_base", "o200k_base"])
def test_a_run_has_the_ids_of_its_bytes(name: str) -> None:
    for unit in UNITS:
        for length in LENGTHS:
            assert_merged(name, unit * length)


@pytest.mark.slow
@pytest.mark.timeout(1000)
@pytest.mark.parametrize("name", NAMES)
def test_a_run_of_any_length_has_the_ids_of_its_bytes(name: str) -> None:
    for unit in UNITS:
        for length in range(1, 3001):
            assert_merged(name, unit * length)


@pytest.mark.parametrize("name", ["r50k_base", "cl100k_base", "o200k_base"])
def test_a_piece_of_several_runs_has_the_ids_of_its_bytes(name: str) -> None:
    rnd = random.Random(7)
    for most in (20, 100, 300):
        for _ in range(rounds(150)):
            units = rnd.choices((*UNITS, "x", "\u4e2d\u6587", "e", "\r\n"), k=rnd.randrange(1, 5))
            assert_merged(name, "".join(rnd.choice(units) * rnd.randrange(1, most) for _ in range(rnd.randrange(1, 9))))


@pytest.mark.parametrize("name", ["r50k_base", "cl100k_base", "o200k_base"])
def test_any_two_neighbours_in_a_long_run_are_what_their_bytes_merge_into(name: str) -> None:
    # tokens are what a text merges into if this is so (native/bpe/merging/long_merge.cc says why)
    encoding = tokcli.get_encoding(name)
    for unit in UNITS:
        ids = encoding._encode_single_piece(unit * 100_000)
        assert encoding.decode_bytes(ids) == unit.encode() * 100_000
        for left, right in set(pairwise(ids)):
            both = encoding.decode_bytes([left, right])
            bounds = merge_by_scanning(encoding._mergeable_ranks, both)
            assert list(bounds) == [0, len(both) - len(encoding.decode_bytes([right])), len(both)]
