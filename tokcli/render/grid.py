"""The grid on which one text stands under several encodings: what stands at one place stands in one column.

A cell is what stands between two places where a token of any encoding ends; behind it there is a column in which a │
stands on the lines of those that end a token there. Where tokens stand is the caller's business, in bytes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple
from unicodedata import category

from rich.cells import cell_len

from tokcli.render.boundaries import BOUNDARY
from tokcli.render.visible import visible_bytes

_LINE_FEED = 10
MAX_CLUSTER = 32  # bytes of a character and its marks that stay in one row


class Placed(NamedTuple):
    """A token, and the bytes of the text that it stands for."""

    id: int
    start: int
    end: int


class Segment(NamedTuple):
    """Bytes of the text up to `end` that are one for an encoding: of so many tokens, of none where `tokens` is 0."""

    end: int
    tokens: int


def segments(tokens: Iterable[Placed], size: int) -> Iterator[Segment]:
    """The cut of a text of `size` bytes; tokens that stand at one place (bytes of a character) are one segment.

    >>> [tuple(s) for s in segments([Placed(7, 0, 2), Placed(8, 3, 4), Placed(9, 3, 4)], 4)]
    [(2, 1), (3, 0), (4, 2)]
    """
    at = waiting = 0
    held: Segment | None = None
    for token in tokens:
        if token.start == token.end:  # a byte of the character behind, or what a normalizer put there
            waiting += 1
        elif token.end <= at and held:  # at the place of the one before
            held = Segment(held.end, held.tokens + 1)
        else:
            if held:
                yield held
            if token.start > at:
                yield Segment(token.start, 0)
            held = Segment(token.end, 1 + waiting)
            at, waiting = token.end, 0
    if held:
        yield held
    if at < size:
        yield Segment(size, 0)


class Part(NamedTuple):
    """What is shown of a segment in a cell; `segment` is its number, for the colour, or None where nothing is."""

    text: str
    width: int
    segment: int | None


class Cell(NamedTuple):
    """A column of the grid: the parts on each line, the cells it takes, and the lines on which a token ends after it.

    `goes_on` has, for each line, the segment that goes on behind it, for the colour of the column of boundaries.
    """

    lines: Sequence[Sequence[Part]]
    width: int
    ended: Sequence[bool]
    goes_on: Sequence[int | None]
    breaks: bool


class _Reader:
    """One encoding's segments, read from the beginning to the end of the text."""

    def __init__(self, found: Iterable[Segment], size: int) -> None:
        self._found = iter(found)
        self._size = size
        self._number = -1
        self.next = Segment(0, 0)
        self._advance()

    def _advance(self) -> None:
        self.next = next(self._found, Segment(self._size, 0))
        self._number += 1

    def read(self, data: bytes, start: int, shown: Part, room: int) -> tuple[Sequence[Part], bool, int | None]:
        """The parts of the next cell, whether a segment ends behind it, and which goes on there."""
        end = start + len(data)
        if self.next.end >= end:
            parts: Sequence[Part] = (self._whole(shown, self.next.end == end),)
        else:
            parts = self._cut(data, start, shown, room)
        is_ended = self.next.end == end
        if is_ended and end < self._size:
            self._advance()
        return parts, is_ended, None if is_ended or not self.next.tokens else self._number

    def _whole(self, shown: Part, is_ended: bool) -> Part:
        """A cell that is of one segment."""
        if not self.next.tokens:
            return Part(" " * shown.width, shown.width, None)  # no token stands for it
        if self.next.tokens == 1 or not is_ended:
            return Part(shown.text, shown.width, self._number)
        return _part(f"{shown.text}×{self.next.tokens}", self._number)

    def _cut(self, data: bytes, start: int, shown: Part, room: int) -> Sequence[Part]:
        """A character that tokens cut: the bytes of each; or, where they have no room, how many cut it."""
        parts: list[Part] = []
        at, end, first = start, start + len(data), self._number
        while at < end:
            upto = min(self.next.end, end)
            if parts:
                parts.append(Part(BOUNDARY, 1, None))
            text = visible_bytes(data[at - start : upto - start], spaces=True)
            parts.append(_part(text, self._number if self.next.tokens else None))
            at = upto
            if at < end:
                self._advance()
        if sum(part.width for part in parts) >= room:
            return (_part(f"{shown.text}÷{len(parts) // 2 + 1}", first),)
        return parts


