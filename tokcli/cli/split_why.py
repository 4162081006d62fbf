"""`split --why POS`: every alternative tried at a byte of the text, and at the beginning of the piece that holds it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from tokcli.cli import records, screen, streams
from tokcli.cli.options import Request
from tokcli.cli.split_table import json_text, small_chunks
from tokcli.engine.places import Place, find_place
from tokcli.engine.pretokenizer_parts import described, single_pattern
from tokcli.errors import InputError, PatternError

if TYPE_CHECKING:
    from rich.text import Text

    from tokcli.engine.pattern_trace import Attempt, Trace


def write(request: Request, output: streams.Output) -> None:
    """Lines for people, the same in a pipe, or a JSON object."""
    if len(request.inputs) > 1:
        raise InputError("--why is of one text, and several were given", "Name one FILE.")
    with streams.naming(request.inputs[0].shown):
        place = _found(request)
        traces = _traces(request, place)
    if request.options["as_json"]:
        output.write(records.dump(_json(place, traces)).encode() + b"\n")
        return
    for line in _lines(request, place, traces):
        screen.show_hanging(output, request.options["color"], line)


def _found(request: Request) -> Place:
    encoding, chunks = request.encoding, small_chunks(request, request.inputs[0])
    return find_place(encoding, single_pattern(encoding), chunks, request.options["why"])


def _traces(request: Request, place: Place) -> list[Trace]:
    """At the beginning of the piece, and at the place itself where that is another one."""
    from tokcli.engine.pattern_trace import trace

    pattern = single_pattern(request.encoding)
    if pattern is None or place.special:
        return []
    wanted = [(place.piece_at, place.piece.offset)]
    if not place.no_text and place.at != place.piece_at:
        wanted.append((place.at, place.offset))
    traces = []
    for at, offset in wanted:
        try:
            traces.append(trace(pattern.pat_str, place.text, at, timeout=pattern.timeout))
        except PatternError as error:
            raise PatternError(f"{error.what.split(' at character')[0]} at byte {offset}", error.hint) from None
    return traces


def _lines(request: Request, place: Place, traces: list[Trace]) -> Iterator[Text]:
    from rich.text import Text

    from tokcli.render import split_why
    from tokcli.render.visible import visible

    yield from split_why.place_lines(place)
    if place.special:
        yield Text("It is a special token, cut out before the pattern is asked (--special text takes it as text).")
    elif not traces:
        yield Text(f"No single pattern cuts text for {visible(request.encoding.name)}:")
        yield from (Text(f"  {visible(line)}") for line in described(request.encoding))
    elif place.piece.alternative == "-" and not place.no_text:
        yield Text("Not the pattern alone cuts here: an added token stands beside it, or the pattern looks far back.")
    offsets = (place.piece.offset, place.offset)
    titles = ("where the piece begins", "where no piece begins: what would match if one did")
    for trace, offset, title in zip(traces, offsets, titles, strict=False):
        yield Text("")
        yield Text(f"at byte {offset}, {title}", "bold")
        yield split_why.around(place.text, trace.at, "  ")
        yield from split_why.trace_lines(trace, place.text, offset)


def _json(place: Place, traces: list[Trace]) -> dict[str, Any]:
    """Members: offset, line, column, piece, and in `tried` an object for each place with its alternatives."""
    piece = place.piece
    made_by = None if piece.alternative == "-" else piece.alternative
    return {
        "offset": place.offset,
        "line": place.line,
        "column": place.column,
        "piece": {"number": place.number, "offset": piece.offset, "alternative": made_by, **json_text(piece.data)},
        "tried": [
            {
                "offset": offset,
                "winner": trace.winner.name if trace.winner else None,
                "alternatives": [_json_attempt(attempt, place.text) for attempt in trace.attempts],
            }
            for trace, offset in zip(traces, (piece.offset, place.offset), strict=False)
        ],
    }


def _json_attempt(attempt: Attempt, text: str) -> dict[str, Any]:
    """`match` is null where there is none; then `failed` is the part that stopped it, `reached` what came before."""
    reached = text[attempt.at : attempt.failed_at] if attempt.end is None and not attempt.refused else None
    return {
        "name": attempt.name,
        "pattern": attempt.source,
        "match": None if attempt.end is None else text[attempt.at : attempt.end],
        "without_look_around": None if attempt.loose_end is None else text[attempt.at : attempt.loose_end],
        "parts": [{"pattern": part.source, "text": text[part.start : part.end]} for part in attempt.parts],
        "failed": attempt.failed or None,
        "reached": reached,
        "not_tried": attempt.refused or None,
    }
