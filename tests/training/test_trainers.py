"""The fast trainers make the merges of the readable one, whatever the corpus and the rules."""

from __future__ import annotations

import random
import sys
from collections.abc import Mapping
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support import ROOT, refused
from trainers import counted, train_ranks

import tokcli
from tokcli.cluster.files import size_of_url
from tokcli.engine import backend
from tokcli.engine.bpe.bpe import encode_piece
from tokcli.errors import InputError, TokcliError, VocabularyError
from tokcli.training.native_trainer import native_merges
from tokcli.training.train import learn_ranks, train
from tokcli.training.trainer import BYTES, CountedPieces, PairsLeft, TrainingRules

# Few letters, so that pairs tie, overlap and make the same bytes in different ways; counts from 1 to large.
letters = st.text("abc", min_size=1, max_size=24).map(str.encode)
pieces = st.one_of(
    letters, st.binary(min_size=1, max_size=20), st.builds(lambda b, n: b * n, letters, st.integers(1, 9))
)
counts = st.sampled_from([1, 1, 2, 3, 50, 4000])
piece_counts = st.dictionaries(pieces, counts, min_size=1, max_size=12)
rules = st.fixed_dictionaries(
    {
        "vocab_size": st.integers(256, 330),
        "min_frequency": st.sampled_from([1, 1, 2, 60]),
        "max_token_bytes": st.sampled_from([None, None, 2, 3, 7]),
        "ties": st.sampled_from(["rank", "rank", "first"]),
    }
)


def native(some: Mapping[bytes, int], vocab_size: int, memory: int | None = None, **more: Any) -> dict[bytes, int]:
    assert native_merges(counted(some), TrainingRules(1000)) is not None
    return train_ranks(counted(some, memory), vocab_size, **more)


needs_native = pytest.mark.skipif(backend.native() is None, reason="there is no native backend")


@needs_native
@given(piece_counts, rules)
def test_native_merges_are_those_of_the_readable_trainer(some: dict[bytes, int], asked: dict[str, Any]) -> None:
    expected: list[object] = []
    found: list[object] = []
    ranks = train_ranks(some, **asked, on_merge=lambda *merge: expected.append(merge))
    assert list(native(some, **asked, on_merge=lambda *merge: found.append(merge)).items()) == list(ranks.items())
    assert found == expected


@needs_native
@given(piece_counts, rules, st.randoms(use_true_random=False))
def test_native_merges_behind_a_seed_are_those_of_the_readable_trainer(
    some: dict[bytes, int], asked: dict[str, Any], chance: random.Random
) -> None:
    order = list(BYTES)
    chance.shuffle(order)
    tokens = list(train_ranks(some, chance.randint(256, 262), tokens=order))
    asked["vocab_size"] += len(tokens) - 256
    assert native(some, tokens=tokens, **asked) == train_ranks(some, tokens=tokens, **asked)


@needs_native
@given(piece_counts, rules, st.sampled_from([64, 256, 1024]))
def test_hardly_any_memory_for_native_lists_changes_no_merge(
    some: dict[bytes, int], asked: dict[str, Any], memory: int
) -> None:
    assert native(some, memory=memory, **asked) == train_ranks(some, **asked)


@needs_native
def test_native_merges_of_many_words_are_those_of_the_readable_trainer() -> None:
    chance = random.Random(4)
    some = {}
    for _ in range(1500):
        word = bytes(chance.choices(b"etaoinshrdlucmfw", weights=range(16, 0, -1), k=chance.randint(1, 40)))
        some[word] = chance.choice([1, 1, 1, 2, 3, 10, 500])
    for size in (400, 70_000):
        expected = train_ranks(some, size)
        assert native(some, size) == expected
        assert native(some, size, memory=100_000) == expected


@needs_native
def test_one_piece_that_is_a_whole_corpus_is_merged_natively() -> None:
    chance = random.Random(5)
    piece = bytes(chance.choices(b"abcdef \n", k=15_000)) + b"a" * 5000
    assert native({piece: 3}, 500) == train_ranks({piece: 3}, 500)


@needs_native
def test_a_vocabulary_of_any_size_takes_the_memory_of_the_corpus() -> None:
    assert native({b"abab": 3, b"ab": 1}, 10**12) == train_ranks({b"abab": 3, b"ab": 1}, 10**12)


