"""Samplers: the same random numbers give the same ids, the limits are the plain ids and single symbols, text comes back."""

from __future__ import annotations

import json
from pathlib import Path
from random import Random
from typing import Any

import pytest
from support import ROOT, rounds

import tokcli
from tokcli.engine.sampling.lattices import Lattice, PathScores
from tokcli.engine.sampling.sampler import MOST_PATHS, BestPaths, drawn, dropped, way_of
from tokcli.errors import InputError

DATA = ROOT / "tests" / "data"
FORMATS = DATA / "formats"
BEST: list[dict[str, Any]] = json.loads((DATA / "sampling.json").read_text("utf-8"))["best"]
BPE = ["r50k_base", "bpe.model", "plain.tokenizer.json", "byte-level.tokenizer.json", "suffix.tokenizer.json"]
UNIGRAM = ["unigram.model", "unigram.tokenizer.json"]
OTHERS = ["wordpiece.tokenizer.json", "char.model", "word.model"]
TEXT = "Hello again, the quick brown dog"


def encoding_in(name: str) -> tokcli.Encoding:
    return tokcli.load_encoding(FORMATS / name) if "." in name else tokcli.get_encoding(name)


def minbpe_file(folder: Path) -> Path:
    pairs = [(97, 98), (256, 99), (32, 257)]
    path = folder / "small.model"
    path.write_text("minbpe v1\n\n0\n" + "".join(f"{left} {right}\n" for left, right in pairs), "utf-8")
    return path


@pytest.mark.parametrize("name", BPE)
def test_the_same_random_numbers_give_the_same_ids(name: str) -> None:
    tokenizer = encoding_in(name).tokenizer
    found = [dropped(tokenizer, 0.5, Random(seed)).encode(TEXT) for seed in (1, 1, *range(2, 9))]
    assert found[0] == found[1]
    assert len(set(map(tuple, found))) > 3


@pytest.mark.parametrize("name", BPE)
def test_without_dropout_the_ids_are_the_plain_ones(name: str) -> None:
    tokenizer = encoding_in(name).tokenizer
    assert dropped(tokenizer, 0, Random(1)).encode(TEXT) == tokenizer.encode(TEXT)
    assert dropped(tokenizer, 1e-300, Random(1)).encode(TEXT) == tokenizer.encode(TEXT)


@pytest.mark.parametrize("name", BPE)
def test_with_a_dropout_of_1_nothing_merges(name: str) -> None:
    tokenizer = encoding_in(name).tokenizer
    token_bytes = tokenizer.token_bytes()
    ids = dropped(tokenizer, 1, Random(1)).encode("quick dogs")
    assert all(len(token_bytes[number].removesuffix(b"</w>").decode()) == 1 for number in ids)


@pytest.mark.parametrize("name", [*BPE[:-1], "unigram.model"])
def test_what_is_drawn_decodes_to_the_text(name: str) -> None:
    tokenizer = encoding_in(name).tokenizer
    for seed in range(rounds(20)):
        random = Random(seed)
        made = drawn(tokenizer, 0.1, random) if name in UNIGRAM else dropped(tokenizer, 0.4, random)
        assert tokenizer.decode(made.encode(TEXT)).decode() == TEXT


def test_minbpe_skips_merges_too(tmp_path: Path) -> None:
    tokenizer = tokcli.load_encoding(minbpe_file(tmp_path)).tokenizer
    assert tokenizer.encode("abc abc") == [257, 258]
    assert dropped(tokenizer, 1, Random(1)).encode("abc abc") == list(b"abc abc")
    found = {tuple(dropped(tokenizer, 0.5, Random(seed)).encode("abc")) for seed in range(50)}
    assert found == {(257,), (256, 99), (97, 98, 99)}


def test_the_best_segmentations_are_sentencepieces() -> None:
    rules = encoding_in("unigram.model").tokenizer.rules
    assert rules is not None
    for row in BEST[:: len(BEST) // rounds(len(BEST))]:
        found = BestPaths("unigram", rules, row["size"]).segmentations(row["text"], frozenset())
        assert found == row["ids"], row["text"]


def test_the_best_segmentation_is_the_plain_one() -> None:
    for name in UNIGRAM:
        tokenizer = encoding_in(name).tokenizer
        assert tokenizer.rules is not None
        for size in (1, 7):
            found = BestPaths(name, tokenizer.rules, size).segmentations(TEXT, frozenset())
            assert found[0] == tokenizer.encode(TEXT)
            assert len(found) == size == len(set(map(tuple, found)))


def test_the_best_segmentations_of_pieces_are_the_best_of_the_text() -> None:
    tokenizer = encoding_in("unigram.tokenizer.json").tokenizer  # its model gets a text word by word
    assert tokenizer.rules is not None
    paths = BestPaths("unigram", tokenizer.rules, 40)
    sums = [total for total, _ in paths.find("the dog jumps", frozenset())]
    assert sums == sorted(sums, reverse=True)
    every = BestPaths("unigram", tokenizer.rules, MOST_PATHS).find("the dog jumps", frozenset())
    assert [total for total, _ in every[:40]] == pytest.approx(sums)


def test_all_paths_of_a_small_lattice_are_found_and_drawn() -> None:
    scores = {"a": -1.0, "b": -1.5, "ab": -2.0, "ba": -3.0}
    lattice = Lattice("aba", PathScores(scores, frozenset(["a", "b", "ab", "ba"]), -12.0))
    found = lattice.n_best(10)
    assert found is not None
    assert [(total, [(begin, end) for begin, end, _ in path]) for total, path in found] == [
        (-3.0, [(0, 2), (2, 3)]),
        (-3.5, [(0, 1), (1, 2), (2, 3)]),
        (-4.0, [(0, 1), (1, 3)]),
    ]
    drawn_ones = [lattice.drawn(0.0, Random(seed)) for seed in range(90)]
    assert all(drawn_ones.count(path) > 15 for _, path in found)
    assert {tuple(lattice.drawn(50.0, Random(seed))) for seed in range(30)} == {tuple(found[0][1])}


def test_the_search_gives_up_where_too_many_paths_are_alike() -> None:
    scores = {"x": -1.0, "xx": -2.0001, "xxx": -3.01}
    assert Lattice("x" * 400, PathScores(scores, frozenset(scores), -12.0)).n_best(500) is None


@pytest.mark.parametrize("name", OTHERS)
def test_other_models_segment_a_text_in_one_way(name: str) -> None:
    tokenizer = encoding_in(name).tokenizer
    assert way_of(tokenizer) == "none"
    with pytest.raises(InputError, match="no merges that dropout could skip"):
        dropped(tokenizer, 0.1, Random(1))
    with pytest.raises(InputError, match="not Unigram"):
        drawn(tokenizer, 0.1, Random(1))


@pytest.mark.parametrize("probability", [-0.1, 1.5, float("nan")])
def test_a_dropout_is_a_probability(probability: float) -> None:
    with pytest.raises(InputError, match="dropout: expected a probability"):
        dropped(encoding_in("r50k_base").tokenizer, probability, Random(1))
