"""Tables of ids and of the tokens that ids stand for, as tab-separated values: whole vocabularies at once."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from typing import NamedTuple

from tokcli.engine import backend
from tokcli.render.visible import escape, escape_lines

NOTHING = 2**32 - 1  # leaves a cell empty


class NumberColumn(NamedTuple):
    """A header, and a number (uint32) for each row; with `tokens`, the cell shows the token of that number."""

    header: str
    numbers: array[int]
    tokens: Sequence[bytes] | None = None


def tsv(columns: Sequence[NumberColumn]) -> bytes:
    r"""The table with its headers, tokens escaped as tables.tsv does it.

    >>> tsv([NumberColumn("id", array("I", [7, NOTHING])), NumberColumn("text", array("I", [1, 0]), [b"\n", b"a"])])
    b'id\ttext\n7\ta\n\t\\n\n'
    """
    head = "\t".join(escape(column.header) for column in columns) + "\n"
    lines = {id(c.tokens): escape_lines(c.tokens) for c in columns if c.tokens is not None}  # several may have the same
    given = [(column.numbers, lines.get(id(column.tokens))) for column in columns]
    native = backend.native()
    return head.encode() + (_rows(given) if native is None else native.format_rows(given))


def _rows(columns: Sequence[tuple[array[int], bytes | None]]) -> bytes:
    cells = []
    for numbers, lines in columns:
        if lines is None:
            cells.append(["" if number == NOTHING else str(number) for number in numbers])
        else:
            texts = lines.decode().split("\n")
            cells.append([texts[number] for number in numbers])
    return "".join([f"{row}\n" for row in map("\t".join, zip(*cells, strict=True))]).encode()
