"""The merges of a piece as a table to read: the pair that was chosen, its rank, and the parts after it.

Rows are made one by one, with the same columns, so that they can be shown one by one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import cycle
from typing import TYPE_CHECKING

from rich.cells import cell_len
from rich.style import Style
from rich.text import Text

from tokcli.render.boundaries import BOUNDARY, RANK_WIDTH, STYLES, MergeStep, plain_merge_steps
from tokcli.render.visible import visible_bytes

if TYPE_CHECKING:
    from rich.table import Table

    from tokcli.engine.piece_steps import PieceSteps

_NEW = Style(bold=True, underline=True)
_DIM = Style(dim=True)
_HEAD = Style(bold=True)
PAIR_NEEDS = 40  # cells of a screen on which the pair has a column of its own


def heading(made: PieceSteps, number: int) -> Text:
    """The line above a table: which piece, and what it became."""
    text = Text(f"{number}. ", _DIM, overflow="fold")
    text.append(visible_bytes(made.piece, spaces=True), _HEAD)
    ids = " ".join(map(str, made.ids))
    text.append(f"  {_how(made)}: {ids}" if made.ids else "  no tokens", _DIM)
    return text


def _how(made: PieceSteps) -> str:
    count = len(made.ids)
    tokens = f"{count} token{'s' * (count != 1)}"
    if made.at_once:
        merges = len(made.steps) - 1
        if made.kind != "merges" or not merges:
            return "one token at once"
        if len(made.steps[-1].parts) == 1:
            return "one token at once, as merging has it too"
        return "one token at once, though merging does not come to it"
    if made.kind == "path":
        return f"{tokens} of the best path, which scores {sum(made.scores):.4f}"
    if made.kind == "pieces":
        return f"{tokens}, no merges"
    return tokens


class MergeTable:
    """The rows of one piece for a screen of some width; `marks`: the new part is marked by «» as there is no colour."""

    def __init__(self, made: PieceSteps, width: int, *, marks: bool) -> None:
        self._made, self._marks = made, marks
        self._has_pair = width >= PAIR_NEEDS and made.kind == "merges"
        cells = [self._cells(number) for number in range(len(made.steps))] if made.kind == "merges" else []
        columns = ["step", "rank", *(["pair"] if self._has_pair else [])]
        self._widths = [
            max(cell_len(name), *(cell_len(row[at].plain) for row in cells)) if cells else cell_len(name)
            for at, name in enumerate(columns)
        ]
        if self._has_pair:
            self._widths[2] = min(self._widths[2], width // 3)
        self._rest = max(width - sum(self._widths) - 2 * len(self._widths), 4)
        self._columns = [*columns, "parts"]

    def rows(self) -> Iterator[Table]:
        """The header, and a row for each step; nothing where a heading says it all."""
        made = self._made
        if made.kind != "merges":
            yield from self._tokens()
        elif len(made.steps) > 1:
            yield self._row([Text(name, _HEAD) for name in self._columns])
            for number in range(len(made.steps)):
                yield self._row(self._cells(number))

    def _tokens(self) -> Iterator[Table]:
        """Of what does not merge, a row with all tokens; of a best path, one for each, with its score."""
        made = self._made
        parts = made.steps[0].parts
        if not made.scores:
            yield _grid([self._rest], [_joined(parts, None, marks=self._marks)])
            return
        for part, score in zip(parts, made.scores, strict=True):
            cell = Text(visible_bytes(part, spaces=True), STYLES[0], overflow="fold")
            yield _grid([9, self._rest], [Text(f"{score:.4f}", _DIM, justify="right"), cell])

    def _cells(self, number: int) -> list[Text]:
        step = self._made.steps[number]
        first = [Text(str(number or ""), _DIM, justify="right")]
        first.append(Text("" if step.rank is None else str(step.rank), justify="right"))
        if self._has_pair:
            pair = pair_of(self._made.steps, number)
            first.append(Text(" + ".join(visible_bytes(part, spaces=True) for part in pair), overflow="fold"))
        return [*first, _joined(step.parts, step.position, marks=self._marks)]

    def _row(self, cells: Sequence[Text]) -> Table:
        return _grid([*self._widths, self._rest], cells)


def pair_of(steps: Sequence[MergeStep], number: int) -> tuple[bytes, ...]:
    """The two parts that a step merged; none before the first merge."""
    at = steps[number].position
    return () if at is None else tuple(steps[number - 1].parts[at : at + 2])


def _joined(parts: Sequence[bytes], new: int | None, *, marks: bool) -> Text:
    text = Text(overflow="fold")
    for index, (part, style) in enumerate(zip(parts, cycle(STYLES), strict=False)):
        shown = visible_bytes(part, spaces=True)
        if index:
            text.append(BOUNDARY)
        text.append(f"«{shown}»" if marks and index == new else shown, style + _NEW if index == new else style)
    return text


def _grid(widths: Sequence[int], cells: Sequence[Text]) -> Table:
    from rich.table import Table

    table = Table.grid(padding=(0, 2, 0, 0))
    for width in widths:
        table.add_column(width=width, overflow="fold")
    table.add_row(*cells)
    return table


def plain_lines(made: PieceSteps) -> Iterator[str]:
    """The same for a pipe: a line for each step; of a best path a line for each token, with its score."""
    if made.scores:
        for part, score in zip(made.steps[0].parts, made.scores, strict=True):
            yield f"{score:>{RANK_WIDTH}.3f}  {visible_bytes(part, spaces=True)}"
    else:
        yield from plain_merge_steps(made.steps)
