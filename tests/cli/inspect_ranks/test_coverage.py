"""`inspect-ranks --coverage`: every token of a corpus is counted once, and every character belongs to one script."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from support import examples, hard_text, noted, ok, refused

import tokcli
from tokcli.analysis.coverage import coverage_of

NAMES = ("r50k_base", "o200k_base")


@pytest.mark.no_cover
@pytest.mark.parametrize("name", NAMES)
@examples(100)
@given(text=hard_text(40))
def test_tokens_and_characters_add_up(name: str, text: str) -> None:
    tokenizer = tokcli.get_encoding(name).tokenizer
    ids = tokenizer.encode(text)
    found = coverage_of(tokenizer.token_bytes(), [ids])
    assert found.uses == Counter(ids)
    assert sum(cost.tokens for cost in found.costs.values()) == len(ids)
    assert sum(cost.characters for cost in found.costs.values()) == len(text)


def test_the_most_frequent_tokens_come_first_with_their_share(tmp_path: Path) -> None:
    (tmp_path / "corpus").write_text("a a a a b\n龘龘 Привет")
    ran = noted("inspect-ranks", "-e", "r50k_base", "--coverage", tmp_path / "corpus")
    rows = [row.split("\t") for row in ran.out.decode().splitlines()]
    assert rows[0] == ["id", "count", "share", "script", "text"]
    assert rows[1][1:4] == ["3", f"{3 / sum(int(row[1]) for row in rows[1:]):.4%}", "Latin"]
    assert rows[1][4] == " a"
    assert all(cost in ran.err for cost in ("Han 2.00", "Latin 0.56", "Cyrillic 1.00"))
    assert "of 50,257 ids" in ran.err


def test_json_has_the_scripts_and_the_ids() -> None:
    answer = json.loads(ok("inspect-ranks", "--coverage", "-", "--json", "-q", data="aé 7\n".encode()))
    assert answer["tokens"] == sum(row["count"] for row in answer["ids"])
    assert answer["used"] == len(answer["ids"])
    assert {row["script"] for row in answer["scripts"]} == {"Latin", "no letter"}


def test_what_is_not_utf_8_counts_as_a_replacement_character() -> None:
    given = ("inspect-ranks", "--coverage", "-", "--csv", "-q")
    assert ok(*given, data=b"a\xffb") == ok(*given, data="a\ufffdb".encode())


def test_a_missing_corpus_and_other_views_are_refused() -> None:
    assert refused("inspect-ranks", "--coverage", "missing").startswith("Error: missing: no such file or directory")
    assert refused("inspect-ranks", "--coverage", "-", "--stats").startswith("Error: --stats cannot be combined")
