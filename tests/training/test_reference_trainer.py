"""Claims about the readable trainer, most of them against a trainer that is too slow to be wrong."""

from __future__ import annotations

import inspect
import random
import textwrap
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import pairwise

import pytest
import regex
import tiktoken
from hypothesis import given
from hypothesis import strategies as st
from tiktoken import _educational
from trainers import train_ranks

from tokcli.errors import InputError
from tokcli.training.piece_table import count_pieces
from tokcli.training.segmented_corpus import SegmentedCorpus
from tokcli.training.trainer import Pair

BYTES = {bytes([value]): value for value in range(256)}
WORDS = r" ?\p{L}+| ?[^\s\p{L}]+|\s+"

# Few letters, so that pairs tie, overlap and make the same bytes in different ways.
piece_counts = st.dictionaries(
    st.text("abc", min_size=1, max_size=12).map(str.encode), st.integers(1, 4), min_size=1, max_size=8
)


def encode_naive(ranks: Mapping[bytes, int], piece: bytes) -> list[bytes]:
    """What tiktoken-type ranks mean: merge the pair whose joined bytes have the lowest rank, the leftmost of equals."""
    parts = [bytes([value]) for value in piece]
    while True:
        candidates = [
            (ranks[left + right], index) for index, (left, right) in enumerate(pairwise(parts)) if left + right in ranks
        ]
        if not candidates:
            return parts
        _, index = min(candidates)
        parts[index : index + 2] = [parts[index] + parts[index + 1]]


def count_pairs(ranks: Mapping[bytes, int], counts: Mapping[bytes, int]) -> Counter[tuple[bytes, bytes]]:
    pairs: Counter[tuple[bytes, bytes]] = Counter()
    for piece, count in counts.items():
        for pair in pairwise(encode_naive(ranks, piece)):
            pairs[pair] += count
    return pairs


def train_naive(counts: Mapping[bytes, int], vocab_size: int, min_frequency: int = 1) -> dict[bytes, int]:
    """The promise of trainer.py, word by word: encode everything, count everything, take the best, again."""
    ranks = dict(BYTES)
    while len(ranks) < vocab_size:
        pairs = count_pairs(ranks, counts)
        if not pairs or max(pairs.values()) < min_frequency:
            break
        left, right = min(pairs, key=lambda pair: (-pairs[pair], ranks[pair[0]], ranks[pair[1]]))
        ranks[left + right] = len(ranks)
    return ranks


@given(piece_counts, st.integers(256, 290), st.integers(1, 5))
def test_the_trainer_agrees_with_the_naive_one(counts: dict[bytes, int], vocab_size: int, min_frequency: int) -> None:
    assert train_ranks(counts, vocab_size, min_frequency=min_frequency) == train_naive(
        counts, vocab_size, min_frequency
    )


@given(st.dictionaries(st.binary(min_size=1, max_size=20), st.integers(1, 3), max_size=6), st.integers(256, 300))
def test_the_trainer_agrees_with_the_naive_one_on_any_bytes(counts: dict[bytes, int], vocab_size: int) -> None:
    assert train_ranks(counts, vocab_size) == train_naive(counts, vocab_size)


def merged_corpora(
    counts: dict[bytes, int], merges: int, choose: Callable[[Iterable[Pair]], Pair]
) -> Iterator[SegmentedCorpus]:
    """Yield a corpus after each merge of the pair that is chosen."""
    corpus = SegmentedCorpus(counts)
    for _ in range(merges):
        if not corpus.pair_counts:
            return
        corpus.merge(choose(corpus.pair_counts))
        yield corpus


@given(piece_counts, st.integers(256, 290))
def test_a_training_piece_is_encoded_as_training_segmented_it(counts: dict[bytes, int], merges: int) -> None:
    for corpus in merged_corpora(counts, merges, max):
        assert [(b"".join(parts), parts) for _, parts in corpus.segments()] == [
            (piece, encode_naive(corpus.ranks, piece)) for piece in counts
        ]


@given(piece_counts, st.integers(256, 290))
def test_the_counts_kept_are_the_counts_found_afresh(counts: dict[bytes, int], merges: int) -> None:
    for corpus in merged_corpora(counts, merges, min):
        kept = {(corpus.tokens[a], corpus.tokens[b]): n for (a, b), n in corpus.pair_counts.items()}
        assert kept == count_pairs(corpus.ranks, counts)


@given(piece_counts, st.randoms(use_true_random=False))
def test_the_result_does_not_depend_on_the_order_of_pieces(counts: dict[bytes, int], chance: random.Random) -> None:
    items = list(counts.items())
    chance.shuffle(items)
    assert list(train_ranks(dict(items), 280).items()) == list(train_ranks(counts, 280).items())


@given(piece_counts, st.integers(256, 300))
def test_the_vocabulary_is_a_bijection_onto_ranks_without_gaps(counts: dict[bytes, int], vocab_size: int) -> None:
    ranks = train_ranks(counts, vocab_size)
    assert list(ranks.values()) == list(range(len(ranks)))
    assert list(ranks)[:256] == list(BYTES)


@given(piece_counts)
def test_without_a_limit_every_piece_becomes_one_token(counts: dict[bytes, int]) -> None:
    ranks = train_ranks(counts, 10_000)
    assert all(piece in ranks for piece in counts)
    assert all(encode_naive(ranks, piece) == [piece] for piece in counts)


