"""`split --why POS`: every alternative tried at a byte of the text, and at the beginning of the piece that holds it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from rich.text import Text

from tokcli.analysis.pattern.trace import Attempt, Trace, trace
from tokcli.analysis.pieces.described import described
from tokcli.analysis.pieces.places import Place, find_place
from tokcli.cli import streams
from tokcli.cli.json_stream import line, text_member
from tokcli.cli.split.split_options import SplitRequest
from tokcli.cli.terminal import screen
from tokcli.errors import InputError, PatternError
from tokcli.render.split.excerpts import text_around
from tokcli.render.split.why import place_lines, trace_lines
from tokcli.render.visible import visible


def write(request: SplitRequest, output: streams.Output) -> None:
    """Write lines for people, the same to a pipe, or a JSON object."""
    if len(request.inputs) > 1:
        raise InputError("--why looks at one text, but several were given", "Name one FILE.")
    with streams.naming(request.inputs[0].shown):
        place = _found(request)
        traces = _traces(request, place)
    if request.options.as_json:
        output.write(line(_json(place, traces)))
        return
    for row in _lines(request, place, traces):
        screen.show_hanging(output, request.options.color, row)


def _found(request: SplitRequest) -> Place:
    encoding, chunks = request.encoding, request.small_chunks(request.inputs[0])
    return find_place(encoding, encoding.tokenizer.pretokenizer, chunks, request.options.why or 0)


def _traces(request: SplitRequest, place: Place) -> list[Trace]:
    """Return traces of the pattern at the beginning of the piece and, if POS is another place, at POS."""
    pattern = request.encoding.tokenizer.pretokenizer
    if pattern is None or place.special:
        return []
    wanted = [(place.piece_at, place.piece.offset)]
    if not place.no_text and place.at != place.piece_at:
        wanted.append((place.at, place.offset))
    traces = []
    for at, offset in wanted:
        try:
            traces.append(trace(pattern.pat_str, place.text, at))
        except PatternError as error:
            error.offset, error.unit = offset, "byte"
            raise
    return traces


def _lines(request: SplitRequest, place: Place, traces: list[Trace]) -> Iterator[Text]:
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
        yield from trace_lines(tried, place.text, offset)


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
