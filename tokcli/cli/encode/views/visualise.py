"""`encode --visualise` in a pipe: the tokens of a text as lines that native code makes, or as JSON; without rich."""

from __future__ import annotations

import os
import sys

from tokcli.cli import streams
from tokcli.cli.encode.encode_options import EncodeRequest
from tokcli.cli.encode.views.shown_tokens import Tally, shown_parts, shown_tokens
from tokcli.cli.json_stream import JsonStream, text_member
from tokcli.cli.terminal.colours import colours
from tokcli.engine import backend
from tokcli.render import console, palette
from tokcli.render.native_lines import TokenLines
from tokcli.render.visible import visible


def needs_rows(request: EncodeRequest, output: streams.Output) -> bool:
    """Return whether the tokens have to be laid out in rows, or native code is missing: token_rows.py does both."""
    return not request.options.as_json and (output.is_terminal or request.options.ids or not backend.is_native())


def write(request: EncodeRequest, output: streams.Output) -> None:
    """Write JSON; or the lines of the inputs, and then the number of tokens (as a note, if there are no colours)."""
    if request.options.as_json:
        write_json(request, output)
        return
    tally, system = Tally(), colours(output, request.options.color)
    codes = palette.CODES[system] if system else ()
    has_shapes = console.has_shapes(os.environ, is_coerced=bool(sys.flags.utf8_mode))
    for source in request.texts:
        lines = TokenLines(codes)
        with streams.naming(source.shown):
            for part in shown_parts(request, source, tally):
                made = lines.add(part.text, part.ends)
                output.write(made if has_shapes else console.without_shapes(made))
        output.write(lines.end())
    legend = tally.legend(request.encoding.name)
    if codes and not request.options.quiet:
        output.write(f"{palette.BOLD}{visible(legend)}{palette.END}\n".encode())
    elif not codes and sys.stderr.isatty():
        request.note(legend)


def write_json(request: EncodeRequest, output: streams.Output) -> None:
    """Write a JSON object for each input: its tokens, their number, and the number of bytes that they stand for."""
    stream = JsonStream(output)
    for source in request.texts:
        tally = Tally()
        with streams.naming(source.shown), stream.object():
            with stream.array("tokens"):
                for shown in shown_tokens(request, source, tally, exact=True):
                    stream.value({"id": shown.id, **text_member(shown.token), "start": shown.start, "end": shown.end})
            stream.members(count=tally.tokens, bytes=tally.bytes)
