"""Vocabularies and texts that sampling has to bear: scores without bounds, no tokens, long words, other families."""

from __future__ import annotations

import json
from pathlib import Path
from random import Random

import pytest
from hypothesis import given
from support import ROOT, examples, hard_text, read_vocabulary

import tokcli
from tokcli.engine.base.arguments import NONE
from tokcli.engine.sampling.lattices import MOST_CHARS, Lattice, PathScores, drawn_path
from tokcli.engine.sampling.sampler import BestPaths, drawn, dropped
from tokcli.engine.sentencepiece.model import SentencePiece
from tokcli.errors import InputError
from tokcli.formats.sentencepiece import with_fairseq_ids

FORMATS = ROOT / "tests" / "data" / "formats"


@pytest.mark.parametrize("score", [-1e6, 1e6, 0.0, -0.0])
def test_any_scores_give_ids_that_decode(score: float, tmp_path: Path) -> None:
    vocabulary = [["<unk>", 0.0], ["a", score], ["ab", -score], ["b", score / 3]]
    path = tmp_path / "tokenizer.json"
    made = {"decoder": {"type": "Fuse"}, "model": {"type": "Unigram", "unk_id": 0, "vocab": vocabulary}}
    path.write_text(json.dumps(made), "utf-8")
    tokenizer = tokcli.load_encoding(path).tokenizer
    assert tokenizer.rules is not None
    for alpha in (0.0, 1e-300, 1.0, 1e300):
        assert tokenizer.decode(drawn(tokenizer, alpha, Random(1)).encode("abab")) == b"abab"
    for ids in BestPaths("x", tokenizer.rules, 9).segmentations("abab", NONE):
        assert tokenizer.decode(ids) == b"abab"


def test_a_word_without_end_is_refused_and_many_words_are_not() -> None:
    by = PathScores({"xy": -1.0, "yx": -1.1}, frozenset(["x", "xy", "y", "yx"]), -9.0)
    with pytest.raises(InputError, match="hang together"):
        Lattice("x" * (MOST_CHARS + 1), by)
    text = "xyx " * 3000
    path = drawn_path(text, by, 0.5, Random(1))
    assert [begin for begin, _, _ in path[1:]] == [end for _, end, _ in path[:-1]]
    assert (path[0][0], path[-1][1]) == (0, len(text))


def test_xlm_robertas_ids_are_those_of_its_model_moved_by_one() -> None:
    model = read_vocabulary(FORMATS / "unigram.model")
    assert isinstance(model, SentencePiece)
    plain = BestPaths("plain", model, 6).segmentations("the brown dog", NONE)
    assert BestPaths("xlm", SentencePiece(with_fairseq_ids(model.spec)), 6).segmentations("the brown dog", NONE) == [
        [number + 1 for number in ids] for ids in plain
    ]


@given(hard_text())
@examples(200)
def test_any_text_comes_back(text: str) -> None:
    for name in ("r50k_base", "byte-level.tokenizer.json", "bpe.model", "unigram.model"):
        encoding = tokcli.load_encoding(FORMATS / name) if "." in name else tokcli.get_encoding(name)
        tokenizer, random = encoding.tokenizer, Random(len(text))
        made = drawn(tokenizer, 0.1, random) if name.startswith("uni") else dropped(tokenizer, 0.4, random)
        assert tokenizer.decode(made.encode(text)) == tokenizer.decode(tokenizer.encode(text))
