"""The output forms of counts: a table like wc's, JSON, JSON Lines, CSV. Rows are held only if a form needs all."""

from __future__ import annotations

import heapq
import os
import re
from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import TYPE_CHECKING

from tokcli.cli.count.budget import check_budget, lines_of, members_of, rows_of
from tokcli.cli.count.count_options import ModelName
from tokcli.cli.count.count_records import RecordCounts, write_numbers, write_records
from tokcli.cli.count.csv_lines import csv_line
from tokcli.cli.count.estimates import scaled_rows
from tokcli.cli.count.many import ManyCounts, Row, one_for_each
from tokcli.cli.count.tree.count_tree import Columns, tree_of, write_lines
from tokcli.cli.json_stream import JsonStream, line, path_members, text_of_name
from tokcli.cli.terminal.colours import is_for_people
from tokcli.errors import MAX_QUOTED, InputError
from tokcli.render.numbers import counted
from tokcli.render.visible import visible

if TYPE_CHECKING:
    from tokcli.cli.count.chat_tally import ChatTally
    from tokcli.cli.count.count_options import CountOptions, CountRequest
    from tokcli.cli.streams import Output

LINES = 1000  # of a table that are written at a time
_PATH = re.compile(rb"([^\0]*)\0")
TOKENS = "tokens"  # the column of counts, where there is one encoding
NO_EXTENSION = "(none)"
GROUPS: dict[str, Callable[[Row], str]] = {
    "ext": lambda row: os.path.splitext(row.path)[1] or NO_EXTENSION,
    "dir": lambda row: os.path.dirname(row.path) or os.curdir,
    "root": lambda row: row.root,
}


def write(request: CountRequest, output: Output, *, is_alone: bool) -> tuple[str | None, int]:
    """Write the counts of the inputs in the form that was asked for; with `is_alone`, as that of the only input.

    Return a phrase for what is above --max (None if nothing is), and the exit status.
    """
    asked = request.options
    check_encodings(asked)
    check_budget(asked)
    if asked.dask:
        from tokcli.cli.count import count_on_cluster
    if asked.records:
        answers = RecordCounts(request, output)
        if asked.dask:
            count_on_cluster.write_cluster_records(request, answers)
        else:
            write_records(request, answers, output)
        answers.end()
        return answers.above, request.status
    counting = count_on_cluster.ClusterCounts if asked.dask else ManyCounts
    counts = counting(one_for_each(request))
    totals = RowTotals(len(asked.encodings) or 1, asked.limit)
    rows = totals.of(scaled_rows(asked.estimates, counts.rows()))
    if asked.html is None:
        write_rows(asked, output, rows, totals, is_alone=is_alone)
    else:
        write_tree(asked, output, rows, asked.encodings if len(asked.encodings) > 1 else (TOKENS,), request)
    return totals.above(is_alone=is_alone), counts.status


def check_encodings(asked: CountOptions) -> None:
    """Raise InputError for encodings that are named twice, or where one only can be asked about."""
    if len(asked.encodings) > 1 and (asked.records or asked.budget or asked.chat or asked.price is not None):
        raise InputError("--records, --budget, --price and --chat take one encoding", "Give -e once.")
    names = [name.lower() if isinstance(name, ModelName) else name for name in asked.encodings]
    if again := next((name for at, name in enumerate(names) if name in names[:at]), None):
        raise InputError(f"{again[:MAX_QUOTED]!r} is given twice", "Leave one out: its name is that of its column.")


class RowTotals:
    """The sums of the rows that have passed through `of`, and how many there were; of --chat, in a `tally`, too."""

    def __init__(self, encodings: int, limit: int | None = None, tally: ChatTally | None = None) -> None:
        self.tokens, self.size, self.rows = [0] * encodings, 0, 0
        self.tally = tally
        self._limit = limit
        self._above: str | None = None  # the first row that is above the limit by itself

    def of(self, rows: Iterable[Row]) -> Iterator[Row]:
        """Yield rows, and add them up."""
        for row in rows:
            for number, count in enumerate(row.tokens):
                self.tokens[number] += count
            self.size += row.size
            self.rows += 1
            if self.tally and row.chat:
                self.tally.add(row.chat, row.path)
            if self._limit is not None and self._above is None and max(row.tokens) > self._limit:
                self._above = f"{row.path}: {counted(max(row.tokens), 'token')}"
            yield row

    def marks(self) -> Mapping[str, object]:
        """Return the JSON members beside a total: how far it is to be trusted."""
        return self.tally.marks() if self.tally else {}

    def above(self, *, is_alone: bool) -> str | None:
        """Return a phrase for what is above the limit: the first such row, else the total; None if nothing is."""
        most = max(self.tokens)
        if self._limit is None or most <= self._limit:
            return None
        phrase = counted(most, "token")
        return phrase if is_alone else self._above or f"total: {phrase}"


def write_rows(asked: CountOptions, output: Output, rows: Iterator[Row], totals: RowTotals, *, is_alone: bool) -> None:
    """Write rows in the form that was asked for; `totals` are their sums once all have been consumed."""
    names = asked.encodings if len(asked.encodings) > 1 else (TOKENS,)
    if asked.as_json or asked.jsonl:
        names = tuple(map(text_of_name, names))
    if asked.only_total or (is_alone and not (asked.as_json or asked.with_filename)):
        for _ in rows:
            pass
        write_total(asked, output, names, totals)
    elif asked.tree:
        write_tree(asked, output, rows, names)
    else:
        shown = grouped(asked.by, rows) if asked.by else rows
        if asked.order or asked.top:
            shown = iter(ordered(asked, shown))
        if is_alone:
            shown = iter(list(shown))  # before anything is written: its error is the only answer
        if asked.jsonl:
            for row in shown:
                exact = {"exact": totals.marks()["exact"]} if totals.tally else members_of(asked, *row.tokens)
                output.write(line({**members(names, row), **exact}))
        elif asked.csv:
            write_csv(output, names, shown)
        elif asked.as_json:
            write_object(asked, output, names, shown, totals, is_alone=is_alone)
        else:
            write_table(asked, output, names, shown, totals, is_alone=is_alone)


