"""`encode -n`: the first or the last tokens of a text, and what says that there were more."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support import HARD_ATOMS, ROOT, failed, ok, refused

import tokcli
from tokcli.cli.encode.write_ids import last_of

WORDPIECE = ROOT / "tests" / "data" / "formats" / "wordpiece.tokenizer.json"
TEXT = "".join(HARD_ATOMS)
SIZE = len(tokcli.get_encoding("o200k_base").encode_ordinary(TEXT))


@given(st.lists(st.lists(st.integers(0, 99), max_size=5), max_size=8), st.integers(0, 20))
def test_the_last_ids_are_kept_and_all_others_are_skipped(buffers: list[list[int]], limit: int) -> None:
    every = [number for ids in buffers for number in ids]
    skipped: list[int] = []
    views = (memoryview(bytes(ids)) for ids in buffers)
    kept = [number for ids in last_of(views, limit, lambda ids: skipped.extend(ids)) for number in ids]
    assert kept == (every[-limit:] if limit else [])
    assert skipped + kept == every


@pytest.mark.parametrize("n", [0, 1, 7, SIZE - 1, SIZE, SIZE + 1])
@pytest.mark.parametrize("keep", ["first", "last"])
def test_ids_are_those_at_one_end_of_all_ids(n: int, keep: str, tmp_path: Path) -> None:
    (tmp_path / "text").write_bytes(TEXT.encode())
    every = tokcli.get_encoding("o200k_base").encode_ordinary(TEXT)
    arguments = ["encode", "--special", "text", "-n", str(n), "--keep", keep, tmp_path / "text"]
    kept = every[:n] if keep == "first" else every[len(every) - min(n, len(every)) :]
    assert list(map(int, ok(*arguments).split())) == kept
    made = json.loads(ok(*arguments, "--json"))
    assert made == {"ids": kept} | ({"truncated": True} if n < SIZE else {})


def test_the_last_tokens_of_many_chunks_are_those_of_the_whole(tmp_path: Path) -> None:
    text = "one two, three. " * 40_000 + "end"
    (tmp_path / "text").write_text(text)
    every = tokcli.get_encoding("o200k_base").encode_ordinary(text)
    for n in (3, 100_000):
        kept = list(map(int, ok("encode", "-n", str(n), "--keep", "last", tmp_path / "text").split()))
        assert kept == every[-n:]


def test_offsets_of_the_last_tokens_are_those_in_the_whole_text() -> None:
    lines = ok("encode", "-n", "1", "--keep", "last", "--offsets", "char", "-t", "naïve world")
    assert lines == b"2375\t5\t11\n"
    made = json.loads(ok("encode", "-n", "1", "--keep", "last", "--offsets", "byte", "--json", "-t", "naïve world"))
    assert made == {"ids": [2375], "truncated": True, "offsets": [[6, 12]]}


def test_a_template_stays_whole_around_the_last_tokens() -> None:
    arguments = ["encode", "-e", WORDPIECE, "--add-special-tokens", "--json", "-t", "hello world"]
    every = json.loads(ok(*arguments))["ids"]
    kept = {"ids": [every[0], *every[-2:]], "truncated": True}
    assert json.loads(ok(*arguments, "-n", "3", "--keep", "last")) == kept


@pytest.mark.parametrize("keep", ["first", "last"])
def test_each_record_says_whether_it_was_cut(keep: str) -> None:
    data = b'{"text": "hello big world"}\n{"text": "hello"}\n'
    lines = ok("encode", "--records", "jsonl", "--json", "-n", "2", "--keep", keep, data=data).splitlines()
    kept = {"first": [24912, 3464], "last": [3464, 2375]}[keep]
    assert list(map(json.loads, lines)) == [{"ids": kept, "truncated": True}, {"ids": [24912]}]


def test_the_last_tokens_end_with_1_where_that_is_asked_for() -> None:
    ran = failed("encode", "-n", "1", "--keep", "last", "--fail-if-truncated", "-t", "hello world", status=1)
    assert ran.err == "Error: there are more tokens than -n 1\n"
    assert ran.out == b"2375\n"
    assert ok("encode", "-n", "2", "--keep", "last", "--fail-if-truncated", "-t", "hello world") == b"24912 2375\n"


def test_keep_means_nothing_without_n() -> None:
    assert "-n" in refused("encode", "--keep", "last", "-t", "x")
