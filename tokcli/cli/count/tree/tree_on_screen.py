"""`count --tree` for people: bars for the shares of the total, as wide as the screen, and small rows in one line."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from tokcli.cli.count.budget import lines_of
from tokcli.cli.count.tree.count_tree import Branch, Columns
from tokcli.cli.terminal import pager, screen
from tokcli.render.direction import isolated_text
from tokcli.render.glyphs import cell_len
from tokcli.render.numbers import bar, grouped
from tokcli.render.tokens import branch_parts
from tokcli.render.visible import visible

if TYPE_CHECKING:
    from tokcli.cli.count.count_options import CountOptions
    from tokcli.cli.streams import Output

WIDTH_WITH_BARS = 60  # cells of a screen that has bars
LEAST_BAR, LEAST_NAME = 10, 12  # cells; longer names are cut in their middle
SHARE = 5  # cells of a share in percent, and the space before it
PERCENT = 100  # rows below one percent of the total are small


def show_tree(asked: CountOptions, output: Output, root: Branch, names: Sequence[str]) -> None:
    """Show the tree through the pager where it is taller than the screen; with --top, its small rows, too."""
    if asked.top is None:
        root.fold(-(-root.tokens[0] // PERCENT))
    columns = Columns(names, root.tokens, for_people=True)
    with pager.paged(output) as shown:
        shown.write(columns.header)
        for line in _drawn(asked, root, columns, screen.width(output)):
            shown.write(line)
        shown.write(lines_of(asked, root.tokens[0], columns.first, for_people=True))


def _drawn(asked: CountOptions, root: Branch, columns: Columns, width: int) -> Iterator[bytes]:
    """Yield the rows for a screen of some width: counts, name, bar and share; what has no room is left out."""
    rows = list(root.lines(asked.order == "name"))
    beside = width - columns.width
    least = LEAST_BAR + 1 if width >= WIDTH_WITH_BARS else 0
    share = SHARE if beside - SHARE >= LEAST_NAME else 0
    drawn = [branch_parts(before, _name(branch), max(beside - share - least, LEAST_NAME)) for before, branch in rows]
    sizes = [cell_len(lines) + cell_len(name) for lines, name in drawn]
    wide = max(sizes)
    cells = max(beside - wide - share - 1, 0) if least else 0
    for (lines, name), size, (_, branch) in zip(drawn, sizes, rows, strict=True):
        part, whole = branch.tokens[0], root.tokens[0]
        blank = " " * (wide - size + bool(cells))
        bar_and_share = f"{blank}{bar(part, whole, cells):<{cells}}{share_of(part, whole):>{share}}" if share else ""
        yield columns.cells(branch.tokens) + f"{lines}{isolated_text(name)}{bar_and_share}\n".encode()


def _name(branch: Branch) -> str:
    return f"… {grouped(branch.others)} under 1% each" if branch.others else visible(branch.name)


def share_of(part: int, whole: int) -> str:
    """Return a share in whole percent.

    >>> share_of(1, 3), share_of(1, 1000), share_of(0, 0)
    ('33%', '<1%', '0%')
    """
    return "<1%" if 0 < part * PERCENT < whole else f"{part / whole if whole else 0:.0%}"
