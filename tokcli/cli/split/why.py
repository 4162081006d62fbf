"""`split --why POS`: every alternative tried at a byte of the text, and at the beginning of the piece that holds it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from rich.text import Text

from tokcli.analysis.pattern.trace import Attempt, Trace, trace
from tokcli.analysis.pieces.described import described
from tokcli.analysis.pieces.places import Place, find_place
from tokcli.cli import streams
from tokcli.cli.json_stream import line, text_member
from tokcli.cli.split.split_options import SplitRequest
from tokcli.cli.split.why_text import MARK, MOST_PIECES, Occurrences, byte_asked, occurrences, read_for
from tokcli.cli.terminal import pager, screen
from tokcli.engine.stream.chunks import Chunk
from tokcli.errors import InputError, PatternError
from tokcli.render.numbers import counted
from tokcli.render.split.excerpts import shorten, text_around
from tokcli.render.split.why import place_lines, trace_lines
from tokcli.render.visible import BOUNDARY, visible, visible_bytes


def write(request: SplitRequest, output: streams.Output) -> None:
    """Write lines for people, the same to a pipe, or a JSON object."""
    if len(request.inputs) > 1:
        raise InputError("--why looks at one text, but several were given", "Name one FILE.")
    asked = request.options.why or ""
    (source,) = request.inputs
    with streams.naming(source.shown):
        if (byte := byte_asked(asked)) is None:
            source = read_for(source)
            found = occurrences(source.data or b"", asked)
            places = list(_places(request, source, found))
        else:
            found, places = None, [_place(request, request.small_chunks(source), byte, asked)]
        explained = [(place, _traces(request, place, is_byte=found is None)) for place in places]
    if request.options.as_json:
        objects = [_json(place, traces) for place, traces in explained]
        output.write(line(objects[0] if found is None else _json_of_text(found, objects)))
        return
    width = screen.width(output) if output.is_terminal else None
    with pager.paged(output, wanted=not request.options.watch) as shown:
        for row in _rows(request, found, explained, width):
            screen.show_hanging(shown, request.options.color, row)


def _rows(
    request: SplitRequest, found: Occurrences | None, explained: list[tuple[Place, list[Trace]]], width: int | None
) -> Iterator[Text]:
    """Yield the lines about each place; first, if a text was looked for, where it is, and in which pieces."""
    if found is not None:
        pieces = BOUNDARY.join(shorten(visible_bytes(place.piece.data, spaces=True)) for place, _ in explained)
        text = f"“{shorten(visible_bytes(found.text, spaces=True))}” {found.title}"
        yield Text(f"{text}, in {counted(len(explained), 'piece')}: {pieces}", "bold")
    for number, (place, traces) in enumerate(explained):
        yield from [Text("")] if number or found else []
        yield from _lines(request, place, traces, width)


def _place(request: SplitRequest, chunks: Iterable[Chunk], byte: int, asked: str) -> Place:
    encoding = request.encoding
    try:
        return find_place(encoding, encoding.tokenizer.pretokenizer, chunks, byte)
    except InputError as error:
        if error.what.startswith("byte "):  # past the end
            error.hint = f"{error.hint} To look for a text, type --why {MARK}{asked}."
        raise


def _places(request: SplitRequest, source: streams.Input, found: Occurrences) -> Iterator[Place]:
    """Yield the place where a text first is, and where each other piece begins that it is in."""
    at, end = found.offsets[0], found.offsets[0] + len(found.text)
    chunks, tokenizer = request.small_chunks(source), request.encoding.tokenizer
    for _ in range(MOST_PIECES):
        place = _place(request, chunks, at, "")
        yield place
        at = place.piece.offset + len(place.piece.data)
        if at >= end:
            return
        chunks = tokenizer.read_chunks(source.blocks(), request.read_options)


def _json_of_text(found: Occurrences, places: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the members text (or bytes_hex), occurrences (how many), offsets (of the first ones), and places."""
    return {**text_member(found.text), "occurrences": found.number, "offsets": found.offsets, "places": places}


def _traces(request: SplitRequest, place: Place, *, is_byte: bool) -> list[Trace]:
    """Return traces of the pattern at the beginning of the piece and, if `is_byte` and POS is another place, at POS."""
    pattern = request.encoding.tokenizer.pretokenizer
    if pattern is None or place.special:
        return []
    wanted = [(place.piece_at, place.piece.offset)]
    if is_byte and not place.no_text and place.at != place.piece_at:
        wanted.append((place.at, place.offset))
    traces = []
    for at, offset in wanted:
        try:
            traces.append(trace(pattern.pat_str, place.text, at))
        except PatternError as error:
            error.offset, error.unit = offset, "byte"
            raise
    return traces


def _lines(request: SplitRequest, place: Place, traces: list[Trace], width: int | None) -> Iterator[Text]:
    yield from place_lines(place)
    if place.special:
        yield Text("This is a special token, cut out before the pattern is applied (--special text takes it as text).")
    elif not traces:
        yield Text(f"No single pattern cuts text for {visible(request.encoding.name)}:")
        yield from (Text(f"  {visible(name)}") for name in described(request.encoding))
    elif place.piece.alternative == "-" and not place.no_text:
        why = "an added token or bytes that are not UTF-8 are next to it, or the pattern looks far back"
        yield Text(f"The pattern alone does not cut here: {why}.")
    offsets = (place.piece.offset, place.offset)
    titles = ("where the piece begins", "where no piece begins: what would match if one did")
    for tried, offset, title in zip(traces, offsets, titles, strict=False):
        yield Text("")
        yield Text(f"at byte {offset}, {title}", "bold")
        yield text_around(place.text, tried.at, "  ")
        yield from trace_lines(tried, place.text, offset, width)


def _json(place: Place, traces: list[Trace]) -> dict[str, Any]:
    """Return the members offset, line, column, piece, and `tried`: for each place, an object with its alternatives."""
    piece = place.piece
    made_by = None if piece.alternative == "-" else piece.alternative
    return {
        "offset": place.offset,
        "line": place.line,
        "column": place.column,
        "piece": {"number": place.number, "offset": piece.offset, "alternative": made_by, **text_member(piece.data)},
        "tried": [
            {
                "offset": offset,
                "winner": tried.winner.name if tried.winner else None,
                "alternatives": [_json_attempt(attempt, place.text) for attempt in tried.attempts],
            }
            for tried, offset in zip(traces, (piece.offset, place.offset), strict=False)
        ],
    }


def _json_attempt(attempt: Attempt, text: str) -> dict[str, Any]:
    """Return an attempt as JSON; one that failed has `match` null, the part that `failed`, and the text `reached`."""
    reached = text[attempt.at : attempt.failed_at] if attempt.end is None and not attempt.not_tried else None
    unbound = attempt.end_without_lookarounds
    return {
        "name": attempt.name,
        "pattern": attempt.source,
        "match": None if attempt.end is None else text[attempt.at : attempt.end],
        "without_look_around": None if unbound is None else text[attempt.at : unbound],
        "parts": [{"pattern": item.source, "text": text[item.start : item.end]} for item in attempt.items],
        "failed": attempt.failed or None,
        "reached": reached,
        "not_tried": attempt.not_tried or None,
    }
