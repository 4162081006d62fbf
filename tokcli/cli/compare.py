"""`encode --compare E1,E2,...`: the same text under several encodings, stacked and aligned, and what each costs."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from itertools import accumulate

import click

from tokcli.cli import pager, records, screen, streams
from tokcli.cli.options import Request
from tokcli.cli.pages import sees_whole
from tokcli.cli.split_table import SMALL_BLOCK, json_text
from tokcli.engine.pipeline_encoding import PipelineEncoding
from tokcli.engine.postprocessor import Tokens
from tokcli.errors import InputError
from tokcli.render import tables
from tokcli.render.compare import TSV_COLUMNS, Total, coloured_stacks, plain_stacks, totals_table
from tokcli.render.grid import Placed, segments
from tokcli.render.visible import visible

MAX_BYTES = 16 << 20  # of an input, which is held whole with the places of its tokens
NAMING = frozenset({"encoding", "model", "pattern"})
REFUSED = NAMING | {
    *("records", "offsets", "limit", "form", "fail_if_truncated", "add_special_tokens"),
    *("html", "visualise", "step", "ids", "svg"),
}


def write(request: Request) -> None:
    """The stacked lines and the table; or a JSON object for each input."""
    check_options()
    sides = sides_of(request)
    with streams.Output(request.options["output"], request.inputs) as output:
        for source in request.inputs:
            if request.options["as_json"]:
                with streams.naming(source.shown):
                    write_json(sides, read(request, source), output)
        if not request.options["as_json"]:
            with pager.paged(output) as shown:
                for source in request.inputs:
                    with streams.naming(source.shown):
                        show(request, sides, source, read(request, source), shown)
        output.flush()


def check_options() -> None:
    """Refuses what does not go together."""
    context = click.get_current_context()
    for param in context.command.params:
        is_given = context.get_parameter_source(param.name or "") is click.core.ParameterSource.COMMANDLINE
        if is_given and param.name in REFUSED:
            hint = "--compare names the encodings itself." if param.name in NAMING else ""
            raise InputError(f"--compare does not go with {param.opts[-1]}", hint)


def sides_of(request: Request) -> list[Request]:
    """The same request for each of the encodings, which are loaded."""
    names = [name.strip() for name in request.options["compare"].split(",")]
    if len(names) < 2 or not all(names):
        raise InputError("--compare takes at least two encodings", "For instance --compare o200k_base,cl100k_base")
    wanted = request.options["allow_special"]
    sides, known = [], set()
    for name in names:
        side = Request({**request.options, "encoding": name, "model": None, "allow_special": ()})
        special = side.encoding.special_tokens_set  # what is wrong with an encoding is said before any text is read
        side.options["allow_special"] = tuple(token for token in wanted if token in special)
        known.update(side.options["allow_special"])
        sides.append(side)
    if missing := [token for token in wanted if token not in known]:
        raise InputError(f"{missing[0]!r} is no special token of any of {', '.join(names)}")
    return sides


def read(request: Request, source: streams.Input) -> bytes:
    """An input, whole."""
    held: list[bytes] = []
    size = 0
    for block in source.blocks():
        held.append(bytes(block))
        size += len(block)
        if size > MAX_BYTES:
            raise InputError(
                f"more than {MAX_BYTES >> 20} MiB are too many to compare token by token",
                "`tokcli count` counts the tokens of any file.",
            )
    data = b"".join(held)
    return data.decode("utf-8", "replace").encode() if request.errors == "replace" else data


class Counted:
    """The tokens of a text under one encoding, as they are asked for, and how many they were."""

    def __init__(self, side: Request, data: bytes) -> None:
        self.name = side.encoding.name
        self.count = 0
        self.has_places = True
        self._found: Iterator[Placed] = iter(())
        if sees_whole(side):
            self._take_whole(side, data)
        else:
            self._found = by_bytes(side, data)

    def __iter__(self) -> Iterator[Placed]:
        for token in self._found:
            self.count += 1
            yield token

    def _take_whole(self, side: Request, data: bytes) -> None:
        encoding = side.encoding
        assert isinstance(encoding, PipelineEncoding)
        whole = encoding.read_whole([data], errors=side.errors, allowed=side.allowed, refused=side.refused)
        if whole is None:
            return
        try:
            found = encoding.encode_spans(whole)
        except InputError:  # a tokenizer that changed the text
            found = Tokens(encoding.encode_chunk(whole))
        self.has_places = found.spans is not None
        spans = [(0, 0)] * len(found.ids) if found.spans is None else found.spans
        self._found = iter(placed(found.ids, spans, whole.text))


def by_bytes(side: Request, data: bytes) -> Iterator[Placed]:
    """The tokens of a text where their bytes, one after the other, are the text."""
    encoding, at = side.encoding, 0
    blocks = (data[i : i + SMALL_BLOCK] for i in range(0, len(data), SMALL_BLOCK))
    parts = encoding.read_parts(blocks, errors=side.errors, allowed=side.allowed, refused=side.refused)
    for ids in map(encoding.encode_part, parts):
        for number, token in zip(ids, encoding.decode_tokens_bytes(ids), strict=True):
            yield Placed(number, at, at := at + len(token))


def placed(ids: Sequence[int], spans: Sequence[tuple[int, int]], text: str) -> list[Placed]:
    """Places in characters as places in bytes."""
    at = range(len(text) + 1) if text.isascii() else list(accumulate((len(c.encode()) for c in text), initial=0))
    return [Placed(number, at[begin], at[end]) for number, (begin, end) in zip(ids, spans, strict=True)]


def show(request: Request, sides: list[Request], source: streams.Input, data: bytes, output: pager.Screen) -> None:
    """The lines of an input, and the table under them."""
    color = request.options["color"]
    on_screen = output.is_terminal or screen.wants_color(output, color)
    found = [Counted(side, data) for side in sides]
    for one in found:
        if not one.has_places:
            request.note(f"{one.name} changes this text and does not tell where its tokens stand in it.")
    if len(request.inputs) > 1:
        output.write(f"==> {visible(source.shown)} <==\n".encode())
    tracks = [(one.name, segments(one, len(data))) for one in found if one.has_places]
    if not tracks or not data:
        pass
    elif screen.wants_color(output, color):
        for lines in coloured_stacks(data, tracks, screen.width(), isolate=output.is_terminal):
            screen.show(output, color, lines)
    else:
        for plain in plain_stacks(data, tracks, screen.width() if on_screen else None, isolate=output.is_terminal):
            output.write(f"{plain}\n".encode())
    for one in found:
        deque(one, maxlen=0)  # what was not drawn is counted all the same
    totals = [Total(one.name, one.count, len(data), found[0].count) for one in found]
    if on_screen:
        screen.show(output, color, totals_table(totals, screen.width()), wrap=True)
    else:
        output.write(b"\n" + "".join(f"{row}\n" for row in tables.tsv(TSV_COLUMNS, totals)).encode())


def write_json(sides: list[Request], data: bytes, output: streams.Output) -> None:
    """Members: text (or bytes_hex), bytes, encodings; a token is its id and where it stands, in bytes, or null."""
    output.write(records.dump({**json_text(data), "bytes": len(data)})[:-1].encode() + b', "encodings": [')
    first = None
    for side in sides:
        found = Counted(side, data)
        output.write((", " if first is not None else "").encode())
        output.write(records.dump({"encoding": found.name})[:-1].encode() + b', "tokens": [')
        for number, token in enumerate(found):
            place = f'{token.start}, "end": {token.end}' if found.has_places else 'null, "end": null'
            output.write(f'{", " if number else ""}{{"id": {token.id}, "start": {place}}}'.encode())
        first = found.count if first is None else first
        output.write(f'], "count": {found.count}, "difference": {found.count - first}}}'.encode())
    output.write(b"]}\n")
