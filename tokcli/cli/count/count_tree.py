"""`count --tree`: the folders as a tree, with the sum of each; on a terminal, with a bar for its share of the total."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from tokcli.render.visible import visible

if TYPE_CHECKING:
    from tokcli.cli.count.count_options import CountOptions
    from tokcli.cli.count.many import Row
    from tokcli.cli.streams import Output

BAR = 20  # cells of a bar for 100%
TOTAL = "total"  # the root over several inputs
_EIGHTHS = " ▏▎▍▌▋▊▉"


class Columns:
    """The columns of counts, as wide as the sums; where there are several, `header` is the line that names them.

    >>> Columns(["tokens"], [123]).cells([7])
    b'  7 '
    """

    def __init__(self, names: Sequence[str], sums: Sequence[int]) -> None:
        least = map(len, names) if len(names) > 1 else [0]
        widths = [max(len(str(total)), size) for total, size in zip(sums, least, strict=True)]
        self._format = "".join(f"%{width}d " for width in widths).encode()
        cells = [f"{name:>{width}} " for name, width in zip(names, widths, strict=True)]
        self.header = ("".join(cells) + "path\n").encode("utf-8", "surrogateescape") if len(names) > 1 else b""

    def cells(self, numbers: Sequence[int]) -> bytes:
        """Return counts as they are printed before a name."""
        return self._format % tuple(numbers)


class Branch:
    """A file or a folder: its tokens by each encoding, and what is in it, by name."""

    __slots__ = ("branches", "name", "tokens")

    def __init__(self, name: str, encodings: int) -> None:
        self.name, self.tokens, self.branches = name, [0] * encodings, dict[str, Branch]()

    def add(self, tokens: Sequence[int], names: Sequence[str]) -> None:
        """Add the tokens of the file to which `names` lead from here; make the folders on the way."""
        branch = self
        branch._count(tokens)
        for name in names:
            branch = branch.branches.setdefault(name, Branch(name, len(self.tokens)))
            branch._count(tokens)

    def _count(self, tokens: Sequence[int]) -> None:
        for number, count in enumerate(tokens):
            self.tokens[number] += count

    def lines(self, by_name: bool, top: int | None) -> Iterator[tuple[str, Branch]]:
        """Yield (the lines drawn before its name, the branch) for this branch and then all below it."""
        stack = [("", "", self)]
        while stack:
            before, below, branch = stack.pop()
            yield before, branch
            found = sorted(branch.branches.values(), key=lambda one: one.name)
            if not by_name or top is not None:
                found.sort(key=lambda one: -one.tokens[0])
            found = found[:top]
            if by_name:
                found.sort(key=lambda one: one.name)
            for place, one in enumerate(reversed(found)):
                stack.append((below + ("├── " if place else "└── "), below + ("│   " if place else "    "), one))


def write_tree(asked: CountOptions, output: Output, rows: Iterable[Row], names: Sequence[str]) -> None:
    """Write the rows as a tree, down to the level of --tree; in each folder the largest first, or by name."""
    levels = asked.tree or 0
    root = Branch(TOTAL, len(names))
    for row in rows:
        inside = row.path.removeprefix(row.root).strip("/") if row.path != row.root else ""
        if row.root == ".":
            inside = row.path.removeprefix("./")
        folders = [f"{name}/" for name in inside.split("/")[:-1]]
        file = inside.split("/")[-1:] if inside else []
        root.add(row.tokens, [row.root, *[*folders, *file][:levels]])
    if len(root.branches) == 1:
        (root,) = root.branches.values()
    table = [(before, branch) for before, branch in root.lines(asked.order == "name", asked.top)]
    columns = Columns(names, root.tokens)
    drawn = [before + _shown(branch.name, output) for before, branch in table]
    room = max(map(len, drawn)) if output.is_terminal else 0
    output.write(columns.header)
    for text, (_, branch) in zip(drawn, table, strict=True):
        share = f"{text:<{room}} {_bar(branch.tokens[0], root.tokens[0])}" if output.is_terminal else text
        output.write(columns.cells(branch.tokens) + share.encode("utf-8", "surrogateescape") + b"\n")


def _shown(name: str, output: Output) -> str:
    return visible(name) if output.is_terminal else name


def _bar(part: int, whole: int) -> str:
    """Return a bar for a share, and the share in percent.

    >>> _bar(1, 4)
    '│█████               │  25%'
    """
    eighths = part * BAR * 8 // whole if whole else 0
    bar = "█" * (eighths // 8) + (_EIGHTHS[eighths % 8] if eighths % 8 else "")
    return f"│{bar:<{BAR}}│ {part / whole if whole else 0:4.0%}"
