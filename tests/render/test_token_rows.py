"""Claims about tokens in rows: ids under them at any width, nothing lost, and nothing of the data acts."""

from __future__ import annotations

import io
import re
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len, set_cell_size

from tokcli.cli.terminal import pager
from tokcli.render.console import make_console
from tokcli.render.tokens import coloured_rows, plain_rows
from tokcli.render.visible import visible_bytes

OUR_CODES = re.compile(r"\x1b\[[0-9;]*m")
WORDS = [b"hello", " 你好".encode(), "e\u0301".encode(), b"\xf0\x9f", "👩".encode(), "\u200d".encode(), b"\n", b"a"]
TOKENS = [(word, 10 ** (at % 6) + at) for at, word in enumerate(WORDS * 9)]
WIDTHS = [20, 60, 200]
ARABIC = "مرحبا".encode()
HOSTILE = [
    b"\x1b[31mred\x1b[0m",
    b"\x1b]8;;http://example.com\x1b\\link",
    b"[red]markup[/red] [link=x]y :smile: \\[",
    "user\u202etxt.exe\u2066\u2068\u2069\u061c".encode(),
    b"\x00\x07\x08\x9b\xc2\x9b",
    "\u0301\u0301".encode(),
    "\u2028\u2029\u0085".encode(),
]
tokens_of_bytes = st.lists(
    st.tuples(st.binary(max_size=6) | st.sampled_from([b"a\nb", ARABIC, *WORDS, *HOSTILE]), st.integers(0, 9))
)


@pytest.mark.parametrize("width", WIDTHS)
def test_ids_stand_under_their_tokens_at_any_width(width: int) -> None:
    rows = [row.plain for row in coloured_rows(TOKENS, width, ids=True)]
    assert max(map(cell_len, rows)) <= width
    found = []
    for text, numbers in zip(rows[::2], rows[1::2], strict=True):
        starts = [match.start() for match in re.finditer(r"\d+", numbers)]
        for start, end in zip(starts, [*starts[1:], cell_len(text)], strict=True):
            shown = set_cell_size(text, max(end, start))[len(set_cell_size(text, start)) :]
            found.append((shown.rstrip(), int(numbers[start:].split()[0])))
    assert found == [(visible_bytes(token, spaces=True), id) for token, id in TOKENS]


@pytest.mark.parametrize("width", WIDTHS)
def test_boundaries_of_ids_stand_under_those_of_the_tokens(width: int) -> None:
    rows = list(plain_rows(TOKENS, width))
    assert max(map(cell_len, rows)) <= width
    for text, numbers in zip(rows[::2], rows[1::2], strict=True):
        assert [cell_len(text[: m.start()]) for m in re.finditer("│", text)] == [
            m.start() for m in re.finditer("│", numbers)
        ]
    ids = [int(id) for numbers in rows[1::2] for id in numbers.strip("│").split("│")]
    assert ids == [id for _, id in TOKENS]


@given(tokens_of_bytes, st.sampled_from(WIDTHS))
def test_rows_lose_nothing_and_fit(tokens: list[tuple[bytes, int]], width: int) -> None:
    rows = [row.plain for row in coloured_rows(tokens, width)]
    wanted = "".join(visible_bytes(part, spaces=True) + "⏎" * (i < token.count(b"\n"))
                     for token, _ in tokens for i, part in enumerate(token.split(b"\n")))  # fmt: skip
    assert "".join(rows) == wanted
    assert all(cell_len(row) <= width for row in rows)


@given(tokens_of_bytes, st.booleans())
def test_only_our_colour_codes_and_isolates_reach_the_terminal(tokens: list[tuple[bytes, int]], ids: bool) -> None:
    file = io.StringIO()
    console = make_console(file, "always", environment={})
    for row in coloured_rows(tokens, 60, ids=ids, isolate=True):
        console.print(row)
    rest = OUR_CODES.sub("", file.getvalue()).replace("\n", "")
    assert rest.count("\u2068") == rest.count("\u2069")
    rest = re.sub("\u2068([^\u2068\u2069]*)\u2069", r"\1", rest)  # pairs that hold no other
    assert not {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"} & {unicodedata.category(char) for char in rest}


@pytest.mark.parametrize("attack", HOSTILE, ids=repr)
def test_what_is_hostile_is_shown_in_rows_too(attack: bytes) -> None:
    shown, number = plain_rows([(attack, 1)], 200)
    assert (shown, number.rstrip()) == (visible_bytes(attack, spaces=True), "1")


def test_a_token_from_right_to_left_is_isolated_and_no_other() -> None:
    (row,) = coloured_rows([(b"a", 1), (ARABIC, 2), (b"b", 3)], 60, isolate=True)
    assert row.plain == "a\u2068مرحبا\u2069b"
    (row,) = coloured_rows([(b"a", 1), (ARABIC, 2), (b"b", 3)], 60)
    assert row.plain == "aمرحباb"


def test_data_cannot_end_its_isolate() -> None:
    (row,) = coloured_rows([(ARABIC + "\u2069\u202e".encode(), 1)], 60, isolate=True)
    assert row.plain == "\u2068مرحبا⟨U+2069⟩⟨U+202E⟩\u2069"


def test_a_long_token_is_cut_and_keeps_its_colour_and_one_id() -> None:
    rows = list(coloured_rows([(b"x" * 50, 7), (b"y", 8)], 20, ids=True))
    assert [row.plain for row in rows] == ["x" * 20, "7", "x" * 20, "x" * 10 + "y", " " * 10 + "8"]
    assert len({str(row.spans[0].style) for row in (rows[0], rows[2], rows[3])}) == 1
    assert list(plain_rows([(b"x" * 50, 7), (b"y", 8)], 20)) == [
        "x" * 19, "7", "x" * 19, "x" * 12 + "│y", " " * 12 + "│8"
    ]  # fmt: skip


def test_marks_stay_with_what_carries_them() -> None:
    rows = [row.plain for row in coloured_rows([("e\u0301".encode() * 30, 7)], 20)]
    assert [len(row) for row in rows] == [40, 20]


def test_rows_on_a_screen_are_counted_without_their_colours() -> None:
    assert pager.rows_of(b"\x1b[30;46m" + b"x" * 80 + b"\x1b[0m\n\nx\n", 80) == 3
