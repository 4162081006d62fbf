"""Aligns one text under several encodings, so that the same bytes are in the same column on every line.

A grid column holds the text between two neighbouring places where a token of any encoding ends. After it comes a column
of one screen cell, with a │ on the lines of the encodings that end a token there. Where the tokens lie, in bytes, is
left to the caller.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from tokcli.engine.stream.utf8 import valid_utf8
from tokcli.engine.tokens import Spans, pairs_of
from tokcli.render.glyphs import cell_len, is_mark
from tokcli.render.visible import BOUNDARY, visible_bytes

_LINE_FEED = 10
MAX_CLUSTER = 32  # bytes of a character and its marks that stay in one row
ENDLESS = 1 << 30  # screen cells: the width of a row that only newlines end


class PlacedToken(NamedTuple):
    """A token's id, and the bytes of the text that it covers: text[start:end]."""

    id: int
    start: int
    end: int


def placed_tokens(spans: Spans) -> Iterator[PlacedToken]:
    """Yield a token for each span; its id is its number, from 0."""
    for number, (start, end) in enumerate(pairs_of(spans)):
        yield PlacedToken(number, start, end)


class Segment(NamedTuple):
    """Bytes of the text, up to `end`, that belong together for one encoding; `tokens` is the number of their tokens.

    Several tokens share a segment if each has some bytes of one character; `tokens` is 0 where a normalizer dropped
    the text.
    """

    end: int
    tokens: int


def segments(tokens: Iterable[PlacedToken], size: int) -> Iterator[Segment]:
    """Yield the segments of a text of `size` bytes, from the first byte to the last, without gaps.

    >>> [tuple(s) for s in segments([PlacedToken(7, 0, 2), PlacedToken(8, 3, 4), PlacedToken(9, 3, 4)], 4)]
    [(2, 1), (3, 0), (4, 2)]
    """
    at = waiting = 0
    last: Segment | None = None
    for token in tokens:
        if token.start == token.end:  # one byte of the next character, or what a normalizer inserted
            waiting += 1
        elif token.end <= at and last:  # at the same place as the token before it
            last = Segment(last.end, last.tokens + 1)
        else:
            if last:
                yield last
            if token.start > at:
                yield Segment(token.start, 0)
            last = Segment(token.end, 1 + waiting)
            at, waiting = token.end, 0
    if last:
        yield last
    if at < size:
        yield Segment(size, 0)


class Fragment(NamedTuple):
    """The visible text of one segment in one grid column, its width in screen cells, and the segment's number.

    The number chooses the colour; it is None for blanks and boundaries, which have none.
    """

    text: str
    width: int
    segment: int | None


class GridColumn(NamedTuple):
    """A column of the grid: for each line its fragments, and whether a token ends there; and the column's width.

    `continues` has, for each line, the number of the segment that goes on in the next column, or None; it colours the
    boundary. `breaks` is true where the text has a newline, which ends the row.
    """

    lines: Sequence[Sequence[Fragment]]
    width: int
    ended: Sequence[bool]
    continues: Sequence[int | None]
    breaks: bool


class _Track:
    """The segments of one encoding, read column by column from the beginning of the text to its end."""

    def __init__(self, found: Iterable[Segment], size: int) -> None:
        self._found = iter(found)
        self._size = size
        self._number = -1
        self.next = Segment(0, 0)
        self._advance()

    def _advance(self) -> None:
        self.next = next(self._found, Segment(self._size, 0))
        self._number += 1

    def read(self, data: bytes, start: int, shown: Fragment, room: int) -> tuple[Sequence[Fragment], bool, int | None]:
        """Return the fragments of the next column, whether a segment ends after it, and which one goes on there."""
        end = start + len(data)
        if self.next.end >= end:
            fragments: Sequence[Fragment] = (self._whole(shown, self.next.end == end),)
        else:
            fragments = self._cut(data, start, shown, room)
        is_ended = self.next.end == end
        if is_ended and end < self._size:
            self._advance()
        return fragments, is_ended, None if is_ended or not self.next.tokens else self._number

    def _whole(self, shown: Fragment, is_ended: bool) -> Fragment:
        """Return the fragment of a column in which this encoding has one segment only."""
        if not self.next.tokens:
            return Fragment(" " * shown.width, shown.width, None)
        if self.next.tokens == 1 or not is_ended:
            return Fragment(shown.text, shown.width, self._number)
        return _fragment(f"{shown.text}×{self.next.tokens}", self._number)

    def _cut(self, data: bytes, start: int, shown: Fragment, room: int) -> Sequence[Fragment]:
        """Return the fragments of a character that several tokens cut: the bytes of each, with boundaries between.

        Where they are wider than a row, the character and the number of its tokens replace them: `é÷2`.
        """
        fragments: list[Fragment] = []
        at, end, first = start, start + len(data), self._number
        while at < end:
            upto = min(self.next.end, end)
            if fragments:
                fragments.append(Fragment(BOUNDARY, 1, None))
            text = visible_bytes(data[at - start : upto - start], spaces=True)
            fragments.append(_fragment(text, self._number if self.next.tokens else None))
            at = upto
            if at < end:
                self._advance()
        if sum(fragment.width for fragment in fragments) >= room:
            return (_fragment(f"{shown.text}÷{len(fragments) // 2 + 1}", first),)
        return fragments


