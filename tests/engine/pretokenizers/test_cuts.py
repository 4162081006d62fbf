"""Where text is cut into blocks: never where a piece, or a choice between pieces, reaches across."""

from __future__ import annotations

import random

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from support import HARD_ATOMS, examples, hard_text

from tokcli.engine.pretokenizers import known_patterns
from tokcli.engine.pretokenizers.cuts import cut_finder, is_stop, last_stop
from tokcli.engine.pretokenizers.pretokenizer import PreTokenizer

pytestmark = pytest.mark.no_cover

KNOWN = {name: value for name, value in vars(known_patterns).items() if name.isupper() and not name.startswith("_")}
for _name in ("KNOWN_PATTERNS", "IN_A_ROW", "NUMBER"):
    KNOWN.pop(_name)


def assert_cut_is_safe(pattern: str, text: str) -> int:
    splitter = PreTokenizer(pattern)
    cut = splitter.safe_cut(text)
    if cut:
        assert 0 < cut < len(text)
        assert splitter.split(text[:cut]) + splitter.split(text[cut:]) == splitter.split(text)
    return cut


@examples(2000)
@given(st.sampled_from(sorted(KNOWN.values())), hard_text(8))
@example(KNOWN["R50K"], "a\n b")
@example(KNOWN["O200K"], "A's")
@example(KNOWN["O200K"], "x \n")
def test_a_safe_cut_changes_no_piece(pattern: str, text: str) -> None:
    assert_cut_is_safe(pattern, text)


@pytest.mark.slow
@pytest.mark.parametrize("name", KNOWN)
def test_every_place_that_looks_like_a_cut_is_one(name: str) -> None:
    splitter, rnd, cuts = PreTokenizer(KNOWN[name]), random.Random(5), 0
    for _ in range(8000):
        text = "".join(rnd.choices(HARD_ATOMS, k=rnd.randrange(2, 8)))
        whole = splitter.split(text)
        for match in cut_finder(splitter.pat_str).finditer(text):
            at = match.start()
            assert splitter.split(text[:at]) + splitter.split(text[at:]) == whole, (text, at)
            cuts += 1
    assert cuts > 1500  # the rule finds places


@examples(1000)
@given(st.sampled_from(sorted(KNOWN.values())), hard_text(8), st.sampled_from(["", "x" * 200, "\u4e2d" * 5000]))
def test_looking_at_characters_finds_the_places_that_the_pattern_finds(pattern: str, text: str, end: str) -> None:
    text += end
    places = {match.start() for match in cut_finder(pattern).finditer(text)}
    assert last_stop(pattern, text) == max(places - {0}, default=0)
    data, at = text.encode(), 0
    for number, character in enumerate(text[:20]):
        assert is_stop(pattern, data, at) == (number in places)
        at += len(character.encode())


@pytest.mark.parametrize("name", ["CL100K", "O200K", "LLAMA3"])
def test_digits_without_end_are_cut_between_their_threes(name: str) -> None:
    assert assert_cut_is_safe(KNOWN[name], "x" + "1234567890" * 30) > 0


def test_digits_that_are_one_piece_are_not_cut() -> None:
    assert PreTokenizer(KNOWN["R50K"]).safe_cut("1234567890" * 30) == 0


def test_looking_only_at_what_is_new_finds_the_same_cut() -> None:
    splitter = PreTokenizer(KNOWN["O200K"])
    text = "x" * 5000 + " " + "y" * 100
    assert splitter.safe_cut(text, searched=4000) == splitter.safe_cut(text) == 5000


def test_settled_pieces_of_ones_own_pattern_are_those_of_the_whole() -> None:
    splitter = PreTokenizer(r"[a-z]+(?=!)|[a-z]|!")
    rnd = random.Random(3)
    text = "".join(rnd.choices("abc!", [5, 5, 5, 1], k=200_000))
    end = splitter.settled(text, 0)
    whole = splitter.split(text)
    first = splitter.split_from(text[:end], 0) if text[end - 1] == "!" else None
    assert end > 100_000
    if first is not None:
        assert first == whole[: len(first)]
