"""`--html` and `--svg` write the view that they stand for, whether it is named beside them or not."""

from __future__ import annotations

from pathlib import Path

import pytest
from support import noted, ok, refused

WITHOUT_VIEW: dict[str, tuple[str, ...]] = {
    "encode --html": ("encode", "-t", "hello world", "--html"),
    "encode --svg": ("encode", "-t", "hello world", "--svg"),
    "split --html": ("split", "-t", "hello world", "--html"),
}
BESIDE = {
    "encode --html": (["--visualise"], ["--visualise=tokens"], ["--visualise", "merges"]),
    "encode --svg": (["--visualise"], ["--visualize", "tokens"]),
    "split --html": (["--table"], ["--stats"], ["--why", "1"], ["--why", "world"]),
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
