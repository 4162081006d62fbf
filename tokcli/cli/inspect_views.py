"""`inspect-ranks`: views of a whole vocabulary: tokens by what they are, statistics, merges, bytes, two compared."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any

import click

from tokcli.cli import records, streams
from tokcli.errors import InputError

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
        chosen.append(show_filtered)
    if len(chosen) > 1:
        raise click.UsageError("--stats, --merges, --bytes, --diff and the search for tokens are one view each.")
    return chosen[0] if chosen else None


def emit(
    request: Request,
    output: Shown,
    columns: Iterable[Column[Any]],
    rows: list[Any],
    json: Callable[[], object],
) -> None:
    """Rows as JSON, CSV, a table on a terminal, or tab-separated values."""
    from tokcli.render import tables

    if request.options["as_json"]:
        output.write(records.dump(json()).encode() + b"\n")
    elif request.options["as_csv"]:
        write_csv(output, (line.split("\t") for line in tables.tsv(columns, rows)))
    elif output.is_terminal:
        from rich.text import Text

        from tokcli.cli import screen

        color = request.options["color"]
        screen.show(output, color, tables.make_table(columns, rows[:ROWS_ON_SCREEN]), wrap=True)
        if (more := len(rows) - ROWS_ON_SCREEN) > 0:
            screen.show(output, color, Text(f"... and {more} more; a pipe gets all of them"))
    else:
        for line in tables.tsv(columns, rows):
            output.write(line.encode() + b"\n")


def write_csv(output: Shown, rows: Iterable[list[str]]) -> None:
    """Rows as comma-separated values, cells quoted where they have to be."""
    import csv
    import io

    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\n")
    for row in rows:
        writer.writerow(row)
    output.write(text.getvalue().encode())


# --- tokens by what they are -----------------------------------------------------------------------------------------


def show_filtered(request: Request, output: Shown) -> None:
    """The tokens that all of --grep, --prefix, --not-utf8 and --not-self hold for; of those the --longest."""
    from tokcli.cli.inspect_ranks import members, token_row
    from tokcli.engine.vocab_stats import not_self, token_ids
    from tokcli.render import tables

    encoding, given = request.encoding, request.options
    data_of = encoding.decode_single_token_bytes
    wanted = tests(given)
    chosen = [number for number in token_ids(encoding) if all(test(data_of(number)) for test in wanted)]
    becomes = dict(not_self(encoding, chosen)) if given["not_self"] else {}
    if given["not_self"]:
        chosen = sorted(becomes)
    if given["longest"] is not None:
        chosen = sorted(chosen, key=lambda number: (-len(data_of(number)), number))[: given["longest"]]
    rows = [token_row(encoding, number) for number in chosen]
    columns: tuple[Column[Any], ...] = tables.TOKEN_COLUMNS
    if becomes:
        columns += (tables.Column("encoded as", lambda row: " ".join(map(str, becomes[row.id])), fold=True),)

    def as_json() -> object:
        return {"tokens": [members(row) | ({"encoded_as": becomes[row.id]} if becomes else {}) for row in rows]}

    emit(request, output, columns, rows, as_json)


def tests(given: dict[str, Any]) -> list[Callable[[bytes], bool]]:
    """What the bytes of a token have to hold for."""
    found: list[Callable[[bytes], bool]] = []
    if given["prefix"] is not None:
        from tokcli.render.visible import unescape

        prefix = unescape(given["prefix"])
        found.append(lambda data: data.startswith(prefix))
    if given["not_utf8"]:
        found.append(lambda data: not _is_utf8(data))
    if given["grep"] is not None:
        found.append(searcher(given["grep"], given["timeout"]))
    return found


def searcher(pattern: str, timeout: float) -> Callable[[bytes], bool]:
    """Whether a regex is found in a token's text; what is not UTF-8 is U+FFFD to it."""
    import regex

    try:
        compiled = regex.compile(pattern)
    except (regex.error, ValueError, OverflowError, RecursionError) as error:
        raise InputError(f"--grep: not a regex: {error}") from None

    def is_found(data: bytes) -> bool:
        try:
            return compiled.search(data.decode("utf-8", "replace"), timeout=timeout) is not None
        except TimeoutError:
            raise InputError(
                f"--grep: it takes more than {timeout:g} s for one token", "--timeout allows more."
            ) from None

    return is_found


def _is_utf8(data: bytes) -> bool:
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True


# --- the vocabulary as a whole ---------------------------------------------------------------------------------------


def show_stats(request: Request, output: Shown) -> None:
    """Lengths, scripts and kinds of characters."""
    from tokcli.engine.merges import merges_of
    from tokcli.engine.vocab_stats import stats_of
    from tokcli.render import tables, vocab_stats

    encoding = request.encoding
    stats = stats_of(encoding, sum(1 for _ in merges_of(encoding).in_order()))
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

        for line in vocab_stats.lines(stats):
            screen.show(output, request.options["color"], line)
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
    emit(request, output, columns, flat, lambda: counts | groups)


def show_merges(request: Request, output: Shown) -> None:
    """All merges, in order."""
    from tokcli.engine.merges import merges_of
    from tokcli.render.tables import Column

    encoding = request.encoding
    rows = list(merges_of(encoding).in_order())
    if not rows:
        request.note(f"{encoding.name} does not merge: its tokens are chosen by their scores, or as whole words.")
    data_of = encoding.decode_single_token_bytes
    columns: tuple[Column[Any], ...] = (
        Column("id", lambda row: row[0], "right"),
        Column("left", lambda row: row[1], "right"),
        Column("right", lambda row: row[2], "right"),
        Column("left text", lambda row: data_of(row[1]), fold=True),
        Column("right text", lambda row: data_of(row[2]), fold=True),
    )
    emit(request, output, columns, rows, lambda: {"merges": [[left, right, made] for made, left, right in rows]})


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
    emit(request, output, columns, list(enumerate(ids)), lambda: {"bytes": ids.tolist()})


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
        Column("text", lambda row: row[0], fold=True),
        Column(first, lambda row: "" if row[1] is None else row[1], "right"),
        Column(second, lambda row: "" if row[2] is None else row[2], "right"),
    )

    def as_json() -> object:
        listed = [{"bytes_hex": token.hex(), "a": a, "b": b} for token, a, b in rows]
        return {"a": first, "b": second, **counts, "tokens": listed}

    request.note(f"{found.shared} tokens are in both ({found.same_id} with the same id), "
                 f"{len(found.only_a)} only in {first}, {len(found.only_b)} only in {second}.")  # fmt: skip
    emit(request, output, columns, rows, as_json)


def tokens_of(encoding: Encoding) -> dict[bytes, int]:
    """Token -> id, special tokens too; of ids that stand for the same bytes, the first."""

    def pairs() -> Iterator[tuple[bytes, int]]:
        for number, data in sorted(encoding._all_decoder.items(), reverse=True):
            yield data, number

    return dict(pairs())
