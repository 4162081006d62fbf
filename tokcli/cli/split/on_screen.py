"""`split` on a terminal: the pattern in colours with the table of --table under it, and the lines of --stats."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from tokcli.analysis.pieces.described import described
from tokcli.analysis.pieces.piece_stats import PieceStats
from tokcli.cli import streams
from tokcli.cli.split.split_options import SplitRequest
from tokcli.cli.terminal import pager, screen
from tokcli.cli.terminal.colours import colours
from tokcli.render.colours import Painter
from tokcli.render.split import table as split_table
from tokcli.render.split.stats import stats_lines
from tokcli.render.tables import SplitRow
from tokcli.render.visible import visible


def show_table(request: SplitRequest, output: streams.Output, rows: Iterable[SplitRow]) -> None:
    """Show the pattern and the rows of the table, through the pager where they are taller than the screen."""
    paint = Painter(colours(output, request.options.color))
    with pager.paged(output, wanted=not request.options.watch) as shown:
        for line in pattern_lines(request, paint, screen.width(output)):
            shown.write(f"{line}\n".encode())
        shown.write(b"\n")
        for line in split_table.table_lines(rows, screen.width(output), paint):
            shown.write(f"{line}\n".encode())


def pattern_lines(request: SplitRequest, paint: Painter, width: int | None = None) -> Iterator[str]:
    """Yield the lines of the pattern in colours; for a tokenizer without one, the names of its components.

    On a screen of some `width`, none is longer.
    """
    pattern = request.encoding.tokenizer.pretokenizer
    if pattern is not None:
        yield from split_table.pattern_lines(pattern.alternatives, paint, width)
    else:
        yield from map(visible, described(request.encoding))


def show_stats(request: SplitRequest, output: streams.Output, stats: PieceStats, alternatives: list[str]) -> None:
    """Show statistics, through the pager where they are taller than the screen."""
    with pager.paged(output, wanted=not request.options.watch) as shown:
        for line in stats_lines(stats, alternatives, screen.width(output)):
            screen.show_hanging(shown, request.options.color, line)
