"""`inspect-ranks` on a terminal: tables, the merges that made a token, and bars."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from rich.text import Text

from tokcli.analysis.merge_tree import merge_tree
from tokcli.analysis.vocabulary import Stats, not_self
from tokcli.cli.inspect_ranks.inspect_options import InspectRequest
from tokcli.cli.streams import Output
from tokcli.cli.terminal import pager, screen
from tokcli.cli.terminal.pager import ShownOn
from tokcli.engine.bpe.merges import ParentTable
from tokcli.render.console import Color
from tokcli.render.numbers import grouped
from tokcli.render.screen_table import table_for_screen
from tokcli.render.tables import Column
from tokcli.render.visible import visible_bytes
from tokcli.render.vocabulary import draw_tree, statistics_lines

SHOWN_TOKENS = 8  # of those that a token is part of


def show_paged(output: Output, show: Callable[[ShownOn], None], *, wanted: bool) -> None:
    """Call `show` with the pager, which shows what is taller than the screen; without it if that is not `wanted`."""
    with pager.paged(output, wanted=wanted) as shown:
        show(shown)


def show_table(output: ShownOn, color: Color, columns: Iterable[Column[Any]], rows: Iterable[Any], more: int) -> None:
    """Show a table, and below it how many rows are left out, if any."""
    screen.show(output, color, table_for_screen(columns, rows, screen.width(output)), wrap=True)
    if more > 0:
        screen.show_hanging(output, color, Text(f"... and {grouped(more)} more; a pipe gets all of them"))


def show_blocks(output: ShownOn, color: Color, blocks: Iterable[tuple[str, str, Iterable[tuple[str, str]]]]) -> None:
    """Show blocks of entries: a heading and what is said about it, and for each entry a line, and names below it."""
    for heading, about, entries in blocks:
        screen.show_hanging(output, color, Text.assemble((heading, "bold"), "  ", (about, "dim")))
        for line, names in entries:
            screen.show_hanging(output, color, Text(f"  {line}"))
            screen.show_hanging(output, color, Text(f"      {names}", style="cyan"))
        output.write(b"\n")


def show_bars(output: ShownOn, color: Color, stats: Stats) -> None:
    """Show the statistics of a vocabulary as bars."""
    for line in statistics_lines(stats, screen.width(output)):
        screen.show_hanging(output, color, line)


def show_origin(request: InspectRequest, output: ShownOn, token: int, merges: ParentTable) -> None:
    """Show the merge tree of a token, the tokens it is part of, and the ids of its own text, where these differ."""
    encoding, color = request.encoding, request.options.color
    for line in draw_tree(merge_tree(encoding, token), screen.width(output)):
        screen.show(output, color, line)
    facts = []
    if part_of := merges.children(token):
        shown = ", ".join(
            visible_bytes(encoding.decode_single_token_bytes(n), spaces=True) for n in part_of[:SHOWN_TOKENS]
        )
        facts.append(f"part of {grouped(len(part_of))}: {shown}{', ...' * (len(part_of) > SHOWN_TOKENS)}")
    facts += [f"its own text is encoded as {' '.join(map(str, ids))}" for _, ids in not_self(encoding, [token])]
    for fact in facts:
        screen.show_hanging(output, color, Text(fact))
    output.write(b"\n")
