"""Tokens in lines and rows, laid out by native code from arrays; the Python twins are in tokens.py and grid.py."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from tokcli.engine import backend

if TYPE_CHECKING:
    from typing_extensions import Buffer

    from tokcli.engine import _native

ENOUGH_BYTES = 1 << 16  # of rows that are made together: few enough that the first screen comes at once


class TokenLines:
    """The lines of a text that comes in parts, with a colour for each token, or a boundary between two tokens.

    The twin of `coloured_boundaries` and `plain_boundaries`: `codes` are the escape sequences that begin the colours.
    """

    def __init__(self, codes: Sequence[str] = (), *, spaces: bool = True) -> None:
        self._codes = [code.encode() for code in codes]
        self._spaces = spaces
        self._place = (0, False)  # the number of tokens so far, and whether the last one ended its line

    def add(self, text: Buffer, ends: Buffer) -> bytes:
        """Return what the next part of the text adds to the lines, given the ends of its tokens (uint64)."""
        lines, *self._place = backend.code().token_lines(text, ends, self._codes, self._spaces, *self._place)
        made: bytes = lines
        return made

    def end(self) -> bytes:
        """Return what ends the last line."""
        return b"\n" if self._place[0] else b""


class TokenRows:
    """The rows of a screen for a text in parts: the twin of `coloured_rows`, and without codes that of `plain_rows`.

    `width` is in screen cells. With `isolate`, coloured text that is written from right to left keeps its place.
    """

    def __init__(self, width: int, codes: Sequence[str], *, ids: bool, isolate: bool = False) -> None:
        begun = [code.encode() for code in codes]
        self._rows: _native.TokenRows = backend.code().TokenRows(width, ids, isolate, begun)

    def add(self, text: Buffer, ends: Buffer, ids: Buffer) -> bytes:
        """Return the rows that the next part completes, given the ends (uint64) and the ids (uint32) of its tokens."""
        return self._rows.add(text, ends, ids)

    def end(self) -> bytes:
        """Return the last row."""
        return self._rows.finish()


def stacks(
    data: bytes, tracks: Sequence[tuple[str, Buffer]], room: int | None, codes: Sequence[str], *, isolate: bool
) -> Iterator[bytes]:
    """Yield the rows of a text under several encodings, some at a time, as `stack_lines` of comparison.py makes them.

    A track is the label of an encoding and the span of each token in bytes (two uint64).
    """
    labelled = [(label.encode(), spans) for label, spans in tracks]
    begun = [code.encode() for code in codes]
    made: _native.Stacks = backend.code().Stacks(data, labelled, room, b"", begun, isolate)
    at = 0
    while at < len(data):
        rows, at = made.rows(at, ENOUGH_BYTES)
        yield rows
