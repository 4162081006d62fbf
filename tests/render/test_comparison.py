"""Encodings of one text stand above one another: equal places in equal columns, nothing lost, nothing too wide."""

from __future__ import annotations

import re
from array import array
from itertools import accumulate, pairwise

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from rich.cells import cell_len

from tokcli.render.palette import CODES
from tokcli.render.stacks.comparison import EncodingTotal, labels, stack_rows
from tokcli.render.stacks.totals import totals_table

OUR_CODES = re.compile(r"\x1b\[[0-9;]*m")


def cut(sizes: list[int]) -> array[int]:
    return array("Q", [place for pair in pairwise(accumulate(sizes, initial=0)) for place in pair])


def lines(
    data: bytes, tracks: list[tuple[str, array[int]]], width: int | None, codes: tuple[str, ...] = ()
) -> list[str]:
    return b"".join(stack_rows(data, tracks, width, codes)).decode().removesuffix("\n").split("\n")


def drawn(text: str | bytes, *cuts: list[int], width: int | None = None) -> list[str]:
    data = text.encode() if isinstance(text, str) else text
    return lines(data, [(name, cut(sizes)) for name, sizes in zip("abcdef", cuts, strict=False)], width)


def test_a_column_is_there_where_any_of_them_ends_a_token() -> None:
    assert drawn("abc def", [3, 4], [2, 1, 4], [7]) == ["a  ab c│·def", "b  ab│c│·def", "c  ab c ·def"]


def test_a_newline_ends_the_row_of_all() -> None:
    assert drawn("a\nbc", [1, 1, 2], [2, 2]) == ["a  a│⏎│", "b  a ⏎│", "", "a  bc", "b  bc"]


def test_tokens_inside_a_character_are_bytes_and_take_the_room_of_the_others() -> None:
    assert drawn("日x", [3, 1], [1, 2, 1]) == ["a  日          │x", "b  ⟨e6⟩│⟨97 a5⟩│x"]
    assert drawn("日x", [3, 1], [1, 2, 1], width=11) == ["a  日  │x", "b  日÷2│x"]


def test_marks_stay_with_their_letter_unless_a_token_ends_between() -> None:
    assert drawn("e\u0301x", [3, 1], [4]) == ["a  e\u0301│x", "b  e\u0301 x"]
    assert drawn("e\u0301x", [1, 3], [4]) == ["a  e│◌\u0301x", "b  e ◌\u0301x"]


def test_what_no_token_stands_for_is_blank_and_what_several_stand_for_is_counted() -> None:
    tracks = [("a", array("Q", [0, 1, 2, 5, 2, 5])), ("b", cut([5]))]
    assert lines("a 日".encode(), tracks, None) == ["a  a│ │日×2", "b  a · 日"]


def test_bytes_that_are_no_text_stand_for_themselves() -> None:
    assert drawn(b"a\xff\xe6b", [1, 1, 2], [4]) == ["a  a│⟨ff⟩│⟨e6⟩b", "b  a ⟨ff⟩ ⟨e6⟩b"]


@pytest.mark.parametrize("width", [20, 60, 200])
@example(text="aaaa\u200da", sizes=[7])  # as wide as a row, without the boundary after it
@given(text=st.text("ab 日本🫠é\u0301\n\x1b\u202e\u200d", max_size=60), sizes=st.lists(st.integers(1, 7), min_size=1))
def test_rows_fit_and_columns_agree(width: int, text: str, sizes: list[int]) -> None:
    data = text.encode()
    ends = [end for end in accumulate(sizes) if end < len(data)]
    sizes = [end - begin for begin, end in pairwise([0, *ends, len(data)])]
    shown = lines(data, [("long name", cut([len(data)])), ("b", cut(sizes))], width) if data else []
    assert all(cell_len(line) <= width and line.isprintable() and "\u202e" not in line for line in shown)
    room = cell_len(labels(["long name"], width)[0]) + 2
    one, other = (
        ["".join(char for char in line[room:] if char not in " │") for line in shown[start::3]] for start in (0, 1)
    )
    if not any("÷" in line or "⟨" in line for line in other):
        assert one == other  # the same text, whatever stands between


def test_colours_and_plain_text_have_the_same_characters() -> None:
    data = "pay 日本\nnow".encode()
    tracks = [("a", cut([3, 4, 3, 1, 3])), ("b", cut([7, 1, 2, 1, 3]))]
    coloured = lines(data, tracks, 40, CODES["standard"])
    assert [OUR_CODES.sub("", line) for line in coloured] == lines(data, tracks, 40)


def test_neighbours_differ_in_colour() -> None:
    line, _ = lines(b"abcdef", [("a", cut([2, 2, 2])), ("b", cut([6]))], 40, CODES["standard"])
    found = re.findall(r"\x1b\[(30;\d+)m", line)
    assert len(found) == 3
    assert all(a != b for a, b in pairwise(found))


def test_a_name_is_inert_and_cut_to_a_third_of_the_screen() -> None:
    assert labels(["\x1b[31m", "日本語日本語"], 24) == ["␛[31m   ", "日本語 …"]


@pytest.mark.parametrize(("width", "columns"), [(20, 2), (42, 3), (60, 4)])
def test_the_table_has_as_many_columns_as_there_is_room_for(width: int, columns: int) -> None:
    rows = [EncodingTotal("o200k_base", 8, 18, 8), EncodingTotal("cl100k_base", 18, 18, 8)]
    assert len(totals_table(rows, width).columns) == columns
    assert (rows[1].difference, rows[1].percent, rows[1].bytes_per_token) == ("+10", "+125.0", "1.00")
