"""Claims about the console: when it colours, how wide it is, and that it interprets nothing."""

from __future__ import annotations

import io

import pytest

from tokcli.render.console import Color, make_console


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def output(file: io.StringIO, color: Color, environment: dict[str, str], what: str = "x") -> str:
    make_console(file, color, environment=environment).print(what, style="bold red")
    return file.getvalue()


@pytest.mark.parametrize(
    ("file", "color", "environment", "coloured"),
    [
        (Terminal(), "auto", {"TERM": "xterm"}, True),
        (Terminal(), "auto", {}, True),
        (io.StringIO(), "auto", {"TERM": "xterm"}, False),
        (Terminal(), "auto", {"TERM": "xterm", "NO_COLOR": "1"}, False),
        (Terminal(), "auto", {"TERM": "xterm", "NO_COLOR": ""}, True),
        (Terminal(), "auto", {"TERM": "dumb"}, False),
        (io.StringIO(), "auto", {"FORCE_COLOR": "1"}, True),
        (io.StringIO(), "auto", {"FORCE_COLOR": ""}, False),
        (io.StringIO(), "auto", {"FORCE_COLOR": "1", "NO_COLOR": "1"}, False),
        (io.StringIO(), "always", {}, True),
        (io.StringIO(), "always", {"NO_COLOR": "1", "TERM": "dumb"}, True),
        (Terminal(), "never", {"TERM": "xterm", "FORCE_COLOR": "1"}, False),
    ],
)
def test_colour_is_used_when_asked_for_or_on_a_terminal_that_wants_it(
    file: io.StringIO, color: Color, environment: dict[str, str], coloured: bool
) -> None:
    assert ("\x1b[1;31mx" in output(file, color, environment)) is coloured
    assert coloured or file.getvalue() == "x\n"  # not even bold


def test_the_environment_of_the_process_is_not_read(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {"NO_COLOR": "1", "COLUMNS": "33", "TERM": "dumb", "TTY_COMPATIBLE": "0"}.items():
        monkeypatch.setenv(name, value)
    assert "\x1b[" in output(Terminal(), "auto", {"TERM": "xterm"})
    assert make_console(io.StringIO(), "auto", environment={"COLUMNS": "50"}).width == 50


def test_the_width_given_wins_over_columns() -> None:
    assert make_console(io.StringIO(), "never", environment={"COLUMNS": "50"}, width=70).width == 70


def test_columns_that_are_no_number_are_ignored() -> None:
    assert make_console(io.StringIO(), "never", environment={"COLUMNS": "wide"}).width > 0


@pytest.mark.parametrize("what", ["[red]x[/red]", ":smile:", "'quoted' 123 http://example.com", "[/]", "\\[x]"])
def test_what_is_printed_is_not_interpreted(what: str) -> None:
    assert output(io.StringIO(), "never", {}, what) == what + "\n"
    assert output(io.StringIO(), "always", {}, what).startswith(f"\x1b[1;31m{what}\x1b[0m")


def test_text_is_wrapped_on_a_terminal_and_not_in_a_pipe() -> None:
    assert len(output(Terminal(), "never", {"COLUMNS": "20"}, "word " * 20).splitlines()) > 1
    assert len(output(io.StringIO(), "never", {"COLUMNS": "20"}, "word " * 20).splitlines()) == 1


@pytest.mark.parametrize(
    ("environment", "style", "code"),  # each with its own style: rich remembers how a style was first rendered
    [
        ({"TERM": "xterm"}, "#E69F00", "\x1b[33m"),
        ({"TERM": "xterm-256color"}, "#E69F01", "\x1b[38;5;178m"),
        ({"TERM": "xterm-256color", "COLORTERM": "truecolor"}, "#E69F02", "\x1b[38;2;230;159;2m"),
        ({"TERM": "xterm-direct"}, "#E69F03", "\x1b[38;2;230;159;3m"),
    ],
)
def test_no_more_colours_are_used_than_the_terminal_has(environment: dict[str, str], style: str, code: str) -> None:
    file = Terminal()
    make_console(file, "auto", environment=environment).print("x", style=style)
    assert code in file.getvalue()
