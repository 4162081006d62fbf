"""Where a text may end without splitting a character, a line, a sentence or a paragraph: byte offsets in UTF-8."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Literal

from tokcli.engine.base.arguments import MAX_CHARACTER

Boundary = Literal["token", "char", "piece", "line", "sentence", "paragraph"]

# The boundaries tried, in this order, before a passage ends after any token: a finer one where a coarser is too far.
TRIED: dict[Boundary, tuple[Boundary, ...]] = {
    "token": (),
    "char": (),
    "piece": ("piece",),
    "sentence": ("sentence", "piece"),
    "line": ("line", "sentence", "piece"),
    "paragraph": ("paragraph", "line", "sentence", "piece"),
}
SEEN_AFTER = 16  # bytes after a place that tell whether a sentence ends there


def _any_of(characters: str) -> bytes:
    return b"(?:" + b"|".join(re.escape(character.encode()) for character in characters) + b")"


_BLANK = rb"[ \t\r]{0,8}\n"
# A sentence ends with its punctuation mark, closing quotes or brackets, and the end of its line, but not before a small
# letter ("e.g. this"). This is a short form of the rules in Unicode's annex 29. A blank line ends a heading.
_SENTENCE = b"".join(
    [
        _any_of(".!?\u2026") + _any_of("\"')]\u2019\u201d\u00bb") + rb"{0,3}",
        rb"(?:(?:%s)+|(?=[ \t])(?![ \t]{1,8}[a-z]))" % _BLANK,
        b"|" + _any_of("\u3002\uff01\uff1f") + _any_of("\u300d\u300f\uff09\u201d") + rb"{0,2}(?:\r?\n)*",
        rb"|\n(?:%s)+" % _BLANK,
    ]
)
_ENDS: dict[Boundary, re.Pattern[bytes]] = {
    "line": re.compile(rb"\n"),
    "sentence": re.compile(_SENTENCE),
    "paragraph": re.compile(rb"\n(?:[ \t\r]*\n)+"),
}


def ends_of(kind: Boundary, data: bytes, begin: int, end: int) -> list[int]:
    """Return the places in data[begin:end] just after each line, sentence or paragraph and the newlines that end it.

    >>> ends_of("sentence", b"Yes. No! E.g. this?", 0, 19)
    [4, 8]
    """
    found = (match.end() for match in _ENDS[kind].finditer(data, begin, end + SEEN_AFTER))
    return [place for place in found if place <= end]


def last_within(places: Iterable[int], begin: int, end: int) -> int | None:
    """Return the last place after `begin` and up to `end`; None where there is none."""
    return max((place for place in places if begin < place <= end), default=None)


def is_between_characters(data: bytes, at: int) -> bool:
    """Return whether a cut before byte `at` splits no character; each byte that is not UTF-8 counts as one.

    >>> [is_between_characters("aé".encode() + b"\\x80", at) for at in range(5)]
    [True, True, False, True, True]
    """
    if not 0 < at < len(data) or data[at] & 0xC0 != 0x80:
        return True
    begin = at - 1
    while begin > max(0, at - MAX_CHARACTER + 1) and data[begin] & 0xC0 == 0x80:
        begin -= 1
    size = 2 + (data[begin] >= 0xE0) + (data[begin] >= 0xF0)  # in bytes, of the character that may begin there
    if data[begin] < 0xC0 or begin + size <= at:
        return True
    try:
        data[begin : begin + size].decode()
    except UnicodeDecodeError:
        return True
    return False


def next_between_characters(data: bytes, at: int) -> int:
    """Return the first place after `at` at which a cut splits no character."""
    at += 1
    while not is_between_characters(data, at):
        at += 1
    return at