@needs_native
def test_counts_too_large_for_native_words_are_left_to_the_readable_trainer() -> None:
    some = {b"ab" * 4: 1 << 61, b"cd": 1 << 61}
    assert native_merges(counted(some), TrainingRules(300)) is None
    assert train_ranks(counted(some), 300) == train_ranks(some, 300)


@given(piece_counts, rules)
def test_merges_on_tensors_are_those_of_the_readable_trainer(some: dict[bytes, int], asked: dict[str, Any]) -> None:
    pytest.importorskip("torch")
    asked["ties"] = "rank"
    expected: list[object] = []
    found: list[object] = []
    ranks = train_ranks(some, **asked, on_merge=lambda *merge: expected.append(merge))
    assert train_ranks(some, device="cpu", **asked, on_merge=lambda *merge: found.append(merge)) == ranks
    assert found == expected


@given(piece_counts, st.integers(0, 20))
def test_training_in_two_steps_is_training_in_one(some: dict[bytes, int], first: int) -> None:
    begun = train_ranks(some, 256 + first)
    assert train_ranks(some, 300, tokens=list(begun)) == train_ranks(some, 300)


def test_a_seeds_ids_stay_and_new_ones_stand_behind_its_special_tokens() -> None:
    text = "low lower lowest newer newest " * 3
    seed = train([text], 262, special_tokens=["<end>"])
    more = train([text], 270, special_tokens=["<end>", "<pad>"], seed=seed)
    assert seed._mergeable_ranks.items() <= more._mergeable_ranks.items()
    assert more.encode_single_token("<end>") == seed.encode_single_token("<end>") == 262
    new = sorted(set(more._mergeable_ranks.values()) - set(seed._mergeable_ranks.values()))
    assert new == list(range(263, 271))
    assert more.encode_single_token("<pad>") == 271
    assert more.decode(more.encode_ordinary(text)) == text


def test_a_seed_larger_than_the_vocabulary_asked_for_is_refused() -> None:
    with pytest.raises(InputError, match="vocab_size 300: too small"):
        train(["ab"], 300, seed=tokcli.get_encoding("r50k_base"))


@pytest.mark.parametrize("name", ["unigram.tokenizer.json", "suffix.tokenizer.json", "wordpiece.tokenizer.json", "bpe.model",
                                  "unigram.model", "char.model", "word.model"])  # fmt: skip
def test_a_seed_that_is_no_vocabulary_of_ranks_is_refused(name: str) -> None:
    path = str(ROOT / "tests" / "data" / "formats" / name)
    with pytest.raises(VocabularyError, match="only a vocabulary of ranks that has all 256 bytes"):
        train(["ab"], 10_000, seed=tokcli.load_encoding(path))
    said = refused("train", "--seed-vocab", path, "--vocab-size", "10000", "-o", "-", data=b"ab")
    assert said.startswith(f"Error: {path}: only a vocabulary of ranks")


def test_a_seed_that_lacks_a_byte_is_refused() -> None:
    seed = tokcli.Encoding("few", pat_str=r"[\s\S]", mergeable_ranks={b"a": 0, b"b": 1}, special_tokens={})
    with pytest.raises(VocabularyError, match="all 256 bytes"):
        train(["ab"], 300, seed=seed)


def test_a_token_is_never_longer_than_asked_for() -> None:
    ranks = train_ranks({b"abcabcabc": 9, b"xyxy": 3}, 400, max_token_bytes=3)
    assert max(map(len, ranks)) == 3
    assert encode_piece(ranks, b"xyxy") == [ranks[b"xy"]] * 2


def first_pair(ids: list[int]) -> tuple[int, int]:
    """minbpe's choice: `max` over a dictionary that holds pairs in the order in which they first stand."""
    stats: dict[tuple[int, int], int] = {}
    for pair in pairwise(ids):
        stats[pair] = stats.get(pair, 0) + 1
    return max(stats, key=stats.__getitem__)


def replace(ids: list[int], pair: tuple[int, int], made: int) -> list[int]:
    out: list[int] = []
    at = 0
    while at < len(ids):
        is_pair = tuple(ids[at : at + 2]) == pair
        out.append(made if is_pair else ids[at])
        at += 2 if is_pair else 1
    return out


