"""`inspect-ranks`: views of a whole vocabulary: statistics, merges, bytes, and two vocabularies compared."""

from __future__ import annotations

from array import array
from collections.abc import Callable
from operator import itemgetter
from typing import TYPE_CHECKING, Any

from tokcli.analysis.vocabulary import byte_order, difference, stats_of
from tokcli.cli.inspect_ranks.inspect_options import InspectOptions, InspectRequest
from tokcli.cli.inspect_ranks.listing import emit, is_for_people, is_tsv, on_screen
from tokcli.cli.json_stream import text_of_name
from tokcli.engine.base.arguments import NO_ID
from tokcli.registry.models.lookup import stands_for_a_model
from tokcli.render.numbers import counted, grouped
from tokcli.render.tables import Column, NumberColumn, number_tsv

if TYPE_CHECKING:
    from tokcli.cli.terminal.pager import ShownOn


def view_of(asked: InspectOptions) -> Callable[[InspectRequest, ShownOn], None]:
    """Return the function that shows the view that was asked for."""
    if asked.stats:
        return show_stats
    if asked.merges:
        return show_merges
    return show_difference if asked.diff else show_bytes


def show_stats(request: InspectRequest, output: ShownOn) -> None:
    """Show the lengths of the tokens, their scripts and their kinds of characters."""
    encoding = request.encoding
    stats = stats_of(encoding, encoding.tokenizer.all_parents().total())
    counts = {
        "tokens": stats.tokens,
        "special": stats.special,
        "merges": stats.merges,
        "bytes": stats.bytes,
        "not_utf8": stats.not_utf8,
        "with_space": stats.with_space,
    }
    if is_for_people(request, output):
        on_screen().show_bars(output, request.options.color, stats)
        return
    groups: dict[str, dict[Any, int]] = {
        "lengths": dict(sorted(stats.lengths.items())),
        "scripts": dict(stats.scripts.most_common()),
        "characters": dict(stats.kinds),
    }
    flat = [*counts.items(), *((f"{group}.{key}", n) for group, held in groups.items() for key, n in held.items())]
    columns: tuple[Column[Any], ...] = (
        Column("what", lambda row: row[0]),
        Column("count", lambda row: row[1], "right"),
    )
    emit(request, output, columns, flat, len(flat), lambda: counts | groups)


def show_merges(request: InspectRequest, output: ShownOn) -> None:
    """List all merges in order, with the ids and the texts of the two tokens of each."""
    encoding = request.encoding
    made, left, right = encoding.tokenizer.all_parents().in_columns()
    if not made:
        request.note(f"{encoding.name} does not merge: its tokens are chosen by their scores, or as whole words.")
    token_bytes = encoding.tokenizer.token_bytes()
    tokens = [token_bytes.get(number, b"") for number in range(encoding.tokenizer.max_id + 1)]
    if is_tsv(request, output):
        ids = [array("I", numbers) for numbers in (made, left, right)]
        names = ("id", "left", "right", "left text", "right text")
        held = (None, None, None, tokens, tokens)
        output.write(number_tsv(list(map(NumberColumn, names, [*ids, *ids[1:]], held))))
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


def show_bytes(request: InspectRequest, output: ShownOn) -> None:
    """List the id of each byte."""
    ids = byte_order(request.encoding)
    columns: tuple[Column[Any], ...] = (
        Column("byte", lambda row: row[0], "right"),
        Column("hex", lambda row: f"{row[0]:02x}"),
        Column("text", lambda row: bytes([row[0]])),
        Column("id", lambda row: row[1], "right"),
    )
    emit(request, output, columns, enumerate(ids), len(ids), lambda: {"bytes": ids.tolist()})


def show_difference(request: InspectRequest, output: ShownOn) -> None:
    """List the tokens that only one of two vocabularies has, or that differ in id; a note counts those in both."""
    first, second = request.options.diff or ("", "")
    encodings = [request.encoding_named(name, name if stands_for_a_model(name) else None) for name in (first, second)]
    found = difference(*(encoding.tokenizer.ids_by_token() for encoding in encodings))
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
        return {"a": text_of_name(first), "b": text_of_name(second), **counts, "tokens": listed}

    request.note(
        f"{counted(found.shared, 'token is', 'tokens are')} in both ({grouped(found.same_id)} with the same id), "
        f"{grouped(len(found.only_a))} only in {first}, {grouped(len(found.only_b))} only in {second}."
    )
    if is_tsv(request, output):
        texts = NumberColumn("text", array("I", range(len(rows))), [row[0] for row in rows])
        ids = (array("I", [NO_ID if row[at] is None else row[at] for row in rows]) for at in (1, 2))
        output.write(number_tsv([texts, *map(NumberColumn, (first, second), ids)]))
        return
    emit(request, output, columns, rows, len(rows), as_json)
