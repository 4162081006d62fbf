"""The tokens of a text laid out by rich: rows for a terminal, lines where there is no native code, and a picture."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator

from rich.text import Text

from tokcli.cli import streams
from tokcli.cli.encode.encode_options import EncodeRequest
from tokcli.cli.encode.views.shown_tokens import Tally, shown_parts, shown_tokens
from tokcli.cli.terminal import pager, screen
from tokcli.cli.terminal.colours import colours, wants_color
from tokcli.engine import backend
from tokcli.render import palette
from tokcli.render.direction import isolated
from tokcli.render.native_lines import TokenRows
from tokcli.render.svg import make_svg
from tokcli.render.tokens import coloured_boundaries, coloured_rows, plain_boundaries, plain_rows
from tokcli.render.visible import visible


def write(request: EncodeRequest, output: streams.Output) -> None:
    """Show the tokens of the inputs, and then their number, or print it as a note if the view is not for people."""
    color, tally = request.options.color, Tally()
    coloured = wants_color(output, color)
    with pager.paged(output) as shown:
        for line in token_lines(request, output, tally, colour=coloured):
            if isinstance(line, bytes):
                shown.write(line)
            elif isinstance(line, str):
                shown.write(f"{line}\n".encode())
            else:
                screen.show(shown, color, line)
        legend = tally.legend(request.encoding.name)
        if request.options.quiet:
            return
        if output.is_terminal or coloured:
            screen.show_hanging(shown, color, Text(visible(legend), "bold"))
        elif sys.stderr.isatty():
            request.note(legend)


def token_lines(
    request: EncodeRequest, output: streams.Output, tally: Tally, *, colour: bool
) -> Iterator[Text | str | bytes]:
    """Yield the lines of the inputs, with a boundary or a new colour at each token, and ids where they are wanted.

    Bytes, which native code makes, are several lines with their newlines.
    """
    ids, system = request.options.ids, colours(output, request.options.color)
    for source in request.texts:
        with streams.naming(source.shown):
            if backend.is_native() and (colour or not output.is_terminal):
                codes = palette.CODES[system] if system else ()
                rows = TokenRows(screen.width(output), codes, ids=ids, isolate=output.is_terminal)
                yield from (rows.add(part.text, part.ends, part.ids) for part in shown_parts(request, source, tally))
                yield rows.end()
                continue
            tokens = ((shown.token, shown.id) for shown in shown_tokens(request, source, tally))
            if colour and (ids or output.is_terminal):
                yield from coloured_rows(tokens, screen.width(output), ids=ids, isolate=output.is_terminal)
            elif colour:
                yield from coloured_boundaries(tokens)
            else:
                lines = plain_rows(tokens, screen.width(output)) if ids else plain_boundaries(tokens)
                yield from map(isolated, lines) if output.is_terminal else lines


def write_svg(request: EncodeRequest, path: str) -> None:
    """Write the tokens as a picture to a file, with the legend below."""
    tally, name = Tally(), request.encoding.name

    def lines() -> Iterator[Text]:
        for source in request.texts:
            with streams.naming(source.shown):
                tokens = ((shown.token, shown.id) for shown in shown_tokens(request, source, tally))
                yield from coloured_rows(tokens, screen.width(None), ids=request.options.ids)
        yield Text(visible(tally.legend(name)), no_wrap=True, overflow="ellipsis")

    made = make_svg(lines(), f"{name}: a text as tokens", width=screen.width(None), environment=os.environ)
    with streams.Output(path, request.files_read) as output:
        output.write(made.encode())
        output.flush()