def grouped(by: str, rows: Iterable[Row]) -> Iterator[Row]:
    """Return a row with the sums of each group of rows, in the order in which groups first occur."""
    sums: dict[str, Row] = {}
    for row in rows:
        name = GROUPS[by](row)
        before = sums.get(name)
        tokens = row.tokens if before is None else tuple(map(sum, zip(before.tokens, row.tokens, strict=True)))
        chat = before.chat.joined(row.chat) if before and before.chat and row.chat else row.chat
        sums[name] = Row(tokens, row.size + (before.size if before else 0), name, row.root, chat)
    return iter(sums.values())


def ordered(asked: CountOptions, rows: Iterable[Row]) -> list[Row]:
    """Return the rows, with --top only the largest, in the order of --sort: by name, or else largest first."""
    found = list(rows) if asked.top is None else heapq.nlargest(asked.top, rows, key=lambda row: row.tokens[0])
    if asked.order == "name":
        return sorted(found, key=lambda row: row.path)
    return sorted(found, key=lambda row: -row.tokens[0])


def members(names: Sequence[str], row: Row) -> dict[str, object]:
    """Return a row as the members of a JSON object: its counts by name, bytes and path, and what is not counted."""
    left_out = {"left_out": dict(row.chat.left_out)} if row.chat and row.chat.left_out else {}
    return {**dict(zip(names, row.tokens, strict=True)), "bytes": row.size, **path_members(row.path), **left_out}


def write_total(asked: CountOptions, output: Output, names: Sequence[str], totals: RowTotals) -> None:
    """Write only the totals, or what --budget and --price make of them."""
    more = {**members_of(asked, *totals.tokens), **totals.marks()}
    if more and asked.as_json:
        named = {"count": totals.tokens[0]} if len(names) == 1 else dict(zip(names, totals.tokens, strict=True))
        output.write(line({**named, **more}))
    elif rows := rows_of(asked, totals.tokens[0]):
        output.write("".join(f"{value}\n" for value, _ in rows).encode())
    elif len(names) == 1:
        write_numbers(asked, output, memoryview(array("Q", totals.tokens)))
    elif asked.as_json or asked.jsonl:
        output.write(line(dict(zip(names, totals.tokens, strict=True))))
    else:
        output.write(" ".join(map(str, totals.tokens)).encode() + b"\n")


def write_tree(
    asked: CountOptions,
    output: Output,
    rows: Iterable[Row],
    names: Sequence[str],
    request: CountRequest | None = None,
) -> None:
    """Write the rows as a tree, of which --top keeps the largest branches; for a `request`, to its page."""
    root = tree_of(asked, rows, len(names))
    if asked.top is not None:
        root.keep_largest(asked.top)
    if request or is_for_people(output, asked.color):
        from tokcli.cli.count.tree import tree_on_screen, tree_page

        if request:
            tree_page.write(request, root, names)
        else:
            tree_on_screen.show_tree(asked, output, root, names)
    else:
        write_lines(asked, output, root, names)


def write_object(
    asked: CountOptions, output: Output, names: Sequence[str], rows: Iterable[Row], totals: RowTotals, *, is_alone: bool
) -> None:
    """Write one JSON object with all rows and the totals; with `is_alone`, the only count has its own name, too."""
    stream = JsonStream(output)
    with stream.object():
        with stream.array("files"):
            for row in rows:
                stream.value(members(names, row))
        by_name = dict(zip(names, totals.tokens, strict=True))
        count = {"count": totals.tokens[0]} if is_alone else {}
        more = {**count, **members_of(asked, *totals.tokens), **totals.marks()}
        stream.members(total=totals.tokens[0] if len(names) == 1 else by_name, **more)


def write_csv(output: Output, names: Sequence[str], rows: Iterable[Row]) -> None:
    """Write a header and a line of comma-separated values for each row."""
    output.write(csv_line([*names, "bytes", "path"], is_terminal=output.is_terminal))
    for row in rows:
        output.write(csv_line([*row.tokens, row.size, row.path], is_terminal=output.is_terminal))


def write_table(
    asked: CountOptions, output: Output, names: Sequence[str], rows: Iterable[Row], totals: RowTotals, *, is_alone: bool
) -> None:
    """Write a line for each row, and for the totals unless `is_alone`, in columns as wide as the totals.

    Several columns get a header. On a terminal, thousands are grouped.
    """
    numbers, paths = array("Q"), bytearray()  # less than a fifth of what the rows would take
    is_terminal = output.is_terminal
    for row in rows:
        numbers.extend(row.tokens)
        paths += (visible(row.path) if is_terminal else row.path).encode("utf-8", "surrogateescape") + b"\0"
    columns = Columns(names, totals.tokens, for_people=is_terminal)
    output.write(columns.header)
    cells = map(columns.cells, zip(*[iter(numbers)] * len(names), strict=True))
    lines = (before + path[1] + b"\n" for before, path in zip(cells, _PATH.finditer(paths), strict=True))
    while some := b"".join(islice(lines, LINES)):
        output.write(some)
    shown = len(numbers) // len(names)
    label = f"total ({shown} of {totals.rows} files)" if asked.top and not asked.by and shown < totals.rows else "total"
    if not is_alone:
        output.write(columns.cells(totals.tokens) + label.encode() + b"\n")
    output.write(lines_of(asked, totals.tokens[0], columns.first, for_people=is_terminal))
