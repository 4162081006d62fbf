"""Says in words how every alternative of a pattern fared at one place of a text: lines for people."""

from __future__ import annotations

from collections.abc import Iterator

from rich.text import Text

from tokcli.engine.pattern_trace import Attempt, Trace
from tokcli.engine.places import Place
from tokcli.render.split_table import style_of
from tokcli.render.visible import visible, visible_bytes

AROUND = 24  # characters of the text that are shown on each side of a place
LONGEST = 40  # characters of a match that are shown
_DIM = "dim"


def place_lines(place: Place) -> Iterator[Text]:
    """Which character it is, what stands around it, and the piece that holds it."""
    what = f"byte {place.asked}"
    if place.no_text:
        yield Text(f"{what}: not UTF-8, and so part of the piece before it")
    else:
        char = place.text[place.at]
        inside = f", inside the character at byte {place.offset}" if place.asked != place.offset else ""
        yield Text(f"{what}{inside}: {describe(char)}, line {place.line}, column {place.column}")
    yield around(place.text, place.at, "  ")
    piece = place.piece
    line = Text(f"in piece #{place.number}: ")
    line.append(shorten(visible_bytes(piece.data, spaces=True)), style_of(piece.alternative))
    line.append(f", bytes {piece.offset} to {piece.offset + len(piece.data) - 1}")
    if piece.alternative != "-":
        line.append(", made by ")
        line.append(piece.alternative, style_of(piece.alternative))
    yield line


def around(text: str, at: int, indent: str = "") -> Text:
    """The text on both sides of a place, with a mark before it."""
    left, right = text[max(0, at - AROUND) : at], text[at : at + AROUND]
    line = Text(indent + "…" * (at > AROUND) + visible(left, spaces=True))
    line.append("▶", "bold")
    line.append(visible(right, spaces=True) + "…" * (len(text) > at + AROUND))
    return line


def trace_lines(trace: Trace, text: str, offset: int) -> Iterator[Text]:
    """Each alternative with its match or what stopped it, and why the winner won; `offset` is the place's, in bytes."""
    won = trace.winner
    width = max((len(attempt.name) for attempt in trace.attempts), default=2)
    for attempt in trace.attempts:
        line = Text("▶ " if attempt is won else "  ", no_wrap=True)  # the terminal itself breaks a long pattern
        line.append(attempt.name, style_of(attempt.name))
        line.append(" " * (width - len(attempt.name)) + "  ")
        line.append(visible(attempt.source), style_of(attempt.name))
        yield line
        for said in _fate(attempt, won, text, offset):
            yield Text(" " * (width + 4)).append_text(said)
    yield _verdict(trace, text)


def _fate(attempt: Attempt, won: Attempt | None, text: str, offset: int) -> Iterator[Text]:
    """What an alternative matched, or where it stopped."""
    if attempt.refused:
        yield Text(f"not tried: {attempt.refused}")
        return
    if attempt.end is None:
        yield from _miss(attempt, text, offset)
        return
    line = Text("matches " if attempt is won else "would match ")
    line.append(shorten(visible(text[attempt.at : attempt.end], spaces=True)), style_of(attempt.name))
    line.append(f", {_size(text, attempt.at, attempt.end)}")
    if attempt is not won:
        line.append(", but stands behind the winner")
    yield line
    shown = [part for part in attempt.parts if part.source not in attempt.looks]
    if len(shown) > 1:
        yield Text("; ".join(_took(part.source, text[part.start : part.end]) for part in shown), _DIM)
    if attempt.loose_end is not None and attempt.loose_end > attempt.end:
        yield _given_back(attempt, text)


def _given_back(attempt: Attempt, text: str) -> Text:
    """What look-around took away from a match."""
    end, loose = attempt.end or 0, attempt.loose_end or 0
    looks = " ".join(visible(look) for look in attempt.looks)
    line = Text(
        f"without {looks} it would take {_quoted(text[attempt.at : loose])}, {_size(text, attempt.at, loose)}; "
    )
    line.append(f"there {_standing(text, loose)}, so it gives {_quoted(text[end:loose])} back")
    return line


def _miss(attempt: Attempt, text: str, offset: int) -> Iterator[Text]:
    """What stopped an alternative, and how far it had come."""
    place = offset + len(text[attempt.at : attempt.failed_at].encode())
    failed = visible(attempt.failed, spaces=True)
    taken = [part for part in attempt.parts if part.end > part.start]
    if not taken:
        yield Text(f"no match: {failed} has to match first, and {_standing(text, attempt.failed_at)} there")
    else:
        took = "; ".join(_took(part.source, text[part.start : part.end]) for part in taken)
        yield Text(
            f"no match: {took}; then {failed} does not hold at byte {place}, where {_standing(text, attempt.failed_at)}"
        )
    if attempt.loose_end is not None:
        looks = " ".join(visible(look) for look in attempt.looks)
        yield Text(f"without {looks} it would take {_quoted(text[attempt.at : attempt.loose_end])}", _DIM)


def _verdict(trace: Trace, text: str) -> Text:
    """Why the winner won."""
    won = trace.winner
    if won is None:
        return Text("Nothing matches here: the pattern leaves this text out.")
    line = Text()
    line.append(won.name, style_of(won.name))
    if won.end == won.at:
        line.append(" wins and matches the empty string: the text cannot be cut here.")
        return line
    others = [a for a in trace.attempts if a.end is not None and a is not won]
    if not others:
        line.append(" wins: no other alternative matches here.")
        return line
    line.append(f" wins: the first of {len(others) + 1} alternatives that match here, in the order of the pattern")
    if trace.longer:
        longest = max(trace.longer, key=lambda a: a.end or 0)
        line.append(
            f". {longest.name} would take {_size(text, longest.at, longest.end or 0)}, but length does not count"
        )
    line.append(".")
    return line


def _took(source: str, taken: str) -> str:
    return f"{visible(source, spaces=True)} takes {_quoted(taken) if taken else 'nothing'}"


def _standing(text: str, at: int) -> str:
    return f"{describe(text[at])} stands" if at < len(text) else "the text ends"


def _quoted(text: str) -> str:
    return f"“{shorten(visible(text, spaces=True))}”"


def _size(text: str, start: int, end: int) -> str:
    chars, size = end - start, len(text[start:end].encode())
    return f"{chars} character{'s' * (chars != 1)}" + (f" ({size} bytes)" if size != chars else "")


def shorten(text: str) -> str:
    """A text, its middle left out where it is long."""
    return text if len(text) <= LONGEST else f"{text[: LONGEST // 2]}…{text[-LONGEST // 4 :]}"


def describe(char: str) -> str:
    """A character, visible, its code point and its general category.

    >>> describe(" "), describe("é")
    ('· U+0020 Zs', 'é U+00E9 Ll')
    """
    from tokcli.engine.pattern_sets import category

    shown = visible(char, spaces=True)
    code = f"U+{ord(char):04X}"
    return f"{shown} {code} {category(char)}" if code not in shown else f"{code} {category(char)}"
