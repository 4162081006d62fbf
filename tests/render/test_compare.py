"""Encodings of one text stand above one another: equal places in equal columns, nothing lost, nothing too wide."""

from __future__ import annotations

from itertools import accumulate, pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from tokcli.render.compare import Total, coloured_stacks, labels, plain_stacks, totals_table
from tokcli.render.grid import Placed, Segment, segments


def cut(sizes: list[int]) -> list[Segment]:
    return [Segment(end, 1) for end in accumulate(sizes)]


def drawn(text: str | bytes, *cuts: list[int], width: int | None = None) -> list[str]:
    data = text.encode() if isinstance(text, str) else text
    tracks = [(name, cut(sizes)) for name, sizes in zip("abcdef", cuts, strict=False)]
    return "\n".join(plain_stacks(data, tracks, width)).split("\n")


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
    tokens = [Placed(0, 0, 1), Placed(1, 2, 5), Placed(2, 2, 5)]
    tracks = [("a", segments(tokens, 5)), ("b", cut([5]))]
    assert list(plain_stacks("a 日".encode(), tracks, None)) == ["a  a│ │日×2\nb  a · 日"]


def test_bytes_that_are_no_text_stand_for_themselves() -> None:
    assert drawn(b"a\xff\xe6b", [1, 1, 2], [4]) == ["a  a│⟨ff⟩│⟨e6⟩b", "b  a ⟨ff⟩ ⟨e6⟩b"]


@pytest.mark.parametrize("width", [20, 60, 200])
@given(text=st.text("ab 日本🫠é\u0301\n\x1b\u202e\u200d", max_size=60), sizes=st.lists(st.integers(1, 7), min_size=1))
def test_rows_fit_and_columns_agree(width: int, text: str, sizes: list[int]) -> None:
    data = text.encode()
    ends = [end for end in accumulate(sizes) if end < len(data)]
    tracks = [("long name", [Segment(len(data), 1)]), ("b", [Segment(end, 1) for end in [*ends, len(data)]])]
    shown = [line for stack in plain_stacks(data, tracks, width) for line in stack.split("\n")]
    assert all(cell_len(line) <= width and line.isprintable() and "\u202e" not in line for line in shown)
    room = cell_len(labels(["long name"], width)[0]) + 2
    one, other = (
        ["".join(char for char in line[room:] if char not in " │") for line in shown[start::3]] for start in (0, 1)
    )
    if not any("÷" in line or "⟨" in line for line in other):
        assert one == other  # the same text, whatever stands between


def test_colours_and_plain_text_have_the_same_characters() -> None:
    data = "pay 日本\nnow".encode()
    sizes = ([3, 4, 3, 1, 3], [7, 1, 2, 1, 3])
    coloured = [str(text) for text in coloured_stacks(data, [("a", cut(sizes[0])), ("b", cut(sizes[1]))], 40)]
    plain = list(plain_stacks(data, [("a", cut(sizes[0])), ("b", cut(sizes[1]))], 40))
    assert [line.rstrip() for text in coloured for line in text.split("\n")] == "\n".join(plain).split("\n")


def test_neighbours_differ_in_colour() -> None:
    (text,) = coloured_stacks(b"abcdef", [("a", cut([2, 2, 2])), ("b", cut([6]))], 40)
    first = [span.style for span in text.spans if str(span.style) and span.start < text.plain.index("\n")]
    assert all(a != b for a, b in pairwise(first) if "on" in str(a))


def test_a_name_is_inert_and_cut_to_a_third_of_the_screen() -> None:
    assert labels(["\x1b[31m", "日本語日本語"], 24) == ["␛[31m   ", "日本語 …"]


@pytest.mark.parametrize(("width", "columns"), [(20, 2), (42, 3), (60, 4)])
def test_the_table_has_as_many_columns_as_there_is_room_for(width: int, columns: int) -> None:
    rows = [Total("o200k_base", 8, 18, 8), Total("cl100k_base", 18, 18, 8)]
    assert len(totals_table(rows, width).columns) == columns
    assert (rows[1].difference, rows[1].percent, rows[1].bytes_per_token) == ("+10", "+125.0", "1.00")
