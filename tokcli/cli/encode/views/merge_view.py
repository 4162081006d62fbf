"""`encode --visualise=merges`: every merge of each piece, as a table, step by step, as JSON, or as lines for a pipe."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from rich.text import Text

from tokcli.analysis.pieces.merge_steps import MAX_PIECE, PieceSteps, read_steps
from tokcli.analysis.pieces.other_ways import TokenCovers
from tokcli.cli import streams
from tokcli.cli.encode.encode_options import EncodeRequest
from tokcli.cli.json_stream import JsonStream, text_member
from tokcli.cli.terminal import pager, screen
from tokcli.cli.terminal.colours import is_for_people, wants_color
from tokcli.cli.terminal.keys import reading_keys
from tokcli.errors import InputError
from tokcli.render.merges import (
    MergeTable,
    heading,
    other_way,
    pair_of,
    plain_merge_steps,
    plain_other_ways,
    plain_piece_steps,
)

if TYPE_CHECKING:
    from tokcli.engine.encoding import Encoding


def write(request: EncodeRequest, output: streams.Output) -> None:
    """Write the merges of all pieces: as JSON, step by step, as tables for people, or as lines for a pipe."""
    if request.options.as_json:
        for source in request.texts:
            write_json(pieces(request, source), output)
    elif request.options.step:
        if not output.is_terminal:
            raise InputError("--step waits for keys, which only a terminal has", "Leave --step out to see all steps.")
        with reading_keys() as key:
            show(request, output, key)
    elif is_for_people(output, request.options.color):
        with pager.paged(output) as shown:
            show(request, shown, None)
    else:
        for source in request.texts:
            for line in lines(request, source):
                output.write(f"{line}\n".encode())


def pieces(request: EncodeRequest, source: streams.Input) -> Iterator[PieceSteps]:
    """Yield the pieces of an input with their merge steps, without special tokens."""
    scores, covers = score_finder(request.encoding), TokenCovers(request.encoding)
    with streams.naming(source.shown):
        for chunk in request.small_chunks(source):
            if not chunk.special:
                yield from read_steps(request.encoding, chunk, scores, covers)


def lines(request: EncodeRequest, source: streams.Input) -> Iterator[str]:
    """Yield the lines for a pipe; with an encoding of ranks, one step at a time, because a piece may have many."""
    if request.encoding.tokenizer.sees_whole_texts:
        for made in pieces(request, source):
            yield from plain_piece_steps(made)
        return
    tokenizer, covers = request.encoding.tokenizer, TokenCovers(request.encoding)
    with streams.naming(source.shown):
        for chunk in request.chunks(source):
            for piece in [] if chunk.special else tokenizer.split_chunk(chunk):
                yield from plain_merge_steps(tokenizer.merge_steps(piece) or ())
                if len(piece) <= MAX_PIECE:
                    yield from plain_other_ways(covers.beside(piece, tokenizer.encode_piece(piece)))


def score_finder(encoding: Encoding) -> Callable[[int], float]:
    """Return a function from ids to the scores of tokens, 0 for a token without one."""
    scores = encoding.tokenizer.scores() if encoding.tokenizer.model_kind == "path" else ()
    return lambda id: scores[id] if id < len(scores) else 0.0


def show(request: EncodeRequest, output: streams.Output | pager.Screen, key: Callable[[], bool] | None) -> None:
    """Show a table for each piece; with `key`, call it after each step to wait for a key, until it returns False."""
    color = request.options.color
    marks = not wants_color(output, color)
    if key is not None:
        screen.show(output, color, Text("Press any key for the next step, q to quit."), wrap=True)
    number = 0
    for source in request.texts:
        for made in pieces(request, source):
            number += 1
            screen.show(output, color, heading(made, number), wrap=True)
            for at, row in enumerate(MergeTable(made, screen.width(output), marks=marks).rows()):
                screen.show(output, color, row, wrap=True)
                output.flush()
                if key is not None and at and not key():
                    return
            for way in made.other_ways:
                screen.show(output, color, other_way(way, screen.width(output)), wrap=True)
            screen.show(output, color, Text(""))


def write_json(found: Iterator[PieceSteps], output: streams.Output) -> None:
    """Write a JSON object for an input, whose member `pieces` has an object for each piece."""
    stream = JsonStream(output)
    with stream.object(), stream.array("pieces"):
        for made in found:
            stream.value(json_piece(made))


def json_piece(made: PieceSteps) -> dict[str, Any]:
    """Return a piece as JSON: text (or bytes_hex), the parts it starts from, steps and ids; scores, if it has any.

    Members `greedy` and `fewest` are the other ways to cover it with tokens, where there are such.
    """
    steps = [
        {"rank": step.rank, "pair": _texts(pair_of(made.steps, number)), "parts": _texts(step.parts)}
        for number, step in enumerate(made.steps)
        if step.position is not None
    ]
    start = _texts(made.steps[0].parts) if made.steps else []
    found = {**text_member(made.piece), "at_once": made.at_once, "start": start, "steps": steps, "ids": list(made.ids)}
    found |= {way.name: {"parts": _texts(way.parts), "ids": list(way.ids)} for way in made.other_ways}
    return {**found, "scores": list(made.scores)} if made.scores else found


def _texts(parts: tuple[bytes, ...]) -> list[str | dict[str, str]]:
    """Return each part as text, or as an object with `bytes_hex` where it is not UTF-8."""
    return [found["text"] if "text" in (found := text_member(part)) else found for part in parts]
