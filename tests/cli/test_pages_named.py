"""`--html` and `--svg` write the view that they stand for, whether it is named beside them or not."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from support import ROOT, noted, ok, refused

WITHOUT_VIEW: dict[str, tuple[str, ...]] = {
    "encode --html": ("encode", "-t", "hello world", "--html"),
    "encode --svg": ("encode", "-t", "hello world", "--svg"),
    "split --html": ("split", "-t", "hello world", "--html"),
}
BESIDE = {
    "encode --html": (["--visualise"], ["--visualise=tokens"], ["--visualise", "merges"]),
    "encode --svg": (["--visualise"], ["--visualize", "tokens"]),
    "split --html": (["--table"], ["--stats"], ["--why", "0"], ["--why", "hello"]),
}


@pytest.mark.parametrize("name", WITHOUT_VIEW)
def test_a_view_that_is_named_beside_its_file_changes_nothing(name: str, tmp_path: Path) -> None:
    assert ok(*WITHOUT_VIEW[name], tmp_path / "one") == b""
    for view in BESIDE[name]:
        assert ok(*WITHOUT_VIEW[name], tmp_path / "two", *view) == b""
        assert (tmp_path / "two").read_bytes() == (tmp_path / "one").read_bytes()
        (tmp_path / "two").unlink()


def test_the_picture_has_ids_where_they_are_asked_for(tmp_path: Path) -> None:
    ok("encode", "-t", "hello", "--svg", tmp_path / "one", "--ids")
    ok("encode", "-t", "hello", "--svg", tmp_path / "two")
    assert b"24912" in (tmp_path / "one").read_bytes()
    assert b"24912" not in (tmp_path / "two").read_bytes()


def test_special_tokens_are_text_to_a_picture(tmp_path: Path) -> None:
    said = noted("encode", "-t", "a<|endoftext|>", "--svg", tmp_path / "x").err
    assert said.startswith("Note: 1 special token in the text is taken as text")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("encode", "--svg", "x", "--visualise", "merges"), "--html has the merges of each, too."),
        (("encode", "--svg", "x", "--json"), "The picture has its own format."),
        (("encode", "--svg", "x", "--html", "y"), "Write one after the other."),
        (("encode", "--svg", "x", "--chunk", "5"), "--chunk cannot be combined with --svg"),
        (("split", "--html", "x", "--lint"), "The page shows pieces"),
        (("split", "--html", "x", "--diff", "gpt2"), "The page shows pieces"),
    ],
)
def test_what_a_page_or_picture_does_not_show_is_refused(arguments: tuple[str, ...], said: str) -> None:
    assert said in refused(*arguments)


def head_of(page: Path) -> dict[str, Any]:
    found = re.search(r'<script type="application/json" id="head">(.*?)</script>', page.read_text("ascii"))
    assert found
    head: dict[str, Any] = json.loads(found[1])
    return head


@pytest.mark.parametrize(("why", "piece"), [("1", 1), ("0", 0), ("world", 2), ("'s", 1)])
def test_the_piece_that_why_asks_for_is_chosen_in_the_page(why: str, piece: int, tmp_path: Path) -> None:
    ok("split", "-e", "gpt2", "-t", "x's world", "--why", why, "--html", tmp_path / "x")
    assert head_of(tmp_path / "x")["chosen"] == piece


def test_a_token_that_is_looked_up_is_chosen_in_the_page(tmp_path: Path) -> None:
    path = ROOT / "tests/data/formats/bpe.model"
    noted("inspect-ranks", "-e", path, "--id", "300", "--html", tmp_path / "x")
    assert head_of(tmp_path / "x")["chosen"] == 300
    noted("inspect-ranks", "-e", path, "--html", tmp_path / "x")
    assert head_of(tmp_path / "x")["chosen"] == 0


def test_a_place_that_is_not_there_is_refused_and_leaves_no_page(tmp_path: Path) -> None:
    assert "byte 9 is past the end" in refused("split", "-t", "x", "--why", "9", "--html", tmp_path / "x")
    assert "no 'y' in the text" in refused("split", "-t", "x", "--why", "y", "--html", tmp_path / "x")
    assert not (tmp_path / "x").exists()