def test_equally_frequent_pairs_are_taken_by_left_rank_and_then_by_right_rank() -> None:
    assert list(train_ranks({b"zy": 1, b"ba": 1, b"bc": 1, b"ab": 1}, 260))[256:] == [b"ab", b"ba", b"bc", b"zy"]


def test_overlapping_pairs_merge_from_left_to_right() -> None:
    corpus = SegmentedCorpus({b"aaaaa": 1})
    assert corpus.pair_counts == {(97, 97): 4}
    corpus.merge((97, 97))
    assert dict(corpus.segments()) == {b"aaaaa": [b"aa", b"aa", b"a"]}
    assert corpus.pair_counts == {(256, 256): 1, (256, 97): 1}


@given(piece_counts, st.randoms(use_true_random=False))
def test_no_merge_makes_bytes_that_are_a_token_whatever_is_merged(
    counts: dict[bytes, int], chance: random.Random
) -> None:
    corpus = SegmentedCorpus(counts)
    while corpus.pair_counts and len(corpus.tokens) < 300:
        joined = Counter(corpus.tokens[left] + corpus.tokens[right] for left, right in corpus.pair_counts)
        assert not joined.keys() & corpus.ranks.keys()
        assert set(joined.values()) == {1}, "two pairs make the same bytes"
        corpus.merge(chance.choice(list(corpus.pair_counts)))


@given(piece_counts, st.integers(256, 300))
def test_every_token_encodes_to_itself(counts: dict[bytes, int], vocab_size: int) -> None:
    ranks = train_ranks(counts, vocab_size)
    assert all(encode_naive(ranks, token) == [token] for token in ranks)


def test_only_a_pair_that_occurs_can_be_merged() -> None:
    with pytest.raises(KeyError):
        SegmentedCorpus({b"ab": 1}).merge((98, 97))


def test_training_stops_when_no_pair_is_left() -> None:
    assert len(train_ranks({b"abc": 7}, 1_000_000)) - 256 == 2
    assert train_ranks({}, 1000) == BYTES
    assert train_ranks({b"a": 5, b"": 3}, 1000) == BYTES


def test_training_stops_when_no_pair_is_frequent_enough() -> None:
    assert list(train_ranks({b"ab": 3, b"cd": 2}, 1000, min_frequency=3))[256:] == [b"ab"]
    assert list(train_ranks({b"ab": 3, b"cd": 2}, 1000, min_frequency=0))[256:] == [b"ab", b"cd"]


def test_a_vocabulary_smaller_than_the_bytes_is_refused() -> None:
    with pytest.raises(ValueError, match="vocabulary size 255"):
        train_ranks({b"ab": 1}, 255)
    assert train_ranks({b"ab": 1}, 256) == BYTES


def test_a_negative_count_is_refused_and_zero_is_nothing() -> None:
    with pytest.raises(InputError, match="its count is -1"):
        train_ranks({b"ab": -1}, 300)
    assert train_ranks({b"ab": 0}, 300) == BYTES


def test_counts_beyond_64_bits_are_exact() -> None:
    assert list(train_ranks({b"ab": 2**64, b"cd": 2**64 + 1}, 300))[256:] == [b"cd", b"ab"]


def test_on_merge_tells_each_merge_in_order() -> None:
    seen: list[tuple[int, bytes, bytes, bytes, int]] = []
    ranks = train_ranks({b"abab": 2, b"ab": 1}, 300, on_merge=lambda *merge: seen.append(merge))
    assert seen == [(0, b"a", b"b", b"ab", 5), (1, b"ab", b"ab", b"abab", 2)]
    assert [ranks[token] - 256 for _, _, _, token, _ in seen] == [0, 1]


def test_merges_are_those_of_tiktokens_educational_trainer_until_two_pairs_tie() -> None:
    text = inspect.getsource(textwrap)
    counts = count_pieces(regex.findall(WORDS, text))
    ours = list(train_ranks(counts, 320))
    theirs = list(_educational.bpe_train(text, 320, WORDS, visualise=None))
    untied = 256
    while untied < 320:
        (_, first), (_, second) = count_pairs({t: r for r, t in enumerate(ours[:untied])}, counts).most_common(2)
        if first == second:
            break
        untied += 1
    assert untied > 265
    assert ours[:untied] == theirs[:untied]


def test_tiktoken_encodes_with_the_result_as_training_segmented() -> None:
    text = "She sells sea shells by the sea shore, sea shells she sells. " * 3 + "naïve façade 你好你好 🙂🙂"
    counts = count_pieces(regex.findall(WORDS, text))
    ranks = train_ranks(counts, 340)
    encoding = tiktoken.Encoding("trained", pat_str=WORDS, mergeable_ranks=ranks, special_tokens={})
    for piece in counts:
        assert encoding.decode_tokens_bytes(encoding.encode_ordinary(piece.decode())) == encode_naive(ranks, piece)
    assert encoding.decode(encoding.encode_ordinary(text)) == text


@pytest.mark.clock
@pytest.mark.no_cover
@pytest.mark.slow
def test_one_piece_of_a_megabyte_is_not_quadratic() -> None:
    chance = random.Random(1)
    piece = bytes(chance.choices(b"etaoin shrdlu", k=1_000_000))
    started = time.process_time()
    assert len(train_ranks({piece: 1}, 356)) == 356
    assert time.process_time() - started < 60  # about 5 s; a pass over the piece per merge would take minutes


def test_a_run_of_one_byte_halves_with_every_merge() -> None:
    assert list(train_ranks({b"a" * 4096: 1}, 10_000))[256:] == [b"a" * 2**power for power in range(1, 13)]
