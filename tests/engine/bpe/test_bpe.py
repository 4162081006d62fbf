"""Merging one piece: the two algorithms agree with the definition, and neither is quadratic in memory or time."""

from __future__ import annotations

import itertools
import random
from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st

import tokcli
from tokcli.engine.bpe import bpe
from tokcli.engine.bpe.bpe import CACHE_PIECE_CHARS
from tokcli.errors import UnknownTokenError


def merge_by_definition(ranks: dict[bytes, int], piece: bytes) -> list[int]:
    """As the seeds put it: the pair of the lowest rank, the leftmost, again and again."""
    parts = [piece[i : i + 1] for i in range(len(piece))]
    while pairs := [(ranks[a + b], i) for i, (a, b) in enumerate(itertools.pairwise(parts)) if a + b in ranks]:
        _, i = min(pairs)
        parts[i : i + 2] = [parts[i] + parts[i + 1]]
    return [ranks[part] for part in parts]


@st.composite
def vocabularies(draw: st.DrawFn) -> dict[bytes, int]:
    """Few letters and many tokens, in any order, so that merges compete; some no merge can reach."""
    tokens = draw(st.lists(st.text("abc", min_size=2, max_size=6).map(str.encode), unique=True, max_size=30))
    ranks = draw(st.permutations(range(3, 3 + len(tokens))))
    return {b"a": 0, b"b": 1, b"c": 2, **dict(zip(tokens, ranks, strict=True))}


@given(vocabularies(), st.text("abc", min_size=1, max_size=60).map(str.encode))
def test_scanning_and_heap_merge_as_the_definition(ranks: dict[bytes, int], piece: bytes) -> None:
    expected = merge_by_definition(ranks, piece)
    for merge in (bpe.merge_by_scanning, bpe.merge_by_heap):
        bounds = merge(ranks, piece)
        assert [ranks[piece[a:b]] for a, b in itertools.pairwise(bounds)] == expected


@given(vocabularies(), st.text("abc", min_size=1, max_size=30).map(str.encode))
def test_the_last_merge_step_is_the_encoding(ranks: dict[bytes, int], piece: bytes) -> None:
    *_, last = bpe.merge_steps(ranks, piece)
    assert [ranks[part] for part in last.parts] == merge_by_definition(ranks, piece)


@given(vocabularies(), st.text("abc", min_size=1, max_size=12).map(str.encode))
def test_a_piece_that_is_a_token_is_not_merged(ranks: dict[bytes, int], piece: bytes) -> None:
    expected = [ranks[piece]] if piece in ranks else merge_by_definition(ranks, piece)
    assert bpe.encode_piece(ranks, piece) == expected


def test_a_missing_byte_is_named() -> None:
    with pytest.raises(UnknownTokenError, match="0x7a"):
        bpe.encode_piece({b"a": 0}, b"az")


@pytest.mark.no_cover
@pytest.mark.slow
@pytest.mark.parametrize("unit", [b"a", b"ab", b"\xff", b"0123456789"])
def test_a_piece_of_a_million_bytes_is_merged(unit: bytes) -> None:
    ranks = tokcli.get_encoding("cl100k_base")._mergeable_ranks
    piece = unit * (1_000_000 // len(unit))
    ids = bpe.encode_piece(ranks, piece)
    token_of = {rank: token for token, rank in ranks.items()}
    assert b"".join(token_of[i] for i in ids) == piece


def test_the_cache_never_holds_more_than_its_limit_and_no_long_pieces() -> None:
    enc = tokcli.get_encoding("cl100k_base")
    cache = bpe.PieceCache(partial(bpe.encode_piece, enc._mergeable_ranks), limit=100)
    rnd = random.Random(7)
    for _ in range(1000):
        piece = "".join(rnd.choices("abcdefgh", k=rnd.randrange(1, 100)))
        assert list(cache[piece]) == bpe.encode_piece(enc._mergeable_ranks, piece.encode())
        assert len(cache) <= 100
        assert all(len(known) <= CACHE_PIECE_CHARS for known in cache)


def test_parents_of_every_token_merge_into_it() -> None:
    enc = tokcli.get_encoding("r50k_base")
    for token, rank in list(enc._mergeable_ranks.items())[::97]:
        found = enc.tokenizer.parents(rank)
        if len(token) == 1:
            assert found is None
        elif found is not None:
            left, right = found
            assert enc.decode_bytes([left, right]) == token
            assert max(left, right) < rank