def _fragment(text: str, segment: int | None) -> Fragment:
    return Fragment(text, cell_len(text), segment)


def grid_columns(data: bytes, tracks: Iterable[Iterable[Segment]], room: int) -> Iterator[GridColumn]:
    """Yield the columns of a text in order; each is narrower than `room` screen cells if its text can be cut."""
    size = len(data)
    readers = [_Track(track, size) for track in tracks]
    start = 0
    while start < size:
        end = _next_end(data, start, min(reader.next.end for reader in readers))
        shown = _fragment(visible_bytes(data[start:end], spaces=True), None)
        if shown.width >= room and (fitting := _fitting(data[start:end], room - 1)):  # a │ may come after it
            end = start + fitting
            shown = _fragment(visible_bytes(data[start:end], spaces=True), None)
        read = [reader.read(data[start:end], start, shown, room) for reader in readers]
        lines = [fragments for fragments, _, _ in read]
        yield GridColumn(
            lines,
            max(sum(fragment.width for fragment in fragments) for fragments in lines),
            [is_ended and end < size for _, is_ended, _ in read],
            [number for _, _, number in read],
            data[end - 1] == _LINE_FEED,
        )
        start = end


def _next_end(data: bytes, start: int, cut: int) -> int:
    """Return the end of the column that begins at `start`: at most `cut`, after a newline, never inside a character."""
    newline = data.find(b"\n", start, cut) + 1
    if newline:
        return newline
    for begin in range(cut - 1, max(cut - 4, start - 1), -1):
        if data[begin] & 0xC0 != 0x80:  # the first byte of a character
            size = 1 if data[begin] < 0xC0 else 2 if data[begin] < 0xE0 else 3 if data[begin] < 0xF0 else 4
            if begin + size > cut and valid_utf8(data[begin : begin + size]) == size:
                return begin if begin > start else begin + size
            break
    return cut


def _fitting(data: bytes, room: int) -> int:
    """Return how many bytes fit into `room` cells, at least one character with its marks; 0 if all of them fit."""
    base = size = 0  # where the last character that is not a mark begins, and the bytes measured so far
    for char in data.decode("utf-8", "surrogateescape"):
        if not is_mark(char) or size - base >= MAX_CLUSTER:
            base = size
        size += len(char.encode("utf-8", "surrogateescape"))
        if base and cell_len(visible_bytes(data[:size], spaces=True)) > room:
            return base
    return 0


def grid_rows(data: bytes, tracks: Iterable[Iterable[Segment]], room: int | None) -> Iterator[list[GridColumn]]:
    """Yield the columns of a text row by row: a row ends after a newline, and when `room` screen cells are full.

    If `room` is None, only newlines end a row.
    """
    row: list[GridColumn] = []
    width = 0
    for column in grid_columns(data, tracks, ENDLESS if room is None else room):
        whole_width = column.width + any(column.ended)
        if row and room is not None and width + whole_width > room:
            yield row
            row, width = [], 0
        row.append(column)
        width += whole_width
        if column.breaks:
            yield row
            row, width = [], 0
    if row:
        yield row


def line_of_row(row: Sequence[GridColumn], line: int) -> Iterator[tuple[str, int | None]]:
    """Yield the texts of one encoding's line of a row, each with the number of its segment, or None."""
    for column in row:
        fragments = column.lines[line]
        missing = column.width
        for fragment in fragments:
            yield fragment.text, fragment.segment
            missing -= fragment.width
        if missing:
            yield " " * missing, fragments[-1].segment
        if any(column.ended):
            yield BOUNDARY if column.ended[line] else " ", column.continues[line]
