"""`encode --visualise`: the tokens of a text in colours, or every merge of each piece."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Iterator

from tokcli.cli import streams
from tokcli.cli.options import Request
from tokcli.render import boundaries
from tokcli.render.console import make_console, wants_color


def visualise(request: Request, output: streams.Output) -> None:
    """Shows the inputs, one after the other, in colour where it is wanted."""
    show = merges if request.options["visualise"] == "merges" else tokens
    if not wants_color(sys.stdout, request.options["color"], os.environ):
        for line in show(request, colour=False):
            output.write(f"{line}\n".encode())
        return
    for line in show(request, colour=True):
        buffer = io.StringIO()
        width = None if output.is_terminal else sys.maxsize
        console = make_console(buffer, "always", environment=os.environ, width=width)
        console.print(line)
        output.write(buffer.getvalue().encode())


def tokens(request: Request, *, colour: bool) -> Iterator[object]:
    """The lines of the inputs, with a boundary or a new colour at each token."""
    draw = boundaries.coloured_boundaries if colour else boundaries.plain_boundaries
    for source in request.inputs:
        with streams.naming(source):
            yield from draw(token_bytes(request, source))


def token_bytes(request: Request, source: streams.Input) -> Iterator[tuple[bytes, int]]:
    """(bytes, id) of each token of an input, up to -n of them."""
    from tokcli.cli.encode import limited

    for ids, _ in limited(request, request.chunks(source)):
        yield from zip(request.encoding.decode_tokens_bytes(ids), ids, strict=True)


def merges(request: Request, *, colour: bool) -> Iterator[object]:
    """For each piece of the inputs the steps of merging it."""
    draw = boundaries.coloured_merge_steps if colour else boundaries.plain_merge_steps
    for source in request.inputs:
        with streams.naming(source):
            for chunk in request.chunks(source):
                for piece in request.encoding.split_chunk(chunk):
                    if not chunk.special:
                        yield from draw(request.encoding.merge_steps(piece))