def _part(text: str, segment: int | None) -> Part:
    return Part(text, cell_len(text), segment)


def cells(data: bytes, tracks: Iterable[Iterable[Segment]], room: int) -> Iterator[Cell]:
    """The cells of a text, in order; `room` is the width of a row."""
    size = len(data)
    readers = [_Reader(track, size) for track in tracks]
    start = 0
    while start < size:
        end = _next_end(data, start, min(reader.next.end for reader in readers))
        shown = _part(visible_bytes(data[start:end], spaces=True), None)
        if shown.width > room and (fitting := _fitting(data[start:end], room)):
            end = start + fitting
            shown = _part(visible_bytes(data[start:end], spaces=True), None)
        read = [reader.read(data[start:end], start, shown, room) for reader in readers]
        lines = [parts for parts, _, _ in read]
        yield Cell(
            lines,
            max(sum(part.width for part in parts) for parts in lines),
            [is_ended and end < size for _, is_ended, _ in read],
            [number for _, _, number in read],
            data[end - 1] == _LINE_FEED,
        )
        start = end


def _next_end(data: bytes, start: int, cut: int) -> int:
    """Where the cell from `start` on ends: before `cut`, a newline, and the character that `cut` stands in."""
    newline = data.find(b"\n", start, cut) + 1
    if newline:
        return newline
    for begin in range(cut - 1, max(cut - 4, start - 1), -1):
        if data[begin] & 0xC0 != 0x80:  # the first byte of a character
            size = 1 if data[begin] < 0xC0 else 2 if data[begin] < 0xE0 else 3 if data[begin] < 0xF0 else 4
            if begin + size > cut and _is_text(data[begin : begin + size]):
                return begin if begin > start else begin + size
            break
    return cut


def _is_text(data: bytes) -> bool:
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True


def _fitting(data: bytes, room: int) -> int:
    """How many bytes fit into a row, in whole characters with their marks; 0 for all."""
    base = size = 0  # where the last character that is no mark begins; and how far we are
    for char in data.decode("utf-8", "surrogateescape"):
        if category(char)[0] != "M" or size - base >= MAX_CLUSTER:
            base = size
        size += len(char.encode("utf-8", "surrogateescape"))
        if base and cell_len(visible_bytes(data[:size], spaces=True)) > room:
            return base
    return 0


def rows(data: bytes, tracks: Iterable[Iterable[Segment]], room: int | None) -> Iterator[list[Cell]]:
    """The cells of a text cut into rows: behind a newline, and (unless `room` is None) where they fill the screen."""
    row: list[Cell] = []
    width = 0
    for cell in cells(data, tracks, 1 << 30 if room is None else room):
        whole_width = cell.width + any(cell.ended)
        if row and room is not None and width + whole_width > room:
            yield row
            row, width = [], 0
        row.append(cell)
        width += whole_width
        if cell.breaks:
            yield row
            row, width = [], 0
    if row:
        yield row


def line_of(row: Sequence[Cell], line: int) -> Iterator[tuple[str, int | None]]:
    """One encoding's line of a row: texts, each with the number of its segment."""
    for cell in row:
        parts = cell.lines[line]
        missing = cell.width
        for part in parts:
            yield part.text, part.segment
            missing -= part.width
        if missing:
            yield " " * missing, parts[-1].segment
        if any(cell.ended):
            yield BOUNDARY if cell.ended[line] else " ", cell.goes_on[line]