@given(st.text("abcd ", min_size=2, max_size=60))
def test_ties_as_minbpe_breaks_them(text: str) -> None:
    ids, expected = list(text.encode()), dict(zip(BYTES, range(256)))
    tokens = list(BYTES)
    while len(ids) > 1 and len(tokens) < 290:
        pair = first_pair(ids)
        tokens.append(tokens[pair[0]] + tokens[pair[1]])
        expected[tokens[-1]] = len(expected)
        ids = replace(ids, pair, len(tokens) - 1)
    assert train_ranks({text.encode(): 1}, 290, ties="first") == expected
    assert train_ranks(counted({text.encode(): 1}), 290, ties="first") == expected


@pytest.mark.parametrize("threads", [1, 3])
def test_train_gives_the_same_for_any_number_of_threads_and_any_order(threads: int) -> None:
    chance = random.Random(8)
    words = ["".join(chance.choices("abcdefgh", k=chance.randint(1, 9))) for _ in range(3000)]
    texts = [" ".join(chance.choices(words, k=20_000)) for _ in range(4)]
    expected = train(texts, 600)._mergeable_ranks
    chance.shuffle(texts)
    assert train(texts, 600, num_threads=threads)._mergeable_ranks == expected


def test_without_torch_a_device_is_an_error_that_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(TokcliError, match="needs torch"):
        train_ranks({b"ab": 1}, 300, device="cpu")


def test_without_fsspec_a_cluster_is_an_error_that_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "fsspec", None)
    with pytest.raises(TokcliError, match="a cluster needs fsspec, which is not installed") as raised:
        size_of_url("a.txt")
    assert raised.value.hint == "pip install 'tokcli[dask]'"


def test_a_device_learns_what_native_code_learns() -> None:
    pytest.importorskip("torch")
    some = {b"abab": 3, b"ab": 1}
    assert train_ranks(counted(some), 300, device="cpu") == train_ranks(counted(some), 300)


# --- which pairs are left where training stops early -----------------------------------------------------------------


def left_by(counts: CountedPieces, device: str | None = None, **asked: Any) -> list[PairsLeft]:
    """Return what the trainer tells of its stop: nothing where the vocabulary is full."""
    told: list[PairsLeft] = []
    learn_ranks(counts, TrainingRules(**asked), device=device, on_early_stop=told.append)
    return told


@pytest.mark.parametrize(
    ("some", "asked", "left"),
    [
        ({b"abab": 3}, {}, (0, 0)),
        ({b"a": 3, b"b": 1}, {}, (0, 0)),
        ({b"ab": 5, b"cd": 2, b"de": 1}, {"min_frequency": 3}, (2, 0)),
        ({b"abab": 3}, {"max_token_bytes": 2}, (0, 3)),
        ({b"ab": 1, b"cdcd": 3}, {"max_token_bytes": 2, "min_frequency": 2}, (1, 3)),
        ({b"aaaa": 2}, {"max_token_bytes": 1}, (0, 6)),
    ],
)
def test_the_pairs_left_are_told(some: Mapping[bytes, int], asked: dict[str, int], left: tuple[int, int]) -> None:
    assert left_by(some, vocab_size=300, **asked) == [left]
    assert left_by(counted(some), vocab_size=300, **asked) == [left]


def test_a_full_vocabulary_tells_nothing() -> None:
    for some in ({b"abab": 3}, counted({b"abab": 3})):
        assert left_by(some, vocab_size=258) == []
        assert left_by(some, vocab_size=256) == []


@needs_native
@given(piece_counts, rules)
def test_the_native_trainer_tells_what_the_readable_one_tells(some: dict[bytes, int], asked: dict[str, Any]) -> None:
    assert left_by(counted(some), **asked) == left_by(some, **asked)
    assert left_by(counted(some, memory=64), **asked) == left_by(some, **asked)


@given(piece_counts, rules)
def test_the_trainer_on_tensors_tells_what_the_readable_one_tells(
    some: dict[bytes, int], asked: dict[str, Any]
) -> None:
    pytest.importorskip("torch")
    asked["ties"] = "rank"
    assert left_by(some, device="cpu", **asked) == left_by(some, **asked)
