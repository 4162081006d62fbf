"""Claims about coloured and plain token boundaries."""

from __future__ import annotations

import io
import re
import unicodedata
from collections.abc import Iterable
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.color import ColorSystem
from rich.text import Text

from tokcli.render.colours import BACKGROUNDS, PALETTE, STYLES
from tokcli.render.console import make_console
from tokcli.render.tokens import coloured_boundaries, plain_boundaries
from tokcli.render.visible import visible_bytes

OUR_CODES = re.compile(r"\x1b\[[0-9;]*m")
HOSTILE = [
    b"\x1b[31mred\x1b[0m",
    b"\x1b]8;;http://example.com\x1b\\link\x1b]8;;\x1b\\",
    b"[red]markup[/red] [link=x]y :smile: \\[",
    "user\u202etxt.exe\u2066".encode(),
    b"\x00\x07\x08\x9b\xc2\x9b",
    "\u0301\u0301".encode(),
    "\u2028\u2029\u0085".encode(),
]

tokens_of_bytes = st.lists(
    st.tuples(st.binary(max_size=6) | st.sampled_from([b"\n", b"\n\n", b"a\nb", b"\r\n", b" "]), st.integers(0, 9))
)


def backgrounds(lines: Iterable[Text]) -> list[str]:
    """The background of every token's part, in order of the text."""
    found = []
    for line in lines:
        for span in line.spans:
            assert not isinstance(span.style, str)
            if span.style.bgcolor is not None:
                found.append(span.style.bgcolor.name)
    return found


def printed(lines: Iterable[Text]) -> str:
    file = io.StringIO()
    console = make_console(file, "always", environment={"COLORTERM": "truecolor"})
    for line in lines:
        console.print(line)
    return file.getvalue()


@given(st.lists(st.binary(min_size=1, max_size=6).filter(lambda token: b"\n" not in token)))
def test_neighbours_differ_in_colour(tokens: list[bytes]) -> None:
    found = backgrounds(coloured_boundaries((token, 0) for token in tokens))
    assert len(found) == len(tokens)
    assert all(left != right for left, right in pairwise(found))


def test_neighbours_differ_across_line_breaks_and_a_token_keeps_its_colour() -> None:
    first, second, third, fourth = backgrounds(coloured_boundaries([(b"a\n", 1), (b"\nb", 2), (b"", 3), (b"c", 4)]))
    assert first != second == third != fourth


@pytest.mark.parametrize("system", [ColorSystem.STANDARD, ColorSystem.EIGHT_BIT, ColorSystem.TRUECOLOR])
def test_the_colours_differ_however_few_there_are(system: ColorSystem) -> None:
    assert len({colour.downgrade(system) for colour in BACKGROUNDS}) == len(PALETTE)
    painted = {style.render("x", color_system=system) for style in STYLES}
    assert len(painted) == len(PALETTE)


def test_black_is_readable_on_every_colour_of_the_palette() -> None:
    for colour in PALETTE:
        channels = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
        red, green, blue = (
            ((value + 0.055) / 1.055) ** 2.4 if value > 0.04045 else value / 12.92 for value in channels
        )
        luminance = 0.2126 * red + 0.7152 * green + 0.0722 * blue
        assert (luminance + 0.05) / 0.05 >= 4.5, colour  # WCAG AA


def test_a_newline_is_shown_and_breaks_the_line() -> None:
    tokens = [(b"a", 1), (b"\n", 2), (b"\n\n", 3), (b"b\r\n", 4), (b"\tc", 5)]
    assert [line.plain for line in coloured_boundaries(tokens)] == ["a⏎", "⏎", "⏎", "b␍⏎", "→c"]
    assert list(plain_boundaries(tokens)) == ["a│⏎│", "⏎", "⏎│", "b␍⏎│", "→c"]


