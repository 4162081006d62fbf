"""`encode --compare` for people: rows as wide as the screen, in colours where they are wanted, and a table."""

from __future__ import annotations

from collections.abc import Sequence

from tokcli.cli.encode.encode_options import EncodeRequest
from tokcli.cli.terminal import pager, screen
from tokcli.cli.terminal.colours import colours
from tokcli.render import palette
from tokcli.render.stacks.comparison import EncodingTotal, SpanTrack, stack_rows
from tokcli.render.stacks.totals import totals_table


def show_on_screen(
    request: EncodeRequest,
    data: bytes,
    tracks: Sequence[SpanTrack],
    totals: Sequence[EncodingTotal],
    output: pager.Screen,
) -> None:
    """Show the lines of a text under each encoding, and the table under them."""
    color, width = request.options.color, screen.width(output)
    system = colours(output, color)
    codes = palette.CODES[system] if system else ()
    for rows in stack_rows(data, tracks, width, codes, isolate=output.is_terminal) if tracks else ():
        output.write(rows)
    screen.show(output, color, totals_table(totals, width), wrap=True)
