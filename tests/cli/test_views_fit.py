"""No line of a view is wider than the terminal, of 100, 80 or 40 columns, whatever the text; wide characters count as two."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from rich.cells import cell_len
from support import first_in_gate, on_terminal

TEXT = (
    "Hello world, it's 2024! 日本語のテキストです。 👩\u200d👩\u200d👧 e\u0301e\u0301 שלום\n\tdef foo(x):\n"
    "\t\treturn x + 1_000_000\nSupercalifragilisticexpialidocious antidisestablishmentarianism" + " " * 90 + "\x1b[31m"
)
VIEWS = [
    ("encode", "--visualise"),
    ("encode", "--visualise", "--ids"),
    ("encode", "--visualise=merges"),
    ("encode", "--compare", "o200k_base,cl100k_base,gpt2"),
    ("split", "--table"),
    ("split", "--why", "4"),
    ("split", "--why", "160"),
    ("split", "--stats"),
    ("split", "--diff", "gpt2"),
    ("count", "--tree"),
    ("count", "--tree", "-e", "gpt2", "-e", "o200k_base"),
]
OF_NO_TEXT = [
    ("split", "--lint", "-e", "o200k_base"),
    (
        "split",
        "--lint",
        "--pattern",
        r"\w+|\w+x|(a+)+b|(?:c*)*d|a very long alternative that is wider than a narrow terminal",
    ),
    ("inspect-ranks",),
    ("inspect-ranks", " hello", "日本"),
    ("inspect-ranks", "--id", "72056"),
    ("inspect-ranks", "--stats"),
    ("inspect-ranks", "--longest", "12"),
    ("inspect-ranks", "--models"),
    ("inspect-ranks", "--models", "gpt"),
    ("inspect-ranks", "--merges", "-e", "gpt2"),
]


def shown_lines(*arguments: str | Path, columns: int) -> list[str]:
    """Return the lines of a view on a terminal, without colours."""
    _, shown = on_terminal(*arguments, env={"COLUMNS": str(columns)})
    return re.sub(r"\x1b\[[0-9;]*m|[\u2068\u2069]", "", shown.decode()).splitlines()


@pytest.mark.parametrize("columns", first_in_gate([40, 80, 100], 2))
@pytest.mark.parametrize("view", [*VIEWS, *OF_NO_TEXT], ids=" ".join)
def test_no_line_is_wider_than_the_terminal(view: tuple[str, ...], columns: int, tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder/text.md").write_text(TEXT)
    inputs = [] if view in OF_NO_TEXT else [tmp_path / ("folder" if view[0] == "count" else "folder/text.md")]
    lines = shown_lines(*view, *inputs, columns=columns)
    assert max(map(cell_len, lines)) <= columns
    assert len(lines) > 1


@pytest.mark.parametrize("view", [VIEWS[2], VIEWS[4], VIEWS[7], VIEWS[9]], ids=" ".join)
def test_a_terminal_of_one_column_gets_all_the_same(view: tuple[str, ...], tmp_path: Path) -> None:
    (tmp_path / "a").write_text(TEXT)
    assert on_terminal(*view, tmp_path / "a", env={"COLUMNS": "1"})[0] == 0


def test_the_training_log_fits_the_terminal(tmp_path: Path) -> None:
    asked = ("train", "-q", "--visualise", "--vocab-size", "258", "-t", "日本語 tekst " * 20, "-o", tmp_path / "made")
    lines = shown_lines(*asked, columns=40)
    assert len(lines) > 4
    assert max(map(cell_len, lines)) <= 40


def test_an_identified_pattern_fits_the_terminal() -> None:
    lines = shown_lines("split", "--identify", "--pattern", r"(\w+|[^\w\s]+){1,12}|\s", columns=40)
    assert len(lines) > 4
    assert max(map(cell_len, lines)) <= 40


@pytest.mark.parametrize("columns", first_in_gate([40, 80, 100], 2))
def test_coverage_fits_the_terminal(columns: int, tmp_path: Path) -> None:
    (tmp_path / "a").write_text(TEXT)
    lines = shown_lines("inspect-ranks", "-q", "--coverage", tmp_path / "a", columns=columns)
    assert max(map(cell_len, lines)) <= columns
