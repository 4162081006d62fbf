"""`encode --visualise`: the tokens of a text in colours, or every merge of each piece."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING

from tokcli.cli import pager, records, screen, streams
from tokcli.cli.options import Request
from tokcli.cli.shown_tokens import Tally, shown_tokens
from tokcli.render import boundaries

if TYPE_CHECKING:
    from rich.text import Text

WIDTH_OF_PIPES = 80


def visualise(request: Request, output: streams.Output) -> None:
    """Shows the inputs, one after the other, in colour where it is wanted."""
    if request.options["visualise"] == "merges":
        from tokcli.cli import merge_view

        merge_view.write(request, output)
        output.flush()
    elif request.options["as_json"]:
        write_json(request, output)
    else:
        show_tokens(request, output)


def show_tokens(request: Request, output: streams.Output) -> None:
    """The tokens of the inputs, then how many they are; a note where the view is not on the screen."""
    color, tally = request.options["color"], Tally()
    coloured = screen.wants_color(output, color)
    with pager.paged(output) as shown:
        for line in token_lines(request, output, tally, colour=coloured):
            if isinstance(line, str):
                shown.write(f"{line}\n".encode())
            else:
                screen.show(shown, color, line)
        legend = tally.legend(request.encoding.name)
        if request.options["quiet"]:
            return
        if not output.is_terminal and not coloured:
            if sys.stderr.isatty():
                request.note(legend)
            return
        from rich.text import Text

        from tokcli.render.visible import visible

        screen.show_hanging(shown, color, Text(visible(legend), "dim"))


def token_lines(request: Request, output: streams.Output, tally: Tally, *, colour: bool) -> Iterator[Text | str]:
    """The lines of the inputs, with a boundary or a new colour at each token, and ids where they are wanted."""
    from tokcli.render import token_rows

    ids = request.options["ids"]
    for source in request.inputs:
        with streams.naming(source.shown):
            tokens = ((shown.token, shown.id) for shown in shown_tokens(request, source, tally))
            if colour and (ids or output.is_terminal):
                yield from token_rows.coloured_rows(tokens, width(output), ids=ids, isolate=output.is_terminal)
            elif colour:
                yield from boundaries.coloured_boundaries(tokens)
            else:
                rows = token_rows.plain_rows(tokens, width(output)) if ids else boundaries.plain_boundaries(tokens)
                yield from map(token_rows.isolated, rows) if output.is_terminal else rows


def write_json(request: Request, output: streams.Output) -> None:
    """An object a line for each input: its tokens, their number, and the bytes that they stand for."""
    from tokcli.cli.split_table import json_text

    for source in request.inputs:
        tally = Tally()
        with streams.naming(source.shown):
            output.write(b'{"tokens": [')
            for at, shown in enumerate(shown_tokens(request, source, tally, exact=True)):
                member = {"id": shown.id, **json_text(shown.token), "start": shown.start, "end": shown.end}
                output.write((", " * (at > 0) + records.dump(member)).encode())
        output.write(f'], "count": {tally.tokens}, "bytes": {tally.bytes}}}\n'.encode())
    output.flush()


def write_svg(request: Request) -> None:
    """The tokens as a picture, with the legend below, to the FILE of --svg: whole or not at all."""
    from rich.text import Text

    from tokcli.render import token_rows
    from tokcli.render.svg import make_svg
    from tokcli.render.visible import visible

    tally, name = Tally(), request.encoding.name

    def lines() -> Iterator[Text]:
        for source in request.inputs:
            with streams.naming(source.shown):
                tokens = ((shown.token, shown.id) for shown in shown_tokens(request, source, tally))
                yield from token_rows.coloured_rows(tokens, width(None), ids=request.options["ids"])
        yield Text(visible(tally.legend(name)), no_wrap=True, overflow="ellipsis")

    made = make_svg(lines(), f"{name}: a text as tokens", width=width(None), environment=os.environ)
    with streams.Output(request.options["svg"], request.inputs) as output:
        output.write(made.encode())
        output.flush()


def width(output: streams.Output | None) -> int:
    """The cells of a row: COLUMNS, else the terminal's; what goes to a pipe does not depend on the terminal beside."""
    if (output is not None and output.is_terminal) or os.environ.get("COLUMNS"):
        return screen.width()
    return WIDTH_OF_PIPES
