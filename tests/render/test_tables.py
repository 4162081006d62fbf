"""Claims about tables, for people and for pipes."""

from __future__ import annotations

import io
import unicodedata
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len
from rich.table import Table

from tokcli.render.console import make_console
from tokcli.render.split_table import SPLIT_COLUMNS, SplitRow
from tokcli.render.tables import (
    ENCODING_COLUMNS,
    TOKEN_COLUMNS,
    EncodingRow,
    TokenRow,
    encodings_table,
    token_table,
    tsv,
)
from tokcli.render.visible import unescape

ATTACK = "\x1b[31m[red]a[/red]\u202e\x1b]8;;http://x\x1b\\\r\n\t\x00"


def printed(table: Table, width: int = 80) -> str:
    file = io.StringIO()
    make_console(file, "never", environment={}, width=width).print(table)
    return file.getvalue()


def words(table: Table) -> list[list[str]]:
    return [line.split() for line in printed(table).splitlines() if line.strip(" ─")]


def test_the_encodings_table_says_what_is_here() -> None:
    rows = [EncodingRow("o200k_base", 200_019, "shipped", True), EncodingRow("mine", None, "./mine.json", False)]
    assert words(encodings_table(rows)) == [
        ["name", "n_vocab", "source", "here"],
        ["o200k_base", "200019", "shipped", "yes"],
        ["mine", "?", "./mine.json", "no"],
    ]


def test_the_token_table_shows_bytes_text_and_parents() -> None:
    rows = [TokenRow(271, b"\n\n", parents=(198, 198)), TokenRow(1, b"<|end|>", special=True)]
    assert words(token_table(rows)) == [
        ["id", "bytes", "text", "special", "parents"],
        ["271", "0a", "0a", "⏎⏎", "no", "198", "198"],
        ["1", "3c", "7c", "65", "6e", "64", "7c", "3e", "<|end|>", "yes"],
    ]


def test_tables_of_nothing_have_their_headers() -> None:
    assert words(token_table([])) == [["id", "bytes", "text", "special", "parents"]]
    assert list(tsv(SPLIT_COLUMNS, [])) == ["#\tbytes\tchars\talternative\ttext\ttokens"]


@pytest.mark.parametrize("width", [30, 60, 200])
def test_lines_of_wide_characters_are_equally_wide_and_fit(width: int) -> None:
    rows = [TokenRow(1, "你好世界🙂".encode() * 20), TokenRow(2, b"ascii")]
    widths = {cell_len(line) for line in printed(token_table(rows), width).splitlines()}
    assert len(widths) == 1
    assert max(widths) <= width


@pytest.mark.parametrize(
    "table",
    [
        encodings_table([EncodingRow(ATTACK, None, ATTACK, True)]),
        token_table([TokenRow(1, ATTACK.encode())]),
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
