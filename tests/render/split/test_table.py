"""Claims about the table of pieces and the colours of alternatives."""

from __future__ import annotations

import re
import unicodedata
from itertools import islice

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len
from support import examples

from tokcli.render.colours import Painter, style_of
from tokcli.render.split.table import FIRST_ROWS, pattern_lines, table_lines
from tokcli.render.tables import SplitRow
from tokcli.render.tokens import folded_between

ATTACK = "\x1b[31m[red]a[/red]\u202e\x1b]8;;http://x\x1b\\\r\n\t\x00"
PLAIN = Painter(None)
OUR_CODES = re.compile(r"\x1b\[[0-9;]*m")


def lines(rows: list[SplitRow], width: int = 80) -> list[str]:
    return list(table_lines(rows, width, PLAIN))


def test_the_table_has_the_columns_of_the_contract() -> None:
    rows = [SplitRow(0, b"I", "a2", (40,)), SplitRow(1, "'é ".encode(), "a7", (1, 2, 3))]
    header, _, *body = lines(rows)
    assert header.split() == ["#", "bytes", "chars", "alternative", "text", "tokens"]
    assert [line.split() for line in body] == [
        ["0", "1", "1", "a2", "I", "40"],
        ["1", "4", "3", "a7", "'é·", "1", "2", "3"],
    ]


def test_a_table_of_nothing_has_its_header() -> None:
    assert lines([])[0].split() == ["#", "bytes", "chars", "alternative", "text", "tokens"]


@pytest.mark.parametrize("width", [60, 80, 200])
def test_no_line_is_wider_than_the_screen(width: int) -> None:
    rows = [
        SplitRow(0, "你好世界🙂".encode() * 20, "a1", tuple(range(100_000, 100_050))),
        SplitRow(1, b"x" * 500, "a12", (7,)),
    ]
    assert max(map(cell_len, lines(rows, width))) <= width


def test_a_piece_of_ten_kilobytes_is_folded_and_not_cut() -> None:
    shown = lines([SplitRow(0, b"x" * 10_000, "a1", (1,))], 60)
    assert sum(line.count("x") for line in shown[2:]) == 10_000


def test_ids_are_not_torn_apart_where_they_are_folded() -> None:
    ids = tuple(range(100_000, 100_040))
    shown = " ".join(lines([SplitRow(0, b"x", "a1", ids)], 60)[2:]).split()
    assert [word for word in shown if len(word) == 6] == list(map(str, ids))


def test_a_row_that_comes_later_and_is_wider_still_fits() -> None:
    rows = [SplitRow(i, b"a", "a1", (1,)) for i in range(FIRST_ROWS)] + [SplitRow(FIRST_ROWS, b"b" * 300, "a1", (1,))]
    shown = lines(rows, 70)
    assert max(map(cell_len, shown)) <= 70
    assert sum(line.count("b") for line in shown[2:]) == 300


def test_the_first_lines_need_no_more_than_the_first_rows() -> None:
    taken = []

    def rows() -> object:
        for number in range(10**9):
            taken.append(number)
            yield SplitRow(number, b"a", "a1", (1,))

    assert len(list(islice(table_lines(rows(), 80, PLAIN), 24))) == 24  # type: ignore[arg-type]
    assert len(taken) <= FIRST_ROWS


def test_nothing_of_the_data_acts() -> None:
    painted = table_lines([SplitRow(0, ATTACK.encode(), ATTACK, (1,))], 200, Painter("truecolor"))
    shown = OUR_CODES.sub("", "".join([*painted, *pattern_lines([ATTACK, "b"], Painter("256"))]))
    assert "[red]a[/red]⟨U+202E⟩" in shown
    assert not {"Cc", "Cf", "Cs"} & {unicodedata.category(char) for char in shown}


def test_neighbouring_alternatives_and_the_first_two_dozen_look_different() -> None:
    styles = [style_of(f"a{number}") for number in range(1, 25)]
    assert len(set(styles)) == 24


def test_without_colours_there_is_no_code() -> None:
    assert "\x1b" not in "".join([*lines([SplitRow(0, b"a", "a1", (1,))]), *pattern_lines(["a", "b"], PLAIN)])


@pytest.mark.parametrize("name", ["-", "", "a", "special", "a²", "b1x"])
def test_what_is_no_alternative_has_no_colour(name: str) -> None:
    assert not style_of(name).bgcolor


def test_a_narrow_screen_has_a_shorter_header() -> None:
    row = SplitRow(0, b" pay", "a2", (2777,))
    assert "alternative" in lines([row], 60)[0]
    narrow = lines([row], 40)
    assert "alt " in narrow[0]
    assert all(cell_len(line) <= 40 for line in narrow)


def test_a_piece_of_a_megabyte_is_folded_as_it_is_shown() -> None:
    rows = [SplitRow(0, b"a" * 1_000_000, "a1", tuple(range(200_000)))]
    made = table_lines(rows, 60, PLAIN)
    first = [next(made) for _ in range(5)]
    assert max(map(cell_len, first)) <= 60
    text = first[2].split()[4]
    assert set(text) == {"a"}
    assert first[3].split()[0] == text


def test_no_id_and_no_mark_is_lost_in_folding() -> None:
    text = "a\u0301\u0302b" * 40
    made = lines([SplitRow(0, text.encode(), "a1", tuple(range(1000, 1060)))], 50)[2:]
    ids = [word for line in made for word in line.split() if word.isdecimal() and len(word) == 4]
    assert ids == [str(number) for number in range(1000, 1060)]
    shown = "".join("".join(word for word in line.split() if "b" in word or "\u0301" in word) for line in made)
    assert shown == text


@examples(200)
@given(st.text(st.sampled_from("a⟨⟩日\u0301 U+")), st.integers(2, 12))
def test_folding_loses_nothing_and_fits(text: str, width: int) -> None:
    lines = list(folded_between(text, width))
    assert "".join(lines) == text
    assert all(lines)
    assert max(map(cell_len, lines), default=0) <= width


def test_what_is_in_brackets_stays_whole_where_it_fits() -> None:
    shown = lines([SplitRow(0, "👩\u200d".encode() * 20, "a1", (1,))], 50)
    assert sum(line.count("⟨U+200D⟩") for line in shown) == 20
