"""Witnesses are real and as short as there are; a known pattern is known again, also after a change."""

from __future__ import annotations

import json
import random
from itertools import product

import pytest
from support import ROOT, noted, ok, refused

from tokcli.analysis.pattern.identify import NAMES, identify
from tokcli.analysis.pattern.witness import find_witnesses
from tokcli.engine.base.time_limit import time_limit
from tokcli.engine.pretokenizers import known_patterns as known
from tokcli.engine.pretokenizers.pretokenizer import PreTokenizer

# a part of a pattern, and what takes its place
MUTATIONS = [(r"\p{N}{1,3}", r"\p{N}{1,2}"), (r"\p{N}{1,3}", r"\p{N}"), (r"\s*[\r\n]+", r"\s*[\r\n]"), (r" ?[^\s", r"[^\s"),
             (r"[\r\n]*", ""), (r"\p{L}+", r"\p{L}"), (r"\s+(?!\S)|", ""), ("'re", "'rf"), (r"[^\r\n\p{L}\p{N}]?", ""),
             (r"\p{L}\p{N}]+[\r\n]*|", r"\p{L}]+[\r\n]*|"), (r"\p{M}", ""), (r"{1,3}", r"{1,9}"), (r"?\p{N}+", r"?\p{Nd}+")]  # fmt: skip


def compiles(pattern: str) -> bool:
    try:
        return bool(PreTokenizer(pattern).split("a"))
    except ValueError:
        return False


MUTANTS = [
    (name, mutant)
    for name, pattern in NAMES
    for part, other in MUTATIONS
    if part in pattern and compiles(mutant := pattern.replace(part, other, 1))
]


def pieces_or_none(pattern: str, text: str) -> tuple[str, ...] | None:
    try:
        return tuple(PreTokenizer(pattern).split(text))
    except ValueError:
        return None


@pytest.mark.parametrize(
    ("left", "right", "text"),
    [
        (known.QWEN2, known.LLAMA3, "00"),
        (known.O200K, known.TEKKEN, "00"),
        (r"\p{N}{1,10}|(?s:.)", r"\p{N}{1,12}|(?s:.)", "0" * 11),
        (r"a{1,40}|(?s:.)", r"a{1,41}|(?s:.)", "a" * 41),
        (r"(?i:k)+|(?s:.)", r"[kK]+|(?s:.)", "\u212a" + "K"),
        (r"x(?=y)|y+|(?s:.)+", r"x(?=y)|y|(?s:.)+", "yy"),
    ],
)
def test_the_shortest_text_is_found(left: str, right: str, text: str) -> None:
    witness = find_witnesses(left, right).witnesses[0]
    assert len(witness.text) == len(text)
    assert witness.left == pieces_or_none(left, witness.text)
    assert witness.right == pieces_or_none(right, witness.text)
    assert witness.left != witness.right


def test_no_witness_is_shorter_than_the_shortest() -> None:
    """Against a search through all texts of an alphabet that holds a character of each class."""
    chance = random.Random(1)
    atoms = ["a", "b", "[ab]", "c", r"\s", " ", "[^a]", "ab", "(?:a|b)", "b(?!c)"]
    for _ in range(60):
        left, right = (
            "|".join(chance.choice(atoms) + chance.choice(["", "", "+", "?x", "{1,2}"]) for _ in range(3)) + "|(?s:.)"
            for _ in range(2)
        )
        found = find_witnesses(left, right).witnesses if left != right else ()
        texts = ("".join(word) for size in range(1, 4) for word in product("abcx \n", repeat=size))
        first = next((text for text in texts if pieces_or_none(left, text) != pieces_or_none(right, text)), None)
        if first is not None:
            assert found, (left, right, first)
            assert len(found[0].text) <= len(first), (left, right)


def test_witnesses_do_not_contain_each_other() -> None:
    found = find_witnesses(known.CL100K, known.O200K, 20).witnesses
    assert len(found) == 20
    assert not any(a.text in b.text for a in found for b in found if a is not b)


def test_equal_patterns_have_none_and_say_how_far_that_was_tried() -> None:
    search = find_witnesses(known.R50K, known.GPT2, seconds=1)
    assert search.witnesses == ()
    assert search.length >= 2
    assert search.texts >= search.classes**search.length


@pytest.mark.parametrize(("name", "pattern"), NAMES)
def test_a_known_pattern_is_known(name: str, pattern: str) -> None:
    found = identify(pattern)
    assert (found.name, found.is_same_word_for_word, found.changes) == (name, True, ())


@pytest.mark.clock
@pytest.mark.slow
@pytest.mark.parametrize(("name", "mutant"), MUTANTS)
def test_a_mutant_is_nearest_to_its_origin_or_equal_to_another_one(name: str, mutant: str) -> None:
    with time_limit(20):  # a busy machine comes less far in the usual time
        found = identify(mutant)
    if found.search.witnesses:
        witness = found.search.witnesses[0]
        assert found.name == name
        assert pieces_or_none(found.pat_str, witness.text) == witness.left != witness.right
        assert pieces_or_none(mutant, witness.text) == witness.right
        assert found.changes
    else:  # such as Llama 3's with single digits, which is Qwen 2's word for word, and nothing is searched then
        assert found.name != name or found.search.length >= 3
        assert pieces_or_none(found.pat_str, "a B7\n") == pieces_or_none(mutant, "a B7\n")


# --- the command -----------------------------------------------------------------------------------------------------


def test_a_pattern_with_a_change_is_told_from_the_nearest() -> None:
    said = ok("split", "--identify", "--pattern", known.LLAMA3.replace("{1,3}", "{1,2}")).decode().splitlines()
    assert said[0] == "Llama 3: the nearest pattern that is known"
    assert said[1] == r"changed: \\p{N}{1,3} became \\p{N}{1,2}"
    assert said[2] == "differ on: 000"
    assert said[3].startswith("Llama 3: 000  ids ")
    assert said[4].startswith("here: 00 | 0  ids ")


def test_a_file_is_identified() -> None:
    path = ROOT / "tests" / "data" / "formats" / "byte-level.tokenizer.json"
    answer = json.loads(ok("split", "--identify", "--json", path))
    assert (answer["name"], answer["same"]) == ("GPT-2", True)
    assert refused("split", "--identify", "-e", "gpt2", path).startswith("Error: --identify is about one pattern")


def test_witnesses_are_rows_or_json() -> None:
    given = ("split", "--pattern", known.QWEN2, "--diff", known.LLAMA3, "--find-witness")
    assert ok(*given).decode() == "text\tleft\tright\n00\t0 | 0\t00\n"
    answer = json.loads(ok(*given, "--json"))
    assert answer["witnesses"][0] | {"left_ids": 0, "right_ids": 0} == {
        "text": "00", "left": ["0", "0"], "left_ids": 0, "right": ["00"], "right_ids": 0,
    }  # fmt: skip
    ran = noted("split", "-e", "gpt2", "--diff", "r50k_base", "--find-witness", "--timeout", "1")
    assert ran.out == b"text\tleft\tright\n"
    assert ran.err.startswith("Note: no difference: equal on all texts of up to ")


def test_a_witness_needs_two_patterns_and_no_text() -> None:
    assert refused("split", "--find-witness").startswith("Error: --find-witness needs --diff")
    assert refused("split", "--diff", "gpt2", "--find-witness", "-t", "x").startswith("Error: --find-witness cannot")
    assert refused("split", "--identify", "-t", "x").startswith("Error: --identify cannot be combined with --text")
