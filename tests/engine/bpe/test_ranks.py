"""Merges by pairs as ranks by bytes: only where both do the same, which random merges show."""

from __future__ import annotations

import random

from hypothesis import given
from hypothesis import strategies as st
from support import examples

from tokcli.engine import backend
from tokcli.engine.bpe.bpe import encode_piece
from tokcli.engine.bpe.image import image_of
from tokcli.engine.bpe.pairs import SHIFT, merge
from tokcli.engine.bpe.ranks import live_merges, live_merges_by_python, ranks_of_merges, ranks_of_pairs
from tokcli.engine.tiktoken.native_encoder import NativePieces, open_vocabulary

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


@examples(400)
@given(pairs=pairs(), text=st.text("abc", max_size=24))
def test_ranks_are_given_only_where_they_merge_as_the_pairs_do(pairs: list[tuple[int, int]], text: str) -> None:
    ranks = ranks_of_pairs(pairs)
    if ranks is None or not text:
        return
    merges = {a << SHIFT | b: (rank, 256 + rank) for rank, (a, b) in enumerate(pairs)}
    by_pairs = [number for number, _ in merge([(byte, 1) for byte in text.encode()], merges)]
    assert encode_piece(ranks, text.encode()) == by_pairs


def made_by(found: list[tuple[int, int]]) -> tuple[dict[int, bytes], list[tuple[int, int, int]]]:
    """The tokens that pairs make, those of the same bytes with one id, and the merges in the order of the pairs."""
    tokens = {byte: bytes([byte]) for byte in range(97, 100)}
    ids = {token: number for number, token in tokens.items()}
    merges = []
    for left, right in found:
        left, right = (min(part, 96 + len(ids)) if part < 256 else part for part in (left, right))
        if left not in tokens or right not in tokens:
            continue
        token = tokens[left] + tokens[right]
        number = ids.setdefault(token, 256 + len(merges))
        tokens[number] = token
        merges.append((left, right, number))
    return tokens, merges


@examples(400)
@given(
    found=pairs(),
    order=st.randoms(use_true_random=False),
    text=st.text("abc", max_size=24),
    ignore_merges=st.booleans(),
)
def test_merges_in_any_order_are_ranks_only_where_these_merge_alike(
    found: list[tuple[int, int]], order: random.Random, text: str, ignore_merges: bool
) -> None:
    tokens, merges = made_by(found)
    order.shuffle(merges)  # so that parts are made after what they make
    everything = tokens | {byte: bytes([byte]) for byte in range(256) if byte not in tokens}
    ranked = ranks_of_merges(everything, merges, ignore_merges=ignore_merges)
    assert live_merges(everything, merges) == live_merges_by_python(everything, merges)
    if ranked is None or not text:
        return
    pieces = {a << SHIFT | b: (rank, made) for rank, (a, b, made) in enumerate(merges)}
    by_pairs = [number for number, _ in merge([(byte, 1) for byte in text.encode()], pieces)]
    whole = {token: number for number, token in everything.items()}.get(text.encode()) if ignore_merges else None
    expected = by_pairs if whole is None else [whole]
    if text.encode() not in ranked.whole_only and not any(token in text.encode() for token in ranked.whole_only):
        assert encode_piece(ranked.ranks, text.encode()) == expected
    if backend.native() is not None:
        opened = open_vocabulary(lambda: image_of(ranked.ranks | ranked.whole_only, ranked.merges))
        assert NativePieces(opened).merge_piece(text.encode()) == expected


def test_tokens_too_long_to_be_tried_have_no_ranks() -> None:
    tokens = {byte: bytes([byte]) for byte in range(256)} | {300: b"a" * 60_000}
    assert ranks_of_merges(tokens, [(97, 97, 300)], ignore_merges=False) is None


BYTES = {byte: bytes([byte]) for byte in range(256)}
Merges = list[tuple[int, int, int]]


@st.composite
def tokens_and_merges(draw: st.DrawFn) -> tuple[dict[int, bytes], Merges]:
    """Tokens in any order, a shorter one perhaps after those that come of it, and most of the pairs that make them."""
    texts = draw(st.lists(st.text("ab", min_size=2, max_size=5), max_size=7, unique=True))
    tokens = BYTES | {256 + n: text.encode() for n, text in enumerate(texts)}
    ids = {token: number for number, token in tokens.items()}
    pairs = [
        (ids[token[:at]], ids[token[at:]], number)
        for number, token in tokens.items()
        for at in range(1, len(token))
        if token[:at] in ids and token[at:] in ids
    ]
    for _ in range(draw(st.sampled_from([0, 0, 1, 2]))):
        if pairs:
            pairs.pop(draw(st.integers(0, len(pairs) - 1)))
    return tokens, draw(st.permutations(pairs)) if draw(st.booleans()) else pairs


def by_pairs(merges: Merges, text: bytes) -> list[int]:
    table: dict[int, tuple[int, int]] = {}
    for rank, (left, right, made) in enumerate(merges):
        table.setdefault(left << SHIFT | right, (rank, made))
    return [number for number, _ in merge([(byte, 1) for byte in text], table)]


@examples(600)
@given(vocabulary=tokens_and_merges(), text=st.text("ab", min_size=1, max_size=16), ignore_merges=st.booleans())
def test_ranks_merge_as_the_list_of_merges_does(
    vocabulary: tuple[dict[int, bytes], Merges], text: str, ignore_merges: bool
) -> None:
    tokens, merges = vocabulary
    found = ranks_of_merges(tokens, merges, ignore_merges=ignore_merges)
    if found is None:
        return
    ranks, whole_only = found.ranks, found.whole_only
    piece = text.encode()
    if any(token in piece for token in whole_only):
        return
    whole = {token: number for number, token in tokens.items()}.get(piece) if ignore_merges else None
    assert encode_piece(ranks, piece) == (by_pairs(merges, piece) if whole is None else [whole])


def test_a_token_may_come_of_one_that_has_a_later_rank() -> None:
    tokens = BYTES | {256: b"ab", 257: b"abcd", 258: b"cd"}  # as Llama 3 has "\u3057\u3066\u3044\u308b"
    merges = [(97, 98, 256), (256, 258, 257), (99, 100, 258)]
    assert by_pairs(merges, b"xabcd") == [120, 257]
    found = ranks_of_merges(tokens, merges, ignore_merges=False)
    assert found is None or encode_piece(found.ranks, b"xabcd") == [120, 257]
