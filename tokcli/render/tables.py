"""The columns and rows of tables, and tables for programs: tab-separated values whose cells read back; without rich.

`tsv` writes rows as they come, `number_tsv` whole vocabularies at once: native code formats those if it is there, and
otherwise Python, to the same bytes. Laying tables out for a screen is left to screen_table.py.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Generic, Literal, NamedTuple, TypeAlias, TypeVar, cast

from tokcli.engine import backend
from tokcli.render.visible import escape, escape_lines

if TYPE_CHECKING:
    from tokcli.analysis.pieces.piece_stats import PieceStats  # only `split --stats` loads it

RowType = TypeVar("RowType")
CellValue: TypeAlias = str | bytes | int
NAME = 20  # screen cells of a name that are in one line


@dataclass(frozen=True)
class Column(Generic[RowType]):
    """A column of a table: its header, and a function from a row to the value of its cell.

    `fold` lets long data continue on more lines of the same cell, which has `least` screen cells if it needs them.
    `spare` lets a table leave the column out on a screen that is too narrow for all, the largest first. `groups`
    shows people a count with its thousands grouped; ids stay plain digits.

    >>> Column("length", lambda row: len(row), "right").cell("abc")
    3
    """

    header: str
    cell: Callable[[RowType], CellValue]
    justify: Literal["left", "right"] = "left"
    fold: bool = False
    spare: int = 0
    least: int = 8
    groups: bool = False


@dataclass(frozen=True)
class EncodingRow:
    """An encoding: its name, its number of ids (None if unknown), the source of its ranks, and whether they ship."""

    name: str
    n_vocab: int | None
    source: str
    here: bool


@dataclass(frozen=True)
class TokenRow:
    """A token: its id and bytes, and the two ids that merge into it (None for a single byte or a special token).

    `kind` is the name that its file gives to a token of an unusual kind, and is empty otherwise. `score` is the number
    that a Unigram model chooses the token by, and None in models without scores.
    """

    id: int
    token: bytes
    special: bool = False
    parents: tuple[int, int] | None = None
    kind: str = ""
    score: float | None = None


ENCODING_COLUMNS: tuple[Column[EncodingRow], ...] = (
    Column("name", lambda row: row.name, fold=True, least=NAME),
    Column("n_vocab", lambda row: "?" if row.n_vocab is None else row.n_vocab, "right", spare=1, groups=True),
    Column("source", lambda row: row.source, fold=True, spare=2),
    Column("here", lambda row: "yes" if row.here else "no"),
)

TOKEN_COLUMNS: tuple[Column[TokenRow], ...] = (
    Column("id", lambda row: row.id, "right"),
    Column("bytes", lambda row: row.token.hex(" "), fold=True, spare=1),
    Column("text", lambda row: row.token, fold=True),
    Column("special", lambda row: "yes" if row.special else "no", spare=1),
    Column("parents", lambda row: " ".join(map(str, row.parents or ())), spare=1),
)
KIND_COLUMN: Column[TokenRow] = Column("kind", lambda row: row.kind, spare=1)
SCORE_COLUMN: Column[TokenRow] = Column("score", lambda row: "" if row.score is None else f"{row.score:g}", "right")


@dataclass(frozen=True)
class SplitRow:
    """A piece of a text: its number, from 0, its bytes, the alternative that matched it, its token ids and its offset.

    `alternative` is a name such as a1, or - if no single alternative made the piece. `offset` is in bytes.
    """

    number: int
    piece: bytes
    alternative: str
    tokens: tuple[int, ...]
    offset: int = 0


SPLIT_COLUMNS: tuple[Column[SplitRow], ...] = (
    Column("#", lambda row: row.number, "right"),
    Column("bytes", lambda row: len(row.piece), "right"),
    Column("chars", lambda row: len(row.piece.decode("utf-8", "replace")), "right"),
    Column("alternative", lambda row: row.alternative),
    Column("text", lambda row: row.piece, fold=True),
    Column("tokens", lambda row: " ".join(map(str, row.tokens)), fold=True),
)


ROWS_AT_ONCE = 4096  # rows whose cells are escaped together


def tsv(columns: Iterable[Column[RowType]], rows: Iterable[RowType]) -> Iterator[str]:
    r"""Yield the lines of a table as tab-separated values without newlines, the headers first, each cell escaped.

    >>> from tokcli.render.tables import TOKEN_COLUMNS, TokenRow
    >>> list(tsv(TOKEN_COLUMNS, [TokenRow(198, b"\n"), TokenRow(271, b"\n\n", parents=(198, 198))]))[2]
    '271\t0a 0a\t\\n\\n\tno\t198 198'
    """
    for block in escaped_table(columns, rows):
        yield from map("\t".join, block)


def escaped_table(columns: Iterable[Column[RowType]], rows: Iterable[RowType]) -> Iterator[Iterable[tuple[str, ...]]]:
    """Yield the rows of a table in blocks, each cell escaped: the headers, the first row, then ever larger blocks.

    The first row comes at once, even from a slow source; later blocks, of up to ROWS_AT_ONCE, are faster to escape.
    """
    columns, rows, some = tuple(columns), iter(rows), 1
    yield [tuple(escape(column.header) for column in columns)]
    while block := list(islice(rows, some)):
        yield zip(*(_escaped(list(map(column.cell, block))) for column in columns), strict=True)
        some = min(2 * some, ROWS_AT_ONCE)


def _escaped(values: Sequence[CellValue]) -> Iterable[str]:
    """Return the escaped cells of one column; columns of only numbers or only bytes are escaped faster."""
    types = set(map(type, values))
    if types == {int}:
        return map(str, values)
    if types == {bytes}:
        return escape_lines(cast("Sequence[bytes]", values)).decode().split("\n")[:-1]
    return [str(value) if isinstance(value, int) else escape(value) for value in values]


class NumberColumn(NamedTuple):
    """A column of numbers: its header, and a uint32 for each row, NO_ID for an empty cell.

    If `tokens` is given, each number is an index of it, and the cell shows that token instead of the number.
    """

    header: str
    numbers: array[int]
    tokens: Sequence[bytes] | None = None


def number_tsv(columns: Sequence[NumberColumn]) -> bytes:
    r"""Return a table with its headers, in UTF-8; tokens are escaped as in every other tab-separated table.

    >>> from tokcli.engine.base.arguments import NO_ID
    >>> ids, texts = array("I", [7, NO_ID]), array("I", [1, 0])
    >>> number_tsv([NumberColumn("id", ids), NumberColumn("text", texts, [b"\n", b"a"])])
    b'id\ttext\n7\ta\n\t\\n\n'
    """
    head = "\t".join(escape(column.header) for column in columns) + "\n"
    # columns may share their tokens, which are escaped once
    lines = {id(c.tokens): escape_lines(c.tokens) for c in columns if c.tokens is not None}
    given = [(column.numbers, lines.get(id(column.tokens))) for column in columns]
    rows: bytes = backend.code().format_rows(given)
    return head.encode() + rows


MOST_FREQUENT = 20  # pieces of several tokens that are listed


def stats_rows(stats: PieceStats, alternatives: Sequence[str]) -> Iterator[str]:
    """Yield tab-separated rows of four kinds: the totals, the alternatives, the longest and the most frequent pieces.

    The first cell of a row is its kind (`total`, `alternative`, `longest`, `several`). Before the rows of each kind
    comes a header, which names its other cells.
    """
    yield "total\tbytes\tpieces\ttokens"
    yield f"total\t{stats.size}\t{stats.pieces}\t{stats.tokens}"
    yield "alternative\tname\thits\tbytes\tpattern"
    for number, source in enumerate(alternatives, 1):
        name = f"a{number}"
        yield f"alternative\t{name}\t{stats.hits[name]}\t{stats.hit_bytes[name]}\t{escape(source)}"
    yield "longest\toffset\tbytes\talternative\ttext"
    for size, piece in stats.longest:
        yield f"longest\t{piece.offset}\t{size}\t{piece.alternative}\t{escape(piece.data)}"
    yield "several\ttimes\ttokens\ttext"
    for (data, tokens), times in stats.split.most_common(MOST_FREQUENT):
        yield f"several\t{times}\t{tokens}\t{escape(data)}"
