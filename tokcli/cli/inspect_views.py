"""`inspect-ranks`: views of a whole vocabulary: tokens by what they are, statistics, merges, bytes, two compared."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Sequence
from itertools import islice
from operator import itemgetter
from typing import TYPE_CHECKING, Any

import click

from tokcli.cli import records, streams
from tokcli.engine.merges import MAX_IDS

if TYPE_CHECKING:
    from typing import TypeAlias

    from tokcli.cli.options import Request
    from tokcli.cli.pager import Screen
    from tokcli.engine.encoding import Encoding
    from tokcli.render.tables import Column

    Shown: TypeAlias = streams.Output | Screen

ROWS_ON_SCREEN = 200  # of a table for people; a pipe gets all
FILTERS = ("grep", "prefix", "longest", "not_utf8", "not_self")


def show_all(request: Request, show: Callable[[Request, Shown], None]) -> None:
    """What a view shows, to -o or standard output; on a terminal, through the pager where it is taller."""
    with streams.Output(request.options["output"]) as output:
        if output.is_terminal:
            from tokcli.cli import pager

            with pager.paged(output, wanted=not request.options["as_json"]) as shown:
                show(request, shown)
            return
        show(request, output)
        output.flush()


def view_of(given: dict[str, Any]) -> Callable[[Request, Shown], None] | None:
    """The view that the options ask for; None for none."""
    views = {"stats": show_stats, "merges": show_merges, "byte_order": show_bytes, "diff": show_difference}
    chosen = [view for name, view in views.items() if given[name]]
    if any(given[name] not in (None, False) for name in FILTERS):
        from tokcli.cli.inspect_search import show_found

        chosen.append(show_found)
    if len(chosen) > 1:
        raise click.UsageError("--stats, --merges, --bytes, --diff and the search for tokens are one view each.")
    return chosen[0] if chosen else None


def emit(
    request: Request,
    output: Shown,
    columns: Iterable[Column[Any]],
    rows: Iterable[Any],
    count: int,
    json: Callable[[], object],
) -> None:
    """So many rows as JSON, CSV, a table on a terminal, or tab-separated values; what is not shown is not made."""
    from tokcli.render import tables

    if request.options["as_json"]:
        output.write(records.dump(json()).encode() + b"\n")
    elif request.options["as_csv"]:
        write_csv(output, tables.escaped_table(columns, rows))
    elif output.is_terminal:
        from rich.text import Text

        from tokcli.cli import screen

        color = request.options["color"]
        table = tables.make_table(columns, islice(rows, ROWS_ON_SCREEN), screen.width())
        screen.show(output, color, table, wrap=True)
        if (more := count - ROWS_ON_SCREEN) > 0:
            screen.show_hanging(output, color, Text(f"... and {more} more; a pipe gets all of them"))
    else:
        for block in tables.escaped_table(columns, rows):
            output.write(("\n".join(map("\t".join, block)) + "\n").encode())


def is_tsv(request: Request, output: Shown) -> bool:
    """Whether a table is written as tab-separated values."""
    return not (request.options["as_json"] or request.options["as_csv"] or output.is_terminal)


def write_csv(output: Shown, blocks: Iterable[Iterable[Sequence[str]]]) -> None:
    """Rows as comma-separated values, cells quoted where they have to be."""
    import csv
    import io

    for block in blocks:
        text = io.StringIO(newline="")
        csv.writer(text, lineterminator="\n").writerows(block)
        output.write(text.getvalue().encode())


# --- the vocabulary as a whole ---------------------------------------------------------------------------------------


def show_stats(request: Request, output: Shown) -> None:
    """Lengths, scripts and kinds of characters."""
    from tokcli.engine.merges import merges_of
    from tokcli.engine.vocab_stats import stats_of
    from tokcli.render import tables, vocab_stats

    encoding = request.encoding
    stats = stats_of(encoding, merges_of(encoding).total())
    counts = {
        "tokens": stats.tokens,
        "special": stats.special,
        "merges": stats.merges,
        "bytes": stats.bytes,
        "not_utf8": stats.not_utf8,
        "with_space": stats.with_space,
    }
    if output.is_terminal and not request.options["as_json"] and not request.options["as_csv"]:
        from tokcli.cli import screen

        for line in vocab_stats.lines(stats, screen.width()):
            screen.show_hanging(output, request.options["color"], line)
        return
    groups: dict[str, dict[Any, int]] = {
        "lengths": dict(sorted(stats.lengths.items())),
        "scripts": dict(stats.scripts.most_common()),
        "characters": dict(stats.kinds),
    }
    flat = [*counts.items(), *((f"{group}.{key}", n) for group, held in groups.items() for key, n in held.items())]
    columns: tuple[Column[Any], ...] = (
        tables.Column("what", lambda row: row[0]),
        tables.Column("count", lambda row: row[1], "right"),
    )
    emit(request, output, columns, flat, len(flat), lambda: counts | groups)


def show_merges(request: Request, output: Shown) -> None:
    """All merges, in order."""
    from tokcli.engine.merges import merges_of
    from tokcli.render.tables import Column

    encoding = request.encoding
    made, left, right = merges_of(encoding).in_columns()
    if not made:
        request.note(f"{encoding.name} does not merge: its tokens are chosen by their scores, or as whole words.")
    tokens = encoding.tokens_by_id()
    if is_tsv(request, output):
        from tokcli.render import number_table
        from tokcli.render.number_table import NumberColumn

        ids = [array("I", numbers) for numbers in (made, left, right)]
        names = ("id", "left", "right", "left text", "right text")
        held = (None, None, None, tokens, tokens)
        output.write(number_table.tsv(list(map(NumberColumn, names, [*ids, *ids[1:]], held))))
        return
    columns: tuple[Column[Any], ...] = (
        Column("id", itemgetter(0), "right"),
        Column("left", itemgetter(1), "right"),
        Column("right", itemgetter(2), "right"),
        Column("left text", itemgetter(3), fold=True),
        Column("right text", itemgetter(4), fold=True),
    )
    rows = zip(made, left, right, map(tokens.__getitem__, left), map(tokens.__getitem__, right), strict=True)
    emit(request, output, columns, rows, len(made), lambda: {"merges": list(zip(left, right, made, strict=True))})


def show_bytes(request: Request, output: Shown) -> None:
    """The id of each byte."""
    from tokcli.engine.vocab_stats import byte_order
    from tokcli.render.tables import Column

    ids = byte_order(request.encoding)
    columns: tuple[Column[Any], ...] = (
        Column("byte", lambda row: row[0], "right"),
        Column("hex", lambda row: f"{row[0]:02x}"),
        Column("text", lambda row: bytes([row[0]])),
        Column("id", lambda row: row[1], "right"),
    )
    emit(request, output, columns, enumerate(ids), len(ids), lambda: {"bytes": ids.tolist()})


def show_difference(request: Request, output: Shown) -> None:
    """The tokens that two vocabularies do not share, or have at other ids; how many they share, in a note or on top."""
    from tokcli.engine.vocab_stats import difference
    from tokcli.render.tables import Column

    first, second = request.options["diff"]
    found = difference(tokens_of(request.encoding_named(first)), tokens_of(request.encoding_named(second)))
    rows: list[Any] = [*found.only_a, *found.only_b, *found.shifted]
    counts = {
        "shared": found.shared,
        "same_id": found.same_id,
        "only_a": len(found.only_a),
        "only_b": len(found.only_b),
    }
    columns: tuple[Column[Any], ...] = (
        Column("text", itemgetter(0), fold=True),
        Column(first, lambda row: "" if row[1] is None else row[1], "right"),
        Column(second, lambda row: "" if row[2] is None else row[2], "right"),
    )

    def as_json() -> object:
        listed = [{"bytes_hex": token.hex(), "a": a, "b": b} for token, a, b in rows]
        return {"a": first, "b": second, **counts, "tokens": listed}

    request.note(f"{found.shared} tokens are in both ({found.same_id} with the same id), "
                 f"{len(found.only_a)} only in {first}, {len(found.only_b)} only in {second}.")  # fmt: skip
    if is_tsv(request, output):
        from tokcli.render import number_table
        from tokcli.render.number_table import NOTHING, NumberColumn

        texts = NumberColumn("text", array("I", range(len(rows))), [row[0] for row in rows])
        ids = (array("I", [NOTHING if row[at] is None else row[at] for row in rows]) for at in (1, 2))
        output.write(number_table.tsv([texts, *map(NumberColumn, (first, second), ids)]))
        return
    emit(request, output, columns, rows, len(rows), as_json)


def tokens_of(encoding: Encoding) -> dict[bytes, int]:
    """Token -> id, special tokens too; of ids that stand for the same bytes, the first."""
    tokens = [] if encoding.is_pipeline or encoding.n_vocab > MAX_IDS else encoding.tokens_by_id()
    if not tokens or b"" in tokens:  # there are gaps between ids, or a token of no bytes
        every = encoding._all_decoder
        return {every[number]: number for number in sorted(every, reverse=True)}
    found = dict(zip(tokens, range(len(tokens)), strict=True))
    for text, number in encoding._special_tokens.items():
        if number >= len(tokens):
            found.setdefault(text.encode(), number)
    return found
