"""`split --why TEXT`: where a text is in the input, and where the pieces begin that it is cut into there."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from typing import NamedTuple

from tokcli.cli import streams
from tokcli.cli.inputs.whole_input import read_all
from tokcli.engine.stream.chunks import MAX_PIECE_BYTES
from tokcli.errors import MAX_QUOTED, InputError
from tokcli.render.visible import unescape

MARK = "text:"  # before a text that could be taken for a byte
MOST_OFFSETS = 1000  # of occurrences in JSON
LISTED = 8  # occurrences that a line for people names
MOST_PIECES = 16  # that a text is in, and which are explained


class Occurrences(NamedTuple):
    """The occurrences of a text: how many there are, and the first byte of each of the first MOST_OFFSETS."""

    text: bytes
    number: int
    offsets: list[int]

    @property
    def title(self) -> str:
        """Where the text is, as a phrase for people: `at byte 0, the first of 3 (others at bytes 17, 40)`."""
        first, *others = self.offsets
        if self.number == 1:
            return f"at byte {first}"
        dots = ", ..." if self.number > LISTED + 1 else ""
        listed = ", ".join(map(str, others[:LISTED]))
        return f"at byte {first}, the first of {self.number:,} (others at byte{'s' * (self.number > 2)} {listed}{dots})"


def byte_asked(given: str) -> int | None:
    """Return the byte that --why names by its number; None where it names a text.

    >>> byte_asked("42"), byte_asked("text:42"), byte_asked("don't")
    (42, None, None)
    """
    return int(given) if given.isascii() and given.isdecimal() else None


def read_for(source: streams.Input) -> streams.Input:
    """Return an input with its bytes, so that it can be read again."""
    data = read_all(source, MAX_PIECE_BYTES, "to look for a text in", "Name the byte instead, with --why POS.")
    return streams.Input(name=source.name, data=data)


def occurrences(data: bytes, given: str) -> Occurrences:
    r"""Return where a text is, as it was typed or else with escapes (\n, \x00); InputError where it is not."""
    text = given.removeprefix(MARK)
    if not text:
        raise InputError("--why: nothing to look for", "Give the number of a byte, or a text.")
    needle = os.fsencode(text)
    offsets = list(_offsets(data, needle))
    if not offsets and "\\" in text:
        with suppress(InputError):  # it is no escape
            needle = unescape(text)
            offsets = list(_offsets(data, needle))
    if not offsets:
        raise InputError(f"no {text[:MAX_QUOTED]!r} in the text", _other_case(data, text))
    return Occurrences(needle, len(offsets), offsets[:MOST_OFFSETS])


def _offsets(data: bytes, needle: bytes) -> Iterator[int]:
    at = data.find(needle)
    while at >= 0:
        yield at
        at = data.find(needle, at + len(needle))


def _other_case(data: bytes, text: str) -> str:
    """Return a hint if a text that differs in the case of ASCII letters only is there; else ""."""
    needle = os.fsencode(text)
    at = data.lower().find(needle.lower())
    found = data[at : at + len(needle)].decode("utf-8", "replace")
    return f"Did you mean {found[:MAX_QUOTED]!r}, at byte {at}?" if at >= 0 else ""
