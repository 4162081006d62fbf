"""Every view can be read on black and on white: a colour has its own background, and nothing is dimmed."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from support import noted, on_terminal, run_tokcli

TEXT = "it's 2024, 日本 <x> antidisestablishmentarianism\n"
BAD = r"\w+|\w+x|(a+)+b|(?:c*)*d"
VIEWS = [
    ("encode", "--visualise", "-t", TEXT),
    ("encode", "--visualise", "--ids", "-t", TEXT),
    ("encode", "--visualise=merges", "-t", TEXT),
    ("encode", "--compare", "gpt2,o200k_base", "-t", TEXT),
    ("split", "--table", "-t", TEXT),
    ("split", "--why", "7", "-t", TEXT),
    ("split", "--stats", "-t", TEXT),
    ("split", "--diff", "gpt2", "-t", TEXT),
    ("split", "--lint", "--pattern", BAD),
    ("inspect-ranks", " hello"),
    ("inspect-ranks", "--stats"),
    ("inspect-ranks",),
    ("count", "--tree", "."),
]
SEQUENCE = re.compile(r"\x1b\[([0-9;]*)m")
STYLES = {"", "0", "1", "3", "4", "7"}  # the end of a style, bold, italic, underlined, reversed
ON_A_COLOUR = re.compile(
    r"([134];)*(30;(4[1-7]|10[1-7])|38;5;16;48;5;\d+|38;2;0;0;0;48;2;\d+;\d+;\d+)"  # black on some background
)


def unreadable(shown: str) -> set[str]:
    """Return the escape sequences of colours that depend on the terminal's own background."""
    sequences = set(SEQUENCE.findall(shown))
    return {one for one in sequences if not (set(one.split(";")) <= STYLES or ON_A_COLOUR.fullmatch(one))}


@pytest.mark.parametrize("arguments", VIEWS, ids=" ".join)
def test_no_view_depends_on_the_background(
    arguments: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a").write_text(TEXT)
    for term in ("xterm", "xterm-256color"):
        _, shown = on_terminal(*arguments, env={"TERM": term})
        assert shown
        assert unreadable(shown.decode()) == set()
    piped = run_tokcli(*arguments, "--color", "always", env={"TERM": "xterm-direct"}).out.decode()
    assert unreadable(piped) == set()


def test_the_check_finds_what_cannot_be_read() -> None:
    assert unreadable("\x1b[33mwarning\x1b[0m \x1b[2mid\x1b[0m \x1b[1mbold\x1b[0m \x1b[30;106ma\x1b[0m") == {"33", "2"}
    assert unreadable("\x1b[38;5;16;48;5;74ma\x1b[0m\x1b[1;31merror\x1b[36;4mx") == {"1;31", "36;4"}


def test_the_training_log_can_be_read(tmp_path: Path) -> None:
    asked = ("train", "--visualise", "--vocab-size", "258", "-o", str(tmp_path / "a"), "--color", "always")
    shown = noted(*asked, data=b"ab ab", env={"TERM": "xterm"}).out.decode()
    assert "\x1b[" in shown
    assert unreadable(shown) == set()
