"""`encode --visualise`: the tokens of a text in colours, or every merge of each piece."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tokcli.cli import screen, streams
from tokcli.cli.options import Request
from tokcli.render import boundaries


def visualise(request: Request, output: streams.Output) -> None:
    """Shows the inputs, one after the other, in colour where it is wanted."""
    if request.options["visualise"] == "merges":
        from tokcli.cli import merge_view

        merge_view.write(request, output)
        output.flush()
        return
    color = request.options["color"]
    if screen.wants_color(output, color):
        for line in tokens(request, colour=True):
            screen.show(output, color, line)
    else:
        for line in tokens(request, colour=False):
            output.write(f"{line}\n".encode())
    output.flush()


def tokens(request: Request, *, colour: bool) -> Iterator[Any]:
    """The lines of the inputs, with a boundary or a new colour at each token."""
    draw = boundaries.coloured_boundaries if colour else boundaries.plain_boundaries
    for source in request.inputs:
        with streams.naming(source.shown):
            yield from draw(token_bytes(request, source))


def token_bytes(request: Request, source: streams.Input) -> Iterator[tuple[bytes, int]]:
    """(bytes, id) of each token of an input, up to -n of them."""
    from tokcli.cli.encode import limited

    for ids, _ in limited(request, map(request.encoding.encode_part, request.parts(source))):
        yield from zip(request.encoding.decode_tokens_bytes(ids), ids, strict=True)
