"""minbpe's models natively: the ids of the readable reference, for texts that are one piece and ids with the same bytes."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise
from time import process_time

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support import examples, hard_text

import tokcli
from tokcli.engine import backend
from tokcli.engine.minbpe.model import BYTES, MinBpe
from tokcli.engine.stream import parts
from tokcli.engine.tokenizer import Tokenizer
from tokcli.errors import InputError
from tokcli.formats.minbpe import spec_of_pairs

pytestmark = pytest.mark.skipif(backend.native() is None, reason="the reference does the work")

# ab and bc, and two ids for abc, of which merging makes one; runs of a; pairs of such tokens; a pair across words
PAIRS = [(97, 98), (98, 99), (256, 99), (97, 257), (97, 97), (260, 260), (260, 97), (258, 259), (258, 258), (32, 97)]
TEXT = "abra cadabra, ab abc bcabc " * 9 + "the quick brown fox jumps over the lazy dog\n" * 5


def learnt(text: str, merges: int) -> list[tuple[int, int]]:
    """Return the pairs that are joined one after the other, each the commonest then."""
    ids, pairs = list(text.encode()), []
    for number in range(BYTES, BYTES + merges):
        (pair, _), *_ = Counter(pairwise(ids)).most_common(1)
        pairs.append(pair)
        joined: list[int] = []
        for one in ids:
            if joined and (joined[-1], one) == pair:
                joined[-1] = number
            else:
                joined.append(one)
        ids = joined
    return pairs


def encoding(pairs: list[tuple[int, int]], pattern: str | None, special: dict[str, int]) -> tokcli.Encoding:
    return tokcli.Encoding.of("minbpe", Tokenizer("minbpe", MinBpe(spec_of_pairs(pairs, special, pattern))))


ENCODINGS = [
    encoding(learnt(TEXT, 50), None, {}),
    encoding(PAIRS, None, {"<e>": 900, "<f>": 901}),
    encoding(PAIRS, r"\w+|\W", {"<e>": 900}),
]
texts = st.one_of(
    hard_text(20),
    st.text("abc ", max_size=400),
    st.lists(st.sampled_from(["abc", "<e>", "<f>", "the quick", "cadabra"])).map("".join),
    st.integers(0, 400).map(lambda at: TEXT[at:] * 2 + TEXT[: 2 * at]),
)


@examples(300)
@given(st.sampled_from(ENCODINGS), texts, st.booleans(), st.lists(st.integers(0, 99), max_size=4))
def test_ids_are_those_of_the_reference(enc: tokcli.Encoding, text: str, is_allowed: bool, sizes: list[int]) -> None:
    assert enc.tokenizer.ranked is not None
    allowed = frozenset(enc.special_tokens_set) if is_allowed else frozenset()
    expected = enc.tokenizer.inner.encode(text, allowed)
    assert enc.tokenizer.encode(text, allowed) == expected
    assert enc.decode(expected) == text
    data, blocks = text.encode(), []
    for size in sizes:
        blocks.append(data[:size])
        data = data[size:]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("tokcli.engine.stream.utf8.FIRST_CHUNK_BYTES", 1)
        found = enc.tokenizer.read_parts([*blocks, data], parts.ReadOptions(allowed=allowed))
        assert [number for part in found for number in enc.tokenizer.encode_part(part)] == expected


def test_a_special_token_that_begins_another_hides_it_as_in_minbpe() -> None:
    enc = encoding(PAIRS, None, {"<e>": 900, "<e>x": 901})
    assert enc.encode("a<e>x", allowed_special="all") == [97, 900, 120]
    enc = encoding(PAIRS, None, {"<e>x": 901, "<e>": 900})
    assert enc.encode("a<e>x<e>", allowed_special="all") == [97, 901, 900]


@pytest.mark.clock
@pytest.mark.parametrize("text", [TEXT, "a", "ab", "aab", "abcabca", "é中😀 "])
def test_the_time_for_one_piece_grows_with_its_size(text: str) -> None:
    for enc in ENCODINGS[:2]:

        def seconds(size: int, enc: tokcli.Encoding = enc) -> float:
            whole = text * (size // len(text.encode()))
            begun = process_time()
            enc.count(whole)
            return process_time() - begun

        seconds(10_000)
        assert seconds(2_000_000) < 10 * seconds(500_000) + 0.2


def test_a_text_above_the_limit_of_a_piece_is_refused_with_its_place(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parts, "MAX_UNCUT_BYTES", 1 << 20)
    monkeypatch.setattr("tokcli.engine.stream.chunks.MAX_PIECE_BYTES", 1 << 20)
    enc = ENCODINGS[1]
    with pytest.raises(InputError, match="piece above 1 MiB begins at byte 0"):
        list(enc.tokenizer.read_parts([b"a b" * 1000] * 1000))