def test_a_boundary_at_a_line_break_is_told_from_none() -> None:
    assert list(plain_boundaries([(b"a\n", 1), (b"b", 2)])) == ["a⏎│", "b"]
    assert list(plain_boundaries([(b"a", 1), (b"\nb", 2)])) == ["a│⏎", "b"]
    assert list(plain_boundaries([(b"a\nb", 1)])) == ["a⏎", "b"]
    assert list(plain_boundaries([(b"a\n", 1)])) == ["a⏎"]


def test_no_tokens_are_no_lines() -> None:
    assert list(coloured_boundaries([])) == list(plain_boundaries([])) == []
    assert list(plain_boundaries([(b"", 1)])) == list(coloured_boundaries([(b"", 1)])) == []


def test_spaces_stay_spaces_where_asked() -> None:
    assert list(plain_boundaries([(b" a", 1)], spaces=False)) == [" a"]
    assert next(coloured_boundaries([(b" a", 1)], spaces=False)).plain == " a"


@given(tokens_of_bytes)
def test_both_forms_show_the_same_text(tokens: list[tuple[bytes, int]]) -> None:
    tokens = [(token.replace("│".encode(), b""), id) for token, id in tokens]
    plain = [line.replace("│", "") for line in plain_boundaries(tokens)]
    assert plain == [line.plain for line in coloured_boundaries(tokens)]
    assert "".join(plain) == "".join(
        visible_bytes(part, spaces=True) + "⏎" * (index < token.count(b"\n"))
        for token, _ in tokens
        for index, part in enumerate(token.split(b"\n"))
    )


@given(tokens_of_bytes)
def test_there_is_a_boundary_between_any_two_tokens(tokens: list[tuple[bytes, int]]) -> None:
    tokens = [(token, id) for token, id in tokens if token and "│".encode() not in token]
    assert "".join(plain_boundaries(tokens)).count("│") == max(len(tokens) - 1, 0)


def test_an_emoji_split_over_tokens_is_shown_as_bytes_and_names() -> None:
    family = "👨\u200d👩".encode()
    tokens = [(family[:3], 1), (family[3:7], 2), (family[7:], 3)]
    assert list(plain_boundaries(tokens)) == ["⟨f0 9f 91⟩│⟨a8⟩⟨U+200D⟩│👩"]


def test_a_token_that_begins_with_a_combining_character_does_not_touch_its_neighbour() -> None:
    assert list(plain_boundaries([(b"e", 1), ("\u0301".encode(), 2)])) == ["e│◌\u0301"]


@pytest.mark.parametrize("attack", HOSTILE, ids=repr)
def test_only_our_own_colour_codes_reach_the_terminal(attack: bytes) -> None:
    output = printed(coloured_boundaries([(attack, 1), (b"b", 2)]))
    assert OUR_CODES.sub("", output) == visible_bytes(attack, spaces=True) + "b\n"


@given(tokens_of_bytes)
def test_nothing_but_our_own_colour_codes_ever_reaches_the_terminal(tokens: list[tuple[bytes, int]]) -> None:
    rest = OUR_CODES.sub("", printed(coloured_boundaries(tokens))).replace("\n", "")
    assert not {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"} & {unicodedata.category(char) for char in rest}


@pytest.mark.parametrize("width", [20, 60, 200])
def test_a_long_line_of_wide_characters_folds_within_the_width(width: int) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    file = Terminal()
    console = make_console(file, "auto", environment={"TERM": "xterm-256color"}, width=width)
    for line in coloured_boundaries([("你好".encode(), 1), (b"a b", 2)] * 1500):
        console.print(line)
    lines = OUR_CODES.sub("", file.getvalue()).splitlines()
    assert "".join(lines) == "你好a·b" * 1500
    assert all(width - 1 <= len(line) + sum(char in "你好" for char in line) <= width for line in lines[:-1])


def test_a_long_line_is_not_wrapped_in_a_pipe() -> None:
    assert len(printed(coloured_boundaries([(b"word ", 1)] * 2000)).splitlines()) == 1
