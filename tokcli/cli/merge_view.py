"""`encode --visualise=merges`: every merge of each piece, as a table, step by step, as JSON, or as lines for a pipe."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from tokcli.cli import pager, records, screen, streams
from tokcli.cli.options import Request
from tokcli.cli.split_table import json_text, small_chunks
from tokcli.engine.piece_steps import PieceSteps, kind_of, read_steps
from tokcli.engine.token_facts import scores_of
from tokcli.errors import InputError

if TYPE_CHECKING:
    from tokcli.engine.encoding import Encoding

_QUIT = frozenset(b"qQ\x04")


def write(request: Request, output: streams.Output) -> None:
    """The pieces of the inputs, in the form that fits where they go."""
    kind_of(request.encoding)
    if request.options["as_json"]:
        for source in request.inputs:
            write_json(pieces(request, source), output)
    elif request.options.get("step"):
        if not output.is_terminal:
            raise InputError("--step waits for keys: only on a terminal", "Leave it out, and all steps come at once.")
        with reading_keys() as key:
            show(request, output, key)
    elif output.is_terminal or screen.wants_color(output, request.options["color"]):
        with pager.paged(output) as shown:
            show(request, shown, None)
    else:
        for source in request.inputs:
            for line in lines(request, source):
                output.write(f"{line}\n".encode())


def pieces(request: Request, source: streams.Input) -> Iterator[PieceSteps]:
    """The pieces of an input, special tokens left out."""
    scores = score_finder(request.encoding)
    with streams.naming(source.shown):
        for chunk in small_chunks(request, source):
            if not chunk.special:
                yield from read_steps(request.encoding, chunk, scores)


def lines(request: Request, source: streams.Input) -> Iterator[str]:
    """The lines for a pipe; of ranks they are as many as come, and none is held."""
    from tokcli.render.boundaries import plain_merge_steps
    from tokcli.render.merge_table import plain_lines

    if request.encoding.is_pipeline:
        for made in pieces(request, source):
            yield from plain_lines(made)
        return
    with streams.naming(source.shown):
        for chunk in request.chunks(source):
            for piece in [] if chunk.special else request.encoding.split_chunk(chunk):
                yield from plain_merge_steps(request.encoding.merge_steps(piece))


def score_finder(encoding: Encoding) -> Callable[[int], float]:
    """The scores of tokens, by id; 0 where there are none."""
    scores = scores_of(encoding) if kind_of(encoding) == "path" else ()
    return lambda number: scores[number] if number < len(scores) else 0.0


def show(request: Request, output: streams.Output | pager.Screen, key: Callable[[], bool] | None) -> None:
    """A table for each piece; with `key`, after each step until it says that it is enough."""
    from rich.text import Text

    from tokcli.render.merge_table import MergeTable, heading

    color = request.options["color"]
    marks = not screen.wants_color(output, color)
    if key is not None:
        screen.show(output, color, Text("any key: the next step; q: enough", "dim"), wrap=True)
    number = 0
    for source in request.inputs:
        for made in pieces(request, source):
            number += 1
            screen.show(output, color, heading(made, number), wrap=True)
            for at, row in enumerate(MergeTable(made, screen.width(), marks=marks).rows()):
                screen.show(output, color, row, wrap=True)
                output.flush()
                if key is not None and at and not key():
                    return
            screen.show(output, color, Text(""))


@contextmanager
def reading_keys() -> Iterator[Callable[[], bool]]:
    """Gives a function that waits for a key and says whether to go on; the terminal is as it was afterwards.

    That holds for SIGTERM, too, which ends the program as if nothing had been done about it.
    Keys come from standard input where it is the terminal, else (it is the text) from the one that the process has.
    """
    try:
        import termios
        import tty
    except ImportError:  # Windows
        raise InputError("--step needs a terminal of the POSIX kind") from None
    own = None if sys.stdin is not None and sys.stdin.isatty() else _open_terminal()
    terminal = sys.stdin.fileno() if own is None else own
    before = termios.tcgetattr(terminal)

    def key() -> bool:
        pressed = os.read(terminal, 64)
        return bool(pressed) and pressed[0] not in _QUIT

    def leave(number: int, _: object) -> None:
        termios.tcsetattr(terminal, termios.TCSANOW, before)
        signal.signal(number, signal.SIG_DFL)
        signal.raise_signal(number)

    handler = signal.signal(signal.SIGTERM, leave)
    try:
        tty.setcbreak(terminal)
        yield key
    finally:
        termios.tcsetattr(terminal, termios.TCSADRAIN, before)
        signal.signal(signal.SIGTERM, handler)
        if own is not None:
            os.close(own)


def _open_terminal() -> int:
    try:
        return os.open("/dev/tty", os.O_RDWR | os.O_NOCTTY)
    except OSError:
        raise InputError("--step waits for keys, and there is no terminal to press them on") from None


def write_json(found: Iterator[PieceSteps], output: streams.Output) -> None:
    """An object for an input, whose member `pieces` has one for each piece."""
    output.write(b'{"pieces": [')
    for number, made in enumerate(found):
        output.write((", " if number else "").encode() + records.dump(json_piece(made)).encode())
    output.write(b"]}\n")


def json_piece(made: PieceSteps) -> dict[str, Any]:
    """Members: text (or bytes_hex), the parts it starts from, steps, ids; scores of a best path."""
    from tokcli.render.merge_table import pair_of

    steps = [
        {"rank": step.rank, "pair": _texts(pair_of(made.steps, number)), "parts": _texts(step.parts)}
        for number, step in enumerate(made.steps)
        if step.position is not None
    ]
    start = _texts(made.steps[0].parts) if made.steps else []
    found = {**json_text(made.piece), "at_once": made.at_once, "start": start, "steps": steps, "ids": list(made.ids)}
    return {**found, "scores": list(made.scores)} if made.scores else found


def _texts(parts: tuple[bytes, ...]) -> list[str | dict[str, str]]:
    """Each part as text, or as an object with `bytes_hex` where it is no whole character."""
    return [found["text"] if "text" in (found := json_text(part)) else found for part in parts]
