"""What the fuzz of the native code found: inputs on which it once differed from the Python code."""

from __future__ import annotations

import pytest

import tokcli
from tokcli.engine.pretokenizers.known_patterns import CL100K

BYTES = {bytes([i]): i for i in range(256)}


def encoding(ranks: dict[bytes, int]) -> tokcli.Encoding:
    return tokcli.Encoding("x", pat_str=CL100K, mergeable_ranks=ranks, special_tokens={})


@pytest.mark.parametrize("text", ["\0\0", "\0\0\0", "\0" * 100])
def test_two_tokens_of_id_0_do_not_merge_into_one(text: str) -> None:
    enc = encoding(BYTES)
    assert enc.encode(text) == [0] * len(text)
    assert enc.decode(enc.encode(text)) == text
    assert enc.count(text) == len(text)


@pytest.mark.parametrize("text", ["a fez", "fezfezfezfezfezfez", "z" * 80])
def test_a_byte_that_the_vocabulary_lacks_is_missed_every_time(text: str) -> None:
    enc = encoding({token: rank for token, rank in BYTES.items() if token != b"z"})
    for _ in range(3):
        with pytest.raises(KeyError, match="0x7a"):
            enc.encode(text)
        with pytest.raises(KeyError, match="0x7a"):
            enc.count(text)
