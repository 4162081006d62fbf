"""Progress of `train` stays in one row of a terminal of any width, and is lines where a row cannot be drawn again."""

from __future__ import annotations

import io
import re
import sys

import pytest
from rich.cells import cell_len

from tokcli.cli import messages
from tokcli.cli.train import progress
from tokcli.cli.train.progress import Progress

TERABYTE = 10**12
TOKENS = [b"a", b" antidisestablishmentarianism" * 2, "日本語のテキスト".encode() * 3, b"\x1b[31m\n", b"\xff\xfe"]


class Terminal(io.StringIO):
    """A terminal whose width only COLUMNS tells."""

    def isatty(self) -> bool:
        return True


def on_terminal(monkeypatch: pytest.MonkeyPatch) -> Terminal:
    """Make standard error a terminal, with a clock that runs an hour at a time."""
    terminal, clock = Terminal(), iter(range(0, 10**9, 3600))
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setattr(progress, "monotonic", lambda: next(clock))
    monkeypatch.setenv("TERM", "xterm")
    return terminal


def show_all(kind: str) -> None:
    """Show what a run over a terabyte shows."""
    for total in (TERABYTE, None):
        made = Progress(kind, total)
        for _ in range(10):
            made.counted(TERABYTE // 10)
        made.begin_merging(10**9)
        for index in (0, 10**8, 10**9 - 1):
            for token in TOKENS:
                made.merged(index, b"", b"", token, 10**12)
        made.end()


@pytest.mark.parametrize("columns", [200, 100, 80, 40, 20, 10, 3])
def test_a_row_is_drawn_again_and_never_wraps(columns: int, monkeypatch: pytest.MonkeyPatch) -> None:
    shown = on_terminal(monkeypatch)
    monkeypatch.setenv("COLUMNS", str(columns))
    show_all("bar")
    text = shown.getvalue()
    assert "\n" not in text
    rows = re.split(r"\r|\x1b\[K", text)
    assert max(map(cell_len, rows)) < columns
    assert any(cell_len(row) > 2 for row in rows) or columns < 4
    if columns >= 40:
        assert "counting 500,000.0" in text
        assert " 50% " in text
        assert "merge 1,000,000,000 of" in text
    if columns >= 80:
        assert re.search(r"\[#+ +\] +50% counting", text)
        assert " left" in text


def test_the_width_is_asked_for_each_time(monkeypatch: pytest.MonkeyPatch) -> None:
    shown = on_terminal(monkeypatch)
    made = Progress("bar", TERABYTE)
    for columns in (100, 40, 80):
        shown.truncate(shown.seek(0))
        monkeypatch.setenv("COLUMNS", str(columns))
        made.counted(10**9)
        assert columns // 2 < cell_len(shown.getvalue().strip("\r").removesuffix("\x1b[K")) < columns


@pytest.mark.parametrize("term", ["dumb", "unknown"])
@pytest.mark.parametrize("kind", ["auto", "bar", "plain"])
def test_a_dumb_terminal_gets_lines(kind: str, term: str, monkeypatch: pytest.MonkeyPatch) -> None:
    shown = on_terminal(monkeypatch)
    monkeypatch.setenv("TERM", term)
    show_all(Progress.kind_for(kind, quiet=False))
    assert not set("\r\x1b") & set(shown.getvalue())
    lines = shown.getvalue().splitlines()
    assert lines[4].startswith("counting 500,000.0 of 1,000,000.0 MB, ")
    assert "merge 1,000,000,000 of 1,000,000,000, 'a' occurred 1,000,000,000,000 times" in lines


def test_auto_is_a_bar_where_one_can_be_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    on_terminal(monkeypatch)
    assert Progress.kind_for("auto", quiet=False) == "bar"
    assert Progress.kind_for("auto", quiet=True) == "none"
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    assert Progress.kind_for("auto", quiet=False) == "none"


@pytest.mark.parametrize("columns", [100, 40, 20])
def test_a_download_stays_in_its_row(columns: int, monkeypatch: pytest.MonkeyPatch) -> None:
    shown = on_terminal(monkeypatch)
    monkeypatch.setenv("COLUMNS", str(columns))
    messages.show_download(10**12, 10**13)
    assert 9 < cell_len(shown.getvalue().strip("\r")) < columns
