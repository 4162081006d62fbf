"""Mutants of vocabulary files that the library of their format accepts give its ids and texts."""

from __future__ import annotations

import random

import pytest
from mutate_files import Hugging, SentencePieces, run


@pytest.mark.parametrize(("needed", "library"), [("tokenizers", Hugging), ("sentencepiece", SentencePieces)])
def test_a_mutant_that_the_library_accepts_gives_its_answers(needed: str, library: type) -> None:
    pytest.importorskip(needed)
    assert run(library(), 60, random.Random(11)) == 0
