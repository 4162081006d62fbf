"""Asking once for each different piece names the alternatives that matching all of a text names."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support import HARD_ATOMS, examples, hard_text

from tokcli.analysis.pieces import pieces as pieces_module
from tokcli.analysis.pieces.pieces import names_of
from tokcli.engine.pretokenizers.known_patterns import CL100K, KNOWN_PATTERNS
from tokcli.engine.pretokenizers.pretokenizer import PreTokenizer

SPLITTERS = {pat_str: PreTokenizer(pat_str) for pat_str in sorted(KNOWN_PATTERNS)}
# what white space looks ahead at, and what the patterns in a row cut out
AHEAD = ["  ", " \n ", "\n\n\n", "\r\n \n", "   x", " 123", " 12", " 1234", "a 123", "\u3040", "\u3041", "\u309b", "!a", " !\n",
         "\u0378", "\u0378\u0301", "`", "$ ", "~"]  # fmt: skip


def by_matching(splitter: PreTokenizer, text: str) -> list[tuple[str, str]]:
    return [(piece, f"a{number}") for piece, number in splitter.split_with_alternatives(text)]


def by_asking_once(splitter: PreTokenizer, text: str) -> list[tuple[str, str]]:
    pieces = splitter.split(text)
    names = names_of(splitter, text, [piece.encode() for piece in pieces])
    assert names is not None
    return list(zip(pieces, names, strict=True))


@examples(1000)
@given(st.sampled_from(sorted(SPLITTERS)), hard_text(12))
def test_the_names_are_those_of_matching_all(pat_str: str, text: str) -> None:
    assert by_asking_once(SPLITTERS[pat_str], text) == by_matching(SPLITTERS[pat_str], text)


@pytest.mark.parametrize("pat_str", sorted(KNOWN_PATTERNS))
def test_pieces_that_were_kept_are_named_as_new_ones(pat_str: str) -> None:
    splitter, rnd = PreTokenizer(pat_str), random.Random(7)
    for _ in range(300):
        text = "".join(rnd.choices([*HARD_ATOMS, *AHEAD], k=rnd.randrange(1, 30)))
        assert by_asking_once(splitter, text) == by_matching(splitter, text)


def test_a_pattern_of_ones_own_is_matched_everywhere() -> None:
    assert names_of(PreTokenizer(r"\w+|\W"), "ab", [b"ab"]) is None


def test_pieces_that_the_pattern_does_not_make_are_not_named() -> None:
    assert names_of(PreTokenizer(CL100K), "ab cd", [b"ab c", b"d"]) is None
    assert names_of(PreTokenizer(CL100K), "a  ", [b"a", b" ", b" "]) is None


def test_what_is_kept_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pieces_module, "KEPT_PIECES", 10)
    splitter = PreTokenizer(CL100K)
    for first in range(0, 200, 5):
        text = "".join(f"{chr(0x4E00 + n)}-" for n in range(first, first + 5))
        assert by_asking_once(splitter, text) == by_matching(splitter, text)
        assert len(splitter.kept_alternatives) <= 10 + 12
    by_asking_once(splitter, "x" * 100_000)
    assert b"x" * 100_000 not in splitter.kept_alternatives
