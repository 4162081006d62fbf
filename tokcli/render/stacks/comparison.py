"""One text under several encodings: aligned lines above one another, and a table of what each encoding costs.

`grid.py` finds the columns that align the same bytes of all encodings; encoding the text, and finding where each token
lies in it, is left to the command.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from tokcli.engine import backend
from tokcli.engine.tokens import Spans
from tokcli.render import palette
from tokcli.render.direction import isolated_text
from tokcli.render.glyphs import beginning, cell_len
from tokcli.render.native_lines import stacks
from tokcli.render.stacks.grid import ENDLESS, Segment, grid_rows, line_of_row, placed_tokens, segments
from tokcli.render.tables import Column
from tokcli.render.visible import visible

_GAP = "  "  # after a name
MIN_ROOM = 8  # screen cells of text in a row, however narrow the screen is

Track: TypeAlias = tuple[str, Iterable[Segment]]  # the name of an encoding, and its segments of the text
SpanTrack: TypeAlias = "tuple[str, Spans]"  # its name, and the span of each token in bytes (two uint64)


def labels(names: Sequence[str], width: int) -> list[str]:
    """Return the names as a column of equal width, at most a third of a screen of `width` cells.

    >>> labels(["o200k_base", "gpt2"], 24)
    ['o200k_b…', 'gpt2    ']
    """
    shown = [visible(name) for name in names]
    room = min(max(map(cell_len, shown)), max(width // 3, 4))
    return [
        _padded(name, room) if cell_len(name) <= room else f"{_padded(beginning(name, room - 1), room - 1)}…"
        for name in shown
    ]


def _padded(name: str, room: int) -> str:
    return name + " " * (room - cell_len(name))


def stack_rows(
    data: bytes, tracks: Sequence[SpanTrack], width: int | None, codes: Sequence[str] = (), *, isolate: bool = False
) -> Iterator[bytes]:
    """Yield the rows of a text, some at a time: a line for each encoding, its name first; an empty line between rows.

    Without a `width` (in a pipe) only newlines end a row. `codes` are the escape sequences that begin the colours, in
    turn; without any there are no colours. With `isolate`, text that is written from right to left stays in its column
    on terminals that reorder whole lines.
    """
    names = labels([name for name, _ in tracks], width or ENDLESS)
    room = width and max(width - cell_len(names[0]) - len(_GAP), MIN_ROOM)
    found = [(f"{name}{_GAP}", spans) for name, (_, spans) in zip(names, tracks, strict=True)]
    if backend.is_native():
        yield from stacks(data, found, room, codes, isolate=isolate)
        return
    placed = [(name, segments(placed_tokens(spans), len(data))) for name, spans in found]
    yield from (f"{line}\n".encode() for line in stack_lines(data, placed, room, codes, isolate=isolate))


def stack_lines(
    data: bytes, tracks: Sequence[Track], room: int | None, codes: Sequence[str], *, isolate: bool
) -> Iterator[str]:
    """Yield the lines of rows that have `room` screen cells beside the labels; see `stack_rows`."""
    for number, row in enumerate(grid_rows(data, [found for _, found in tracks], room)):
        if number:
            yield ""
        for line, (label, _) in enumerate(tracks):
            yield _line(label, line_of_row(row, line), codes, isolate)


def _line(label: str, texts: Iterable[tuple[str, int | None]], codes: Sequence[str], isolate: bool) -> str:
    """Return a line of texts, each with the number of the segment that colours it, or None; trailing spaces are cut."""
    drawn = [(label, "")]
    for text, segment in texts:
        code = "" if segment is None or not codes else codes[segment % len(codes)]
        drawn.append((isolated_text(text) if isolate else text, code))
    while drawn and not drawn[-1][0].rstrip(" "):
        drawn.pop()
    if drawn:
        drawn[-1] = (drawn[-1][0].rstrip(" "), drawn[-1][1])
    return "".join(f"{code}{text}{palette.END}" if code and text else text for text, code in drawn)


@dataclass(frozen=True)
class EncodingTotal:
    """The tokens of a text of some bytes under an encoding; `first` is the count of the encoding named first."""

    name: str
    tokens: int
    bytes: int
    first: int

    @property
    def bytes_per_token(self) -> str:
        """Return the bytes per token with two decimals, or - if there is no token."""
        return f"{self.bytes / self.tokens:.2f}" if self.tokens else "-"

    @property
    def more(self) -> int:
        """Return how many tokens more than the first encoding this one needs."""
        return self.tokens - self.first

    @property
    def difference(self) -> str:
        """Return `more` with its sign, or 0."""
        return f"{self.more:+d}" if self.more else "0"

    @property
    def percent(self) -> str:
        """Return `more` in percent of the first encoding's tokens, without the sign %; - if it has no tokens."""
        if not self.first:
            return "-"
        return f"{100 * self.more / self.first:+.1f}" if self.more else "0"


TSV_COLUMNS: tuple[Column[EncodingTotal], ...] = (
    Column("encoding", lambda row: row.name),
    Column("tokens", lambda row: row.tokens),
    Column("bytes", lambda row: row.bytes),
    Column("bytes_per_token", lambda row: row.bytes_per_token),
    Column("difference", lambda row: row.difference),
    Column("percent", lambda row: row.percent),
)
