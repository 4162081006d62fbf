"""`inspect-ranks`: the output of rows as a table, tab- or comma-separated values, or JSON."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterable, Sequence
from itertools import islice
from types import ModuleType
from typing import TYPE_CHECKING, Any

from tokcli.cli import streams
from tokcli.cli.inspect_ranks.inspect_options import InspectRequest
from tokcli.cli.json_stream import line
from tokcli.cli.request import files_read
from tokcli.cli.terminal import colours
from tokcli.render.tables import Column, escaped_table

if TYPE_CHECKING:
    from tokcli.cli.terminal.pager import ShownOn

ROWS_ON_SCREEN = 200  # of a table for people; a pipe gets all


def show_all(request: InspectRequest, show: Callable[[InspectRequest, ShownOn], None]) -> None:
    """Call `show` with the output, -o or standard output; on a terminal, the pager shows what is taller."""
    with streams.Output(request.options.output, files_read(request.options)) as output:
        if output.is_terminal:
            on_screen().show_paged(output, lambda shown: show(request, shown), wanted=not request.options.as_json)
            return
        show(request, output)
        output.flush()


def on_screen() -> ModuleType:
    """Return the module that draws on a terminal, with rich."""
    from tokcli.cli.inspect_ranks import on_screen as module

    return module


def emit(
    request: InspectRequest,
    output: ShownOn,
    columns: Iterable[Column[Any]],
    rows: Iterable[Any],
    count: int,
    json: Callable[[], object],
    *,
    is_view: bool = False,
) -> None:
    """Write `count` rows in the form that was asked for; rows that are not shown are not computed.

    If they are part of a view, --color gives a table in a pipe, too.
    """
    if request.options.as_json:
        output.write(line(json()))
    elif request.options.as_csv:
        write_csv(output, escaped_table(columns, rows))
    elif output.is_terminal or (is_view and is_for_people(request, output)):
        shown = ROWS_ON_SCREEN if output.is_terminal else count
        on_screen().show_table(output, request.options.color, columns, islice(rows, shown), count - shown)
    else:
        for block in escaped_table(columns, rows):
            output.write(("\n".join(map("\t".join, block)) + "\n").encode())


def is_for_people(request: InspectRequest, output: ShownOn) -> bool:
    """Return whether a view is laid out for people: on a terminal, or where colour is wanted."""
    is_data = request.options.as_json or request.options.as_csv
    return not is_data and colours.is_for_people(output, request.options.color)


def is_tsv(request: InspectRequest, output: ShownOn) -> bool:
    """Return whether a table is written as tab-separated values."""
    return not (request.options.as_json or request.options.as_csv or output.is_terminal)


def write_csv(output: ShownOn, blocks: Iterable[Iterable[Sequence[str]]]) -> None:
    """Write rows as comma-separated values, with cells quoted where they have to be."""
    for block in blocks:
        text = io.StringIO(newline="")
        csv.writer(text, lineterminator="\n").writerows(block)
        output.write(text.getvalue().encode())
