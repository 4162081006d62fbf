"""Merges by pairs as ranks by bytes: only where both do the same, which random merges show."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from tokcli.engine.bpe import encode_piece
from tokcli.engine.pair_bpe import SHIFT, merge
from tokcli.engine.ranked import ranks_of_pairs

LETTERS = st.integers(97, 99)


@st.composite
def pairs(draw: st.DrawFn) -> list[tuple[int, int]]:
    found: list[tuple[int, int]] = []
    for _ in range(draw(st.integers(0, 8))):
        known = st.one_of(LETTERS, st.integers(256, 255 + len(found))) if found else LETTERS
        pair = draw(known), draw(known)
        if pair not in found:
            found.append(pair)
    return found


@settings(max_examples=400, deadline=None)
@given(pairs=pairs(), text=st.text("abc", max_size=24))
def test_ranks_are_given_only_where_they_merge_as_the_pairs_do(pairs: list[tuple[int, int]], text: str) -> None:
    ranks = ranks_of_pairs(pairs)
    if ranks is None or not text:
        return
    merges = {a << SHIFT | b: (rank, 256 + rank) for rank, (a, b) in enumerate(pairs)}
    by_pairs = [number for number, _ in merge([(byte, 1) for byte in text.encode()], merges)]
    assert encode_piece(ranks, text.encode()) == by_pairs
