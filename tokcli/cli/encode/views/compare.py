"""`encode --compare E1,E2,...`: the same text under several encodings, stacked and aligned, and what each costs."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice, repeat
from typing import NamedTuple

from tokcli.cli import streams
from tokcli.cli.encode.encode_options import EncodeRequest
from tokcli.cli.encode.views.whole_tokens import sees_whole, whole_tokens
from tokcli.cli.inputs.whole_input import read_all
from tokcli.cli.json_stream import JsonStream, text_member, text_of_name
from tokcli.cli.options import DEFAULT_ENCODING
from tokcli.cli.terminal import pager
from tokcli.cli.terminal.colours import is_for_people
from tokcli.engine.stream.spans import byte_spans
from tokcli.engine.tokens import Spans, pairs_of
from tokcli.errors import InputError
from tokcli.registry.catalog import CATALOG
from tokcli.registry.models.lookup import named_as
from tokcli.render.stacks.comparison import TSV_COLUMNS, EncodingTotal, stack_rows
from tokcli.render.tables import tsv
from tokcli.render.visible import visible

MAX_BYTES = 16 << 20  # of an input, which is held whole with the places of its tokens
TOGETHER = 4096  # tokens that are written as JSON at once


def write(request: EncodeRequest, names: str) -> None:
    """Write the stacked lines and the table under them; or a JSON object for each input."""
    sides = sides_of(request, names)
    with streams.Output(request.options.output, request.files_read) as output:
        if request.options.as_json:
            for source in request.texts:
                with streams.naming(source.shown):
                    write_json(sides, read(request, source), output)
        else:
            with pager.paged(output) as shown:
                for source in request.texts:
                    with streams.naming(source.shown):
                        show(request, sides, source, read(request, source), shown)
        output.flush()


def sides_of(request: EncodeRequest, names: str) -> list[EncodeRequest]:
    """Return a request for each encoding, already loaded, so that its errors are raised before any text is read."""
    chosen = [name.strip() for name in names.split(",")]
    if len(chosen) < 2 or not all(chosen):
        files = request.options.files
        joined = f"{chosen[0] or DEFAULT_ENCODING},{files[0] if files and files[0] in CATALOG else 'cl100k_base'}"
        raise InputError(
            "--compare takes at least two encodings or models", f"Join them by a comma: --compare {joined}"
        )
    wanted = request.options.allow_special
    sides: list[EncodeRequest] = []
    for name in chosen:
        options = request.options.replace(**named_as(name), allow_special=())
        encoding = EncodeRequest(options).encoding
        allowed = tuple(token for token in wanted if token in encoding.special_tokens_set)
        sides.append(EncodeRequest(options.replace(allow_special=allowed), encoding))
    known = {token for side in sides for token in side.options.allow_special}
    if missing := [token for token in wanted if token not in known]:
        raise InputError(f"none of {', '.join(chosen)} has a special token {missing[0]!r}")
    return sides


def read(request: EncodeRequest, source: streams.Input) -> bytes:
    """Return the bytes of an input, with U+FFFD for --errors replace; InputError above MAX_BYTES."""
    data = read_all(source, MAX_BYTES, "to compare token by token", "`tokcli count` counts the tokens of any file.")
    return data.decode("utf-8", "replace").encode() if request.options.errors == "replace" else data


class SideTokens(NamedTuple):
    """The ids of a text under one encoding, and their spans in its bytes, None where these are unknown."""

    name: str
    ids: Sequence[int]
    spans: Spans | None


def tokens_of(side: EncodeRequest, data: bytes) -> SideTokens:
    """Return the ids and spans of a text under the encoding of one side."""
    name, tokenizer = side.options.model or side.encoding.name, side.encoding.tokenizer
    if sees_whole(side):
        text, ids, spans = whole_tokens(side, [data] if data else [])
        return SideTokens(name, ids, None if spans is None else byte_spans(text.encode(), spans))
    every, places = array("I"), array("Q")
    for some in map(tokenizer.encode_part, tokenizer.read_parts(side.watched([data]), side.read_options)):
        every.frombytes(some.cast("B"))
        places += tokenizer.token_spans(some, places[-1] if places else 0, in_chars=False)
    return SideTokens(name, every, places)


def show(
    request: EncodeRequest, sides: list[EncodeRequest], source: streams.Input, data: bytes, output: pager.Screen
) -> None:
    """Show the lines of an input, and the table under them."""
    found = [tokens_of(side, data) for side in sides]
    for one in found:
        if one.spans is None:
            request.note(f"{one.name} changes this text and does not tell where its tokens are in it.")
    if len(request.inputs) > 1:
        output.write(f"==> {visible(source.shown)} <==\n".encode())
    tracks = [(one.name, one.spans) for one in found if one.spans is not None]
    totals = [EncodingTotal(one.name, len(one.ids), len(data), len(found[0].ids)) for one in found]
    if is_for_people(output, request.options.color):
        from tokcli.cli.encode.views.compare_on_screen import show_on_screen

        show_on_screen(request, data, tracks, totals, output)
        return
    for rows in stack_rows(data, tracks, None) if tracks else ():
        output.write(rows)
    output.write(b"\n" + "".join(f"{row}\n" for row in tsv(TSV_COLUMNS, totals)).encode())


def write_json(sides: list[EncodeRequest], data: bytes, output: streams.Output) -> None:
    """Write a JSON object: text (or bytes_hex), bytes, encodings; tokens have ids, and places in bytes or null."""
    stream, first = JsonStream(output), None
    with stream.object(**text_member(data), bytes=len(data)), stream.array("encodings"):
        for side in sides:
            found = tokens_of(side, data)
            count = len(found.ids)
            first = count if first is None else first
            with stream.object(encoding=text_of_name(found.name)):
                with stream.array("tokens"):
                    for some in json_tokens(found):
                        stream.values(some)
                stream.members(count=count, difference=count - first)


def json_tokens(found: SideTokens) -> Iterator[bytes]:
    """Yield the tokens as JSON objects, up to TOGETHER at a time with commas between them."""
    places: Iterable[tuple[int | str, int | str]]
    places = repeat(("null", "null")) if found.spans is None else pairs_of(found.spans)
    objects = (f'{{"id": {id}, "start": {a}, "end": {b}}}' for id, (a, b) in zip(found.ids, places, strict=False))
    while some := ", ".join(islice(objects, TOGETHER)):
        yield some.encode()
