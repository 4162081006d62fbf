"""Tables: encodings, tokens, and what any has; with rich for people, as tab-separated values for pipes.

Both forms of a table have the same columns. Its rows are plain data; where they come from is left to others.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Generic, Literal, TypeAlias, TypeVar, cast

from tokcli.render.visible import escape, escape_lines, visible, visible_bytes

if TYPE_CHECKING:
    from rich.table import Table

Row = TypeVar("Row")
Cell: TypeAlias = str | bytes | int

LEAST_WIDTH, GAP = 8, 3  # of a folded column, and what stands between two
ROWS_AT_ONCE = 4096  # whose cells are escaped together


@dataclass(frozen=True)
class EncodingRow:
    """An encoding: its number of ids (None: not known before it is here), where it comes from, whether it is here."""

    name: str
    n_vocab: int | None
    source: str
    here: bool


@dataclass(frozen=True)
class TokenRow:
    """A token: its id and bytes, and the two ids that merge into it (None for a single byte or a special token).

    `kind` is what its file calls it, where it is none of the usual ones; `score` what a model chooses it by.
    """

    id: int
    token: bytes
    special: bool = False
    parents: tuple[int, int] | None = None
    kind: str = ""
    score: float | None = None


@dataclass(frozen=True)
class Column(Generic[Row]):
    """A column: its header, the cell of a row, and whether numbers stand in it.

    Data that may be long may be folded. What is `spare` is left out of a table on a screen that has no room for it.
    """

    header: str
    cell: Callable[[Row], Cell]
    justify: Literal["left", "right"] = "left"
    fold: bool = False
    spare: bool = False


ENCODING_COLUMNS: tuple[Column[EncodingRow], ...] = (
    Column("name", lambda row: row.name, fold=True),
    Column("n_vocab", lambda row: "?" if row.n_vocab is None else row.n_vocab, "right", spare=True),
    Column("source", lambda row: row.source, fold=True, spare=True),
    Column("here", lambda row: "yes" if row.here else "no"),
)

TOKEN_COLUMNS: tuple[Column[TokenRow], ...] = (
    Column("id", lambda row: row.id, "right"),
    Column("bytes", lambda row: row.token.hex(" "), fold=True, spare=True),
    Column("text", lambda row: row.token, fold=True),
    Column("special", lambda row: "yes" if row.special else "no", spare=True),
    Column("parents", lambda row: " ".join(map(str, row.parents or ())), spare=True),
)
KIND_COLUMN: Column[TokenRow] = Column("kind", lambda row: row.kind, spare=True)
SCORE_COLUMN: Column[TokenRow] = Column("score", lambda row: "" if row.score is None else f"{row.score:g}", "right")


def encodings_table(rows: Iterable[EncodingRow]) -> Table:
    """The encodings there are."""
    return make_table(ENCODING_COLUMNS, rows)


def token_table(rows: Iterable[TokenRow]) -> Table:
    """Tokens of a vocabulary."""
    return make_table(TOKEN_COLUMNS, rows)


def make_table(columns: Iterable[Column[Row]], rows: Iterable[Row], width: int | None = None) -> Table:
    """Return a table with the rows' cells, all sanitized by `visible`; nothing in them is markup.

    In `width` cells, no folded column has less than LEAST_WIDTH as long as there is a spare one to leave out.
    """
    from rich import box
    from rich.table import Table  # 15 ms, which tables for pipes need not
    from rich.text import Text

    made = [(column, [_shown(column.cell(row)) for row in rows]) for rows in [list(rows)] for column in columns]
    while width is not None and sum(map(_least_width, made)) > width and any(column.spare for column, _ in made):
        made.remove(next(one for one in made if one[0].spare))
    fits = width is not None and sum(map(_least_width, made)) <= width
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for column, cells in made:
        table.add_column(
            Text(visible(column.header)), justify=column.justify, overflow="fold" if column.fold else "ellipsis",
            no_wrap=not column.fold, min_width=_least_width((column, cells)) - GAP if fits else None,
        )  # fmt: skip
    for row in zip(*(cells for _, cells in made), strict=True):
        table.add_row(*map(Text, row))
    return table


def _least_width(made: tuple[Column[Row], list[str]]) -> int:
    """The cells that a column takes at least, and the gap before it."""
    from rich.cells import cell_len

    column, cells = made
    widest = max(map(cell_len, [column.header, *cells]))
    return GAP + (min(LEAST_WIDTH, widest) if column.fold else widest)


def tsv(columns: Iterable[Column[Row]], rows: Iterable[Row]) -> Iterator[str]:
    r"""Yield the lines of a table as tab-separated values, the headers first, cells escaped so that they read back.

    >>> list(tsv(TOKEN_COLUMNS, [TokenRow(198, b"\n"), TokenRow(271, b"\n\n", parents=(198, 198))]))[2]
    '271\t0a 0a\t\\n\\n\tno\t198 198'
    """
    for block in escaped_table(columns, rows):
        yield from map("\t".join, block)


def escaped_table(columns: Iterable[Column[Row]], rows: Iterable[Row]) -> Iterator[Iterable[tuple[str, ...]]]:
    """The cells of a table, escaped: the headers, the first row, then more and more at a time, up to ROWS_AT_ONCE."""
    columns, rows, some = tuple(columns), iter(rows), 1
    yield [tuple(escape(column.header) for column in columns)]
    while block := list(islice(rows, some)):
        yield zip(*(_escaped(list(map(column.cell, block))) for column in columns), strict=True)
        some = min(2 * some, ROWS_AT_ONCE)


def _shown(cell: Cell) -> str:
    if isinstance(cell, bytes):
        return visible_bytes(cell, spaces=True)  # the text of a piece or token: its spaces matter
    return visible(str(cell))


def _escaped(cells: Sequence[Cell]) -> Iterable[str]:
    kinds = set(map(type, cells))
    if kinds == {int}:
        return map(str, cells)
    if kinds == {bytes}:
        return escape_lines(cast("Sequence[bytes]", cells)).decode().split("\n")[:-1]
    return [str(cell) if isinstance(cell, int) else escape(cell) for cell in cells]
