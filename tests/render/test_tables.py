"""Claims about tables, for people and for pipes."""

from __future__ import annotations

import io
import unicodedata
from array import array
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len
from rich.table import Table

from tokcli.engine import backend
from tokcli.engine.base.arguments import NO_ID
from tokcli.render import visible as visible_module
from tokcli.render.console import make_console
from tokcli.render.screen_table import table_for_screen
from tokcli.render.tables import (
    ENCODING_COLUMNS,
    SPLIT_COLUMNS,
    TOKEN_COLUMNS,
    Column,
    EncodingRow,
    NumberColumn,
    SplitRow,
    TokenRow,
    number_tsv,
    tsv,
)
from tokcli.render.visible import escape, escape_lines, unescape

ATTACK = "\x1b[31m[red]a[/red]\u202e\x1b]8;;http://x\x1b\\\r\n\t\x00"


def printed(table: Table, width: int = 80) -> str:
    file = io.StringIO()
    make_console(file, "never", environment={}, width=width).print(table)
    return file.getvalue()


def words(table: Table) -> list[list[str]]:
    return [line.split() for line in printed(table).splitlines() if line.strip(" ─")]


def test_the_encodings_table_says_what_is_here() -> None:
    rows = [EncodingRow("o200k_base", 200_019, "shipped", True), EncodingRow("mine", None, "./mine.json", False)]
    assert words(table_for_screen(ENCODING_COLUMNS, rows)) == [
        ["name", "n_vocab", "source", "here"],
        ["o200k_base", "200,019", "shipped", "yes"],
        ["mine", "?", "./mine.json", "no"],
    ]


def test_the_token_table_shows_bytes_text_and_parents() -> None:
    rows = [TokenRow(271, b"\n\n", parents=(198, 198)), TokenRow(1, b"<|end|>", special=True)]
    assert words(table_for_screen(TOKEN_COLUMNS, rows)) == [
        ["id", "bytes", "text", "special", "parents"],
        ["271", "0a", "0a", "⏎⏎", "no", "198", "198"],
        ["1", "3c", "7c", "65", "6e", "64", "7c", "3e", "<|end|>", "yes"],
    ]


def test_tables_of_nothing_have_their_headers() -> None:
    assert words(table_for_screen(TOKEN_COLUMNS, [])) == [["id", "bytes", "text", "special", "parents"]]
    assert list(tsv(SPLIT_COLUMNS, [])) == ["#\tbytes\tchars\talternative\ttext\ttokens"]


@pytest.mark.parametrize("width", [30, 60, 200])
def test_lines_of_wide_characters_are_equally_wide_and_fit(width: int) -> None:
    rows = [TokenRow(1, "你好世界🙂".encode() * 20), TokenRow(2, b"ascii")]
    widths = {cell_len(line) for line in printed(table_for_screen(TOKEN_COLUMNS, rows), width).splitlines()}
    assert len(widths) == 1
    assert max(widths) <= width


@pytest.mark.parametrize(
    "table",
    [
        table_for_screen(ENCODING_COLUMNS, [EncodingRow(ATTACK, None, ATTACK, True)]),
        table_for_screen(TOKEN_COLUMNS, [TokenRow(1, ATTACK.encode())]),
    ],
)
def test_nothing_in_a_table_acts(table: Table) -> None:
    output = printed(table, 200)
    assert "[red]a[/red]⟨U+202E⟩" in output
    assert not {"Cc", "Cf", "Cs"} & {unicodedata.category(char) for char in output.replace("\n", "")}


@given(st.lists(st.binary(min_size=1, max_size=12)))
def test_the_text_of_a_tsv_reads_back(pieces: list[bytes]) -> None:
    lines = list(tsv(SPLIT_COLUMNS, (SplitRow(i, piece, "a1", (1, 2)) for i, piece in enumerate(pieces))))
    cells = [line.split("\t") for line in lines]
    assert [unescape(row[4]) for row in cells[1:]] == pieces
    assert all(len(row) == 6 for row in cells)


def test_every_cell_of_a_tsv_is_escaped() -> None:
    assert (
        list(tsv(ENCODING_COLUMNS, [EncodingRow("a\tb\n", 3, "\u202e", False)]))[1] == r"a\tb\n"
        "\t3\t"
        r"\u202e"
        "\tno"
    )
    assert list(tsv(TOKEN_COLUMNS, [TokenRow(5, b"\xf0\x9f")]))[1] == "5\tf0 9f\t\\xf0\\x9f\tno\t"


def test_tsv_does_not_wait_for_the_last_row() -> None:
    def rows() -> Iterator[TokenRow]:
        yield TokenRow(1, b"a")
        raise AssertionError("the second row was asked for")

    lines = tsv(TOKEN_COLUMNS, rows())
    assert [next(lines), next(lines)][1] == "1\t61\ta\tno\t"


TOKENS = st.lists(
    st.one_of(st.binary(max_size=8), st.sampled_from(["\u241f".encode(), b"\xe2\x90", b"\x9f", b"\\n", b"\n", b""]))
)


@given(TOKENS)
def test_many_tokens_are_escaped_as_one_by_one(tokens: list[bytes]) -> None:
    assert escape_lines(tokens).decode() == "".join(f"{escape(token)}\n" for token in tokens)


def test_characters_that_were_forgotten_are_escaped_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(visible_module, "_KNOWN_CHARACTERS", 4)
    monkeypatch.setattr(visible_module, "_escapes", visible_module._Escapes())
    for text in ["ab\n", "\u202ecd", "\x1bxy\n\u200b", "ab\n\u202e"]:
        assert escape_lines([text.encode()]).decode() == f"{escape(text)}\n"
        assert len(visible_module._escapes._plain) <= 4 + len(text)


@pytest.mark.parametrize("is_native", [True, False])
def test_a_table_of_numbers_is_that_of_its_rows(is_native: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if not is_native:
        monkeypatch.setattr(backend, "native", lambda: None)
    tokens = [b"a", b"\t", b"\xff", "\u202e".encode(), b"", b"\\"]
    numbers = array("I", [0, NO_ID, 4294967294, 7])
    which = array("I", [5, 1, 4, 2])
    table = number_tsv([NumberColumn("n", numbers), NumberColumn("x\ty", which, tokens)])
    rows = [("" if n == NO_ID else n, tokens[w]) for n, w in zip(numbers, which, strict=True)]
    columns = (Column("n", lambda row: row[0]), Column("x\ty", lambda row: row[1]))
    assert table.decode() == "".join(f"{line}\n" for line in tsv(columns, rows))
    assert number_tsv([NumberColumn("n", array("I"))]) == b"n\n"


def test_headers_act_no_more_than_cells() -> None:
    columns = (Column("\x1b[31m\u202e", lambda row: row),)
    assert next(iter(tsv(columns, [1]))) == r"\x1b[31m\u202e"
    assert "\x1b" not in printed(table_for_screen(columns, [1]), 40)


def test_a_narrow_table_leaves_out_what_is_spare_and_folds_no_cell_to_a_letter() -> None:
    rows = [TokenRow(182292, b" a long token of a vocabulary", parents=(2783, 13444))]
    wide, narrow = (printed(table_for_screen(TOKEN_COLUMNS, rows, width), width) for width in (100, 40))
    assert "special" in wide
    assert "bytes" not in narrow
    assert "special" not in narrow
    assert "2783 13444" in narrow
    assert "·a·long·" in printed(table_for_screen(TOKEN_COLUMNS, rows, 20), 20)
    assert all(cell_len(line) <= 20 for line in printed(table_for_screen(ENCODING_COLUMNS, [], 20), 20).splitlines())
