"""Explains a place of a text: what every alternative of the pattern matches there, and why the first of them wins."""

from __future__ import annotations

from collections.abc import Iterator

from rich.text import Text

from tokcli.analysis.pattern.trace import Attempt, Trace
from tokcli.analysis.pieces.places import Place
from tokcli.render.colours import style_of
from tokcli.render.numbers import counted
from tokcli.render.split.excerpts import describe_character, quoted, shorten, size_of, text_around
from tokcli.render.tokens import folded
from tokcli.render.visible import visible, visible_bytes

LEAST_PATTERN = 8  # screen cells of a pattern in a line


def place_lines(place: Place) -> Iterator[Text]:
    """Yield lines about the character at a place, the text around it, and the piece that holds it."""
    what = f"byte {place.asked}"
    if place.no_text:
        yield Text(f"{what}: not UTF-8, and so part of the piece before it")
    else:
        char = describe_character(place.text[place.at])
        inside = f", inside the character at byte {place.offset}" if place.asked != place.offset else ""
        yield Text(f"{what}{inside}: {char}, line {place.line}, column {place.column}")
    yield text_around(place.text, place.at, "  ")
    piece = place.piece
    first, last = piece.offset, piece.offset + len(piece.data) - 1
    line = Text(f"in piece #{place.number}: ")
    line.append(shorten(visible_bytes(piece.data, spaces=True)), style_of(piece.alternative))
    line.append(f", byte {first}" if first == last else f", bytes {first} to {last}")
    if piece.alternative != "-":
        line.append(", matched by ")
        line.append(piece.alternative, style_of(piece.alternative))
    yield line


def trace_lines(trace: Trace, text: str, offset: int, width: int | None = None) -> Iterator[Text]:
    """Yield lines about each alternative at a place: its match or what stopped it; and last, why the winner won.

    `offset` is the place in the input, in bytes. On a screen of some `width`, a long alternative takes several lines.
    """
    won = trace.winner
    wide = max((len(attempt.name) for attempt in trace.attempts), default=2)
    indent = wide + 4
    for attempt in trace.attempts:
        style, source = style_of(attempt.name), visible(attempt.source)
        mark, blank = "▶ " if attempt is won else "  ", " " * (indent - 2 - len(attempt.name))
        for at, part in enumerate([source] if width is None else folded(source, max(width - indent, LEAST_PATTERN))):
            label = (" " * indent,) if at else (mark, (attempt.name, style), blank)
            yield Text.assemble(*label, (part, style), no_wrap=True)
        for said in _outcome(attempt, won, text, offset):
            yield Text(" " * indent).append_text(said)
    yield _verdict(trace, text)


def _outcome(attempt: Attempt, won: Attempt | None, text: str, offset: int) -> Iterator[Text]:
    """Yield what an alternative matched, or where it stopped."""
    if attempt.not_tried:
        yield Text(f"not tried: {attempt.not_tried}")
    elif attempt.end is None:
        yield from _failure(attempt, text, offset)
    else:
        yield from _match(attempt, attempt.end, attempt is won, text)


def _match(attempt: Attempt, end: int, is_won: bool, text: str) -> Iterator[Text]:
    """Yield the text that an alternative matched, what each of its items took, and what look-around made it give up."""
    taken = text[attempt.at : end]
    shown = shorten(visible(taken, spaces=True)), style_of(attempt.name)
    after = f", {size_of(taken)}" + ("" if is_won else ", but comes after the winner")
    yield Text.assemble("matches " if is_won else "would match ", shown, after)
    items = [item for item in attempt.items if item.source not in attempt.lookarounds]
    if len(items) > 1:
        yield Text("; ".join(_took(item.source, text[item.start : item.end]) for item in items))
    free_end = attempt.end_without_lookarounds
    if free_end is not None and free_end > end:
        unbound = text[attempt.at : free_end]
        follows = f"{describe_character(text[free_end])} follows" if free_end < len(text) else "the text ends there"
        yield Text(
            f"without {_lookarounds(attempt)} it would take {quoted(unbound)}, {size_of(unbound)}; "
            f"{follows}, so it gives back {quoted(text[end:free_end])}"
        )


def _failure(attempt: Attempt, text: str, offset: int) -> Iterator[Text]:
    """Yield what stopped an alternative, and what it had taken before."""
    at = attempt.failed_at
    failed = visible(attempt.failed, spaces=True)
    there = describe_character(text[at]) if at < len(text) else "the end of the text"
    taken = [item for item in attempt.items if item.end > item.start]
    if not taken:
        yield Text(f"no match: {failed} fails at once ({there})")
    else:
        took = ", ".join(_took(item.source, text[item.start : item.end]) for item in taken)
        byte = offset + len(text[attempt.at : at].encode())
        yield Text(f"no match: {took}; then {failed} fails at byte {byte} ({there})")
    if attempt.end_without_lookarounds is not None:
        unbound = text[attempt.at : attempt.end_without_lookarounds]
        yield Text(f"without {_lookarounds(attempt)} it would take {quoted(unbound)}")


def _verdict(trace: Trace, text: str) -> Text:
    """Return the last line: which alternative wins, and why."""
    won = trace.winner
    if won is None:
        return Text("No alternative matches here: the pattern leaves this text out.")
    matching = sum(attempt.end is not None for attempt in trace.attempts)
    if won.end == won.at:
        why = " wins and matches the empty string: the text cannot be cut here."
    elif matching == 1:
        why = " wins: no other alternative matches here."
    else:
        why = f" wins: of the {counted(matching, 'alternative')} that match here, it comes first in the pattern."
        if trace.longer:
            longest = max(trace.longer, key=lambda attempt: attempt.end or 0)
            why += f" {longest.name} would take {size_of(text[longest.at : longest.end])}, but length does not count."
    return Text.assemble((won.name, style_of(won.name)), why)


def _lookarounds(attempt: Attempt) -> str:
    return " ".join(map(visible, attempt.lookarounds))


def _took(source: str, taken: str) -> str:
    return f"{visible(source, spaces=True)} takes {quoted(taken) if taken else 'nothing'}"
