"""Models that SentencePiece itself was once not safe from: each a one-line error, or the right answer.

They are built here as its own issues describe them; no such file is ever made by training.
"""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from sentencepiece_files import (
    BPE,
    CHAR,
    HAS_VALUE,
    NORMAL,
    UNIGRAM,
    USER_DEFINED,
    WORD,
    Pieces,
    charsmap_of,
    model_file,
    rule_for,
)
from support import parse_vocabulary, refused, took_less

from tokcli.engine.executor import Executor
from tokcli.engine.sentencepiece.charsmap import LONGEST_RULE, Charsmap
from tokcli.engine.sentencepiece.model import SentencePiece
from tokcli.errors import InputError, VocabularyError
from tokcli.registry.encodings import load_encoding


def read(data: bytes) -> SentencePiece:
    model = parse_vocabulary(data, "x.model")
    assert isinstance(model, SentencePiece)
    return model


LETTERS: Pieces = [(letter.encode(), NORMAL) for letter in "abx"]


@pytest.mark.parametrize("model_type", [UNIGRAM, BPE, WORD, CHAR])
@pytest.mark.parametrize("kind", [NORMAL, USER_DEFINED])
def test_cve_2026_1260_pieces_with_a_nul_inside_are_refused(model_type: int, kind: int, tmp_path: Path) -> None:
    """A table of user-defined symbols was built as if they ended at their first NUL: equal ones, in no order."""
    pieces = [(b"b\0b", kind), (b"b\0a", kind), (b"a\0" + b"c" * 100, kind)]
    path = tmp_path / "nul.model"
    path.write_bytes(model_file([*LETTERS, *pieces], model_type))
    assert refused("count", "-e", path, "-t", "b") == "Error: nul.model: piece 4 has a NUL in it\n"


@pytest.mark.parametrize("root", [0xFFFFFFFF, 0x7FFFFE00, 1 << 31 | 1 << 10, 256 << 10])
def test_sentencepiece_1269_a_charsmap_whose_root_points_far_out_of_it_is_refused(root: int, tmp_path: Path) -> None:
    """The first step from the root was taken before anything was looked at."""
    path = tmp_path / "root.model"
    path.write_bytes(model_file(LETTERS, BPE, charsmap_of({0: root})))
    message = refused("count", "-e", path, "-t", "ab")
    assert message == "Error: root.model: a precompiled charsmap whose first unit points out of it\n"


def far(label: str) -> int:
    """A unit with a label, a value, and an offset far beyond any array."""
    return ord(label) | HAS_VALUE | 0x1FFFFF << 10


@pytest.mark.parametrize(
    "units",
    [
        {0: 1 << 10, ord("a") ^ 1: far("a")},  # the value stands far outside
        {0: 1 << 10, ord("a") ^ 1: ord("a") | HAS_VALUE, ord("a"): 0, 0x61 ^ 1 ^ 0: ord("a") | HAS_VALUE | 1 << 10,
         0x61: 1 << 31 | 1 << 20},  # the value points beyond the texts
    ],
)  # fmt: skip
def test_a_charsmap_that_points_out_of_itself_further_on_changes_nothing(units: dict[int, int]) -> None:
    model = read(model_file(LETTERS, BPE, charsmap_of(units)))
    assert Executor(model).encode("ab") == model.encode("ab", frozenset()) == [1, 2]


def test_a_hundred_rules_of_one_beginning_are_all_looked_at() -> None:
    """SentencePiece had room for 32 (its issue 1267). A chain of "a": at each of its ends a value stands."""
    units = {0: 1 << 10}
    at = 1 ^ ord("a")
    texts = b""
    for size in range(1, 101):
        # children at `at ^ offset`: the value at label 0, the next "a" at label 0x61
        offset = next(o for o in range(1, 256) if not {at ^ o, at ^ o ^ ord("a")} & {0, at, *units} and at ^ o < 256
                      and at ^ o ^ ord("a") < 256)  # fmt: skip
        units[at] = ord("a") | HAS_VALUE | offset << 10
        units[at ^ offset] = 1 << 31 | len(texts)
        texts += b"b" * (size % 2) + b"x\0"
        at ^= offset ^ ord("a")
    model = read(model_file(LETTERS, BPE, charsmap_of(units, texts)))
    found = model.encode("a" * 100 + "a" * 99, frozenset())
    assert found == [3, 2, 3]  # "x" for a hundred, "bx" for the others
    assert Executor(model).encode("a" * 100 + "a" * 99) == found


def test_a_hundred_nested_user_defined_symbols_are_all_looked_at() -> None:
    """SentencePiece had room for 64."""
    pieces = [(b"a" * size, USER_DEFINED) for size in range(2, 102)]
    model = read(model_file([*LETTERS, *pieces], BPE))
    found = model.encode("a" * 101 + "b", frozenset())
    assert found == [103, 2]
    assert Executor(model).encode("a" * 101 + "b") == found


def test_a_piece_of_a_hundred_thousand_bytes_is_refused() -> None:
    """Building a table of prefixes went as deep as the longest piece (its issue 1263)."""
    with pytest.raises(VocabularyError, match="a piece of 100000 characters; at most 8000 are read"):
        read(model_file([(b"a" * 100_000, NORMAL)], UNIGRAM))


LEADS_BACK = ord("a") << 10 | ord("a")  # a unit for `a` from which `a` leads to itself


@pytest.mark.clock
def test_a_charsmap_that_leads_in_circles_is_refused_in_time(tmp_path: Path) -> None:
    """Each place of a text was read to its end: 80 kB took ten seconds."""
    path = tmp_path / "x.model"
    path.write_bytes(model_file(LETTERS, BPE, charsmap_of({ord("a"): LEADS_BACK})))
    encoding = load_encoding(path)
    began = time.process_time()
    assert encoding.count("a" * 900) == 900
    with pytest.raises(InputError, match=f"a rule for more than {LONGEST_RULE} bytes"):
        encoding.count("a" * 1_000_000)
    assert took_less(began, 2)


@pytest.mark.parametrize("size", [2, 3, 4, 40, 100])
def test_a_rule_for_many_characters_of_ascii_is_applied(size: int) -> None:
    """Python looked for rules of two or three characters, and missed those for 64 and more."""
    model = read(model_file(LETTERS, BPE, charsmap_of(rule_for(b"a" * size))))
    text = "b" + "a" * (2 * size - 1) + "b" * 200
    expected = [2, 3, *[1] * (size - 1), *[2] * 200]
    assert Executor(model).encode(text) == model.encode(text, frozenset()) == expected


def test_a_rule_of_a_charsmap_that_has_no_end_is_refused(tmp_path: Path) -> None:
    charsmap = charsmap_of({ord("a"): LEADS_BACK | HAS_VALUE, 0: 0})
    assert Charsmap(charsmap).longest(b"a" * LONGEST_RULE, 0) is not None
    path = tmp_path / "x.model"
    path.write_bytes(model_file(LETTERS, BPE, charsmap))
    encoding = load_encoding(path)
    with pytest.raises(InputError, match=f"a rule for more than {LONGEST_RULE} bytes"):
        encoding.encode("a" * (2 * LONGEST_RULE))
