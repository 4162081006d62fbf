"""The merges of a piece, step by step: as lines for a pipe, and as a table for a terminal.

Working out the steps is left to `tokcli.analysis.pieces` and to the engine, waiting for keys to the command.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import cycle

from rich.cells import cell_len
from rich.style import Style
from rich.table import Table
from rich.text import Text

from tokcli.analysis.pieces.merge_steps import PieceSteps
from tokcli.analysis.pieces.other_ways import OtherWay
from tokcli.engine.bpe.bpe import MergeStep
from tokcli.render.colours import STYLES
from tokcli.render.numbers import counted
from tokcli.render.tokens import folded
from tokcli.render.visible import BOUNDARY, visible_bytes

_NEW = Style(bold=True, underline=True)
_HEAD = Style(bold=True)
PAIR_NEEDS = 40  # screen cells: on narrower screens, the pair has no column of its own
_SCORE_WIDTH = 9
LEAST_SEGMENTS = 4  # screen cells of the column of segments


def heading(made: PieceSteps, number: int) -> Text:
    """Return the line above the table of a piece: its number, its text, and the tokens that it became."""
    text = Text(f"{number}. ", overflow="fold")
    text.append(visible_bytes(made.piece, spaces=True), _HEAD)
    text.append(f"  {_outcome(made)}")
    return text


def _outcome(made: PieceSteps) -> str:
    """Return what a piece became, such as `3 tokens: 1 2 3`."""
    ids = " ".join(map(str, made.ids))
    if not made.ids:
        return "no tokens"
    if made.at_once and made.kind == "merges" and len(made.steps) > 1:
        same = "gives the same" if len(made.steps[-1].parts) == 1 else "would not lead to it"
        return f"already one token ({ids}); merging {same}"
    tokens = counted(len(made.ids), "token")
    if made.kind == "path":
        return f"{tokens} on the best path, with a score of {sum(made.scores):.4f}: {ids}"
    return f"{tokens}{', no merges' if made.kind == 'pieces' else ''}: {ids}"


class MergeTable:
    """The table of one piece on a screen of some width; with `marks`, «» show what is new, in place of colours."""

    def __init__(self, made: PieceSteps, width: int, *, marks: bool) -> None:
        self._made, self._marks = made, marks
        self._has_pair = width >= PAIR_NEEDS and made.kind == "merges"
        cells = [self._cells(number, width) for number in range(len(made.steps))] if made.kind == "merges" else []
        columns = ["step", "rank", *(["pair"] if self._has_pair else [])]
        self._widths = [
            max(cell_len(name), *(cell_len(row[at].plain) for row in cells)) if cells else cell_len(name)
            for at, name in enumerate(columns)
        ]
        if self._has_pair:
            self._widths[2] = min(self._widths[2], width // 3)
        self._rest = max(width - sum(self._widths) - 2 * len(self._widths), LEAST_SEGMENTS)
        self._columns = [*columns, "segments"]

    def rows(self) -> Iterator[Table]:
        """Yield the header and a row for each step; nothing if the heading above the table says it all."""
        made = self._made
        if made.kind != "merges":
            yield from self._tokens()
        elif len(made.steps) > 1:
            yield self._row([Text(name, _HEAD) for name in self._columns])
            for number in range(len(made.steps)):
                yield self._row(self._cells(number, self._rest))

    def _tokens(self) -> Iterator[Table]:
        """Yield one row with all tokens of an unmerged piece, or a row with the score for each token of a best path."""
        made = self._made
        tokens = made.steps[0].parts
        if not made.scores:
            yield _grid([self._rest], [_joined(tokens, None, self._rest, marks=self._marks)])
            return
        for token, score in zip(tokens, made.scores, strict=True):
            cell = Text(visible_bytes(token, spaces=True), STYLES[0], overflow="fold")
            yield _grid([_SCORE_WIDTH, self._rest], [Text(f"{score:.4f}", justify="right"), cell])

    def _cells(self, number: int, width: int) -> list[Text]:
        """Return the cells of a step: its number, its rank, its pair if there is room, and the segments in `width`."""
        step = self._made.steps[number]
        first = [Text(str(number or ""), justify="right")]
        first.append(Text("" if step.rank is None else str(step.rank), justify="right"))
        if self._has_pair:
            pair = pair_of(self._made.steps, number)
            first.append(Text(" + ".join(visible_bytes(segment, spaces=True) for segment in pair), overflow="fold"))
        return [*first, _joined(step.parts, step.position, width, marks=self._marks)]

    def _row(self, cells: Sequence[Text]) -> Table:
        return _grid([*self._widths, self._rest], cells)


def _joined(segments: Sequence[bytes], new: int | None, width: int, *, marks: bool, used: int = 0) -> Text:
    """Return the segments with boundaries between them; `new` is the index of the one that the step made.

    A segment is cut only where it is longer than a line of `width` screen cells, of which the first has `used` some.
    """
    text, width = Text(overflow="fold"), max(width, LEAST_SEGMENTS)
    for index, (segment, style) in enumerate(zip(segments, cycle(STYLES), strict=False)):
        shown = visible_bytes(segment, spaces=True)
        shown = f"«{shown}»" if marks and index == new else shown
        if index:
            text.append(BOUNDARY)
            used += 1
        size = cell_len(shown) + (index < len(segments) - 1)  # with the boundary after it
        if used and used + size > width:
            text.append("\n")
            used = 0
        for at, part in enumerate(folded(shown, width) if size > width else [shown]):
            text.append("\n" * bool(at))
            text.append(part, style + _NEW if index == new else style)
            used = cell_len(part) if size > width else used + cell_len(part)
    return text


def _grid(widths: Sequence[int], cells: Sequence[Text]) -> Table:
    """Return a table of one row: each row is printed as soon as its step is known."""
    table = Table.grid(padding=(0, 2, 0, 0))
    for width in widths:
        table.add_column(width=width, overflow="fold")
    table.add_row(*cells)
    return table


_RANK_WIDTH = 7  # ranks below ten million are aligned


def plain_merge_steps(steps: Iterable[MergeStep]) -> Iterator[str]:
    """Yield a line for each step of merging a piece: the rank that was merged, and the segments after it.

    >>> from tokcli.engine.bpe.bpe import merge_steps
    >>> for line in plain_merge_steps(merge_steps({b"el": 417, b"ell": 616}, b"hello")):
    ...     print(line)
             h│e│l│l│o
        417  h│el│l│o
        616  h│ell│o
    """
    for step in steps:
        rank = "" if step.rank is None else step.rank
        yield f"{rank:>{_RANK_WIDTH}}  {BOUNDARY.join(visible_bytes(part, spaces=True) for part in step.parts)}"


def plain_piece_steps(made: PieceSteps) -> Iterator[str]:
    """Yield a line for each step of merging a piece, or, for a best path, for each token with its score."""
    if made.scores:
        for token, score in zip(made.steps[0].parts, made.scores, strict=True):
            yield f"{score:>{_RANK_WIDTH}.3f}  {visible_bytes(token, spaces=True)}"
    else:
        yield from plain_merge_steps(made.steps)
    yield from plain_other_ways(made.other_ways)


def other_way(way: OtherWay, width: int) -> Text:
    """Return the line that tells how other tokens would cover a piece, for a screen of some width."""
    name = "the longest token at each place" if way.name == "greedy" else "the fewest tokens"
    text = Text(f"with {name}: ", overflow="fold")
    text.append_text(_joined(way.parts, None, width, marks=False, used=len(text)))
    return text.append(f"  {' '.join(map(str, way.ids))}")


def plain_other_ways(ways: Iterable[OtherWay]) -> Iterator[str]:
    """Yield a line for each other way to cover a piece: its name in the column of ranks, its tokens and their ids.

    >>> list(plain_other_ways([OtherWay("greedy", (b" BP", b"E"), (30167, 36))]))
    [' greedy  ·BP│E  30167 36']
    """
    for way in ways:
        tokens = BOUNDARY.join(visible_bytes(part, spaces=True) for part in way.parts)
        yield f"{way.name:>{_RANK_WIDTH}}  {tokens}  {' '.join(map(str, way.ids))}"


def pair_of(steps: Sequence[MergeStep], number: int) -> tuple[bytes, ...]:
    """Return the two segments that a step merged; none for the first step, which shows the segments before merging."""
    at = steps[number].position
    return () if at is None else tuple(steps[number - 1].parts[at : at + 2])
