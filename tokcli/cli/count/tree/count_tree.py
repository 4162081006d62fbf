"""`count --tree`: folders as a tree with the sum of each, in plain lines; tree_on_screen.py draws it for people."""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from tokcli.cli.count.budget import lines_of

if TYPE_CHECKING:
    from tokcli.cli.count.count_options import CountOptions
    from tokcli.cli.count.many import Row
    from tokcli.cli.streams import Output

TOTAL = "total"  # the root over several inputs
ALL_LEVELS = 4096  # no path has more
ALONE = 2  # small rows of a folder that are one line: a single one is shown instead
LARGEST = 10  # small rows that are shown where they have most of all: one line would say nothing of what is in there


class Columns:
    """The columns of counts, as wide as the sums; where there are several, `header` is the line that names them.

    People see thousands grouped; programs get plain digits.

    >>> Columns(["tokens"], [1234]).cells([7]), Columns(["tokens"], [1234], for_people=True).cells([1007])
    (b'   7 ', b'1,007 ')
    """

    def __init__(self, names: Sequence[str], sums: Sequence[int], *, for_people: bool = False) -> None:
        group = "," if for_people else ""
        least = map(len, names) if len(names) > 1 else [0]
        widths = [max(len(f"{total:{group}}"), size) for total, size in zip(sums, least, strict=True)]
        self._format = None if for_people else "".join(f"%{width}d " for width in widths).encode()
        self._for_people = "".join(f"{{:>{width},}} " for width in widths)
        cells = [f"{name:>{width}} " for name, width in zip(names, widths, strict=True)]
        self.header = ("".join(cells) + "path\n").encode("utf-8", "surrogateescape") if len(names) > 1 else b""
        self.width, self.first = sum(widths) + len(widths), widths[0]

    def cells(self, numbers: Sequence[int]) -> bytes:
        """Return counts as they are printed before a name."""
        if self._format is None:
            return self._for_people.format(*numbers).encode()
        return self._format % tuple(numbers)


class Branch:
    """A file or a folder: its tokens by each encoding, and what is in it, by name; or `others` of a folder."""

    __slots__ = ("branches", "name", "others", "tokens")

    def __init__(self, name: str, encodings: int, others: int = 0) -> None:
        self.name, self.tokens, self.branches = name, [0] * encodings, dict[str, Branch]()
        self.others = others

    def add(self, tokens: Sequence[int], names: Sequence[str]) -> None:
        """Add the tokens of the file to which `names` lead from here; make the folders on the way."""
        branch = self
        branch.count(tokens)
        for name in names:
            branch = branch.branches.setdefault(name, Branch(name, len(self.tokens)))
            branch.count(tokens)

    def count(self, tokens: Sequence[int]) -> None:
        """Add the tokens of what is in it."""
        for number, count in enumerate(tokens):
            self.tokens[number] += count

    def all_below(self) -> Iterator[tuple[int, Branch]]:
        """Yield how deep each branch below this one is, and the branch."""
        stack = [(1, one) for one in self.branches.values()]
        while stack:
            depth, branch = stack.pop()
            yield depth, branch
            stack += [(depth + 1, one) for one in branch.branches.values()]

    def keep_largest(self, number: int) -> None:
        """Keep only the largest branches below this one, so many in all; a folder is as large as all in it."""
        found = heapq.nlargest(number, self.all_below(), key=lambda one: (one[1].tokens[0], -one[0]))
        kept = {id(branch) for _, branch in found}
        for branch in [self, *(branch for _, branch in found)]:
            branch.branches = {name: one for name, one in branch.branches.items() if id(one) in kept}

    def fold(self, least: int) -> None:
        """Make the branches of each folder that have fewer than `least` tokens one, if there are several.

        Where these have most of all tokens, the largest of them stay.
        """
        for folder in [self, *(branch for _, branch in self.all_below() if branch.branches)]:
            small = [one for one in folder.branches.values() if one.tokens[0] < least]
            if 2 * sum(one.tokens[0] for one in small) > self.tokens[0]:
                small = sorted(small, key=lambda one: (-one.tokens[0], one.name))[LARGEST:]
            if len(small) >= ALONE:
                others = Branch("", len(self.tokens), len(small))
                for one in small:
                    others.count(one.tokens)
                    del folder.branches[one.name]
                folder.branches[others.name] = others

    def lines(self, by_name: bool) -> Iterator[tuple[str, Branch]]:
        """Yield (the lines drawn before its name, the branch) for this branch and then all below it."""
        stack = [("", "", self)]
        while stack:
            before, below, branch = stack.pop()
            yield before, branch
            found = sorted(branch.branches.values(), key=lambda one: one.name)
            if not by_name:
                found.sort(key=lambda one: -one.tokens[0])
            found.sort(key=lambda one: bool(one.others))
            for place, one in enumerate(reversed(found)):
                stack.append((below + ("├── " if place else "└── "), below + ("│   " if place else "    "), one))


def write_lines(asked: CountOptions, output: Output, root: Branch, names: Sequence[str]) -> None:
    """Write the lines of a tree, in each folder the largest first, or by name; then what is left and the price."""
    columns = Columns(names, root.tokens)
    output.write(columns.header)
    for before, branch in root.lines(asked.order == "name"):
        output.write(columns.cells(branch.tokens) + f"{before}{branch.name}\n".encode("utf-8", "surrogateescape"))
    output.write(lines_of(asked, root.tokens[0], columns.first, for_people=False))


def tree_of(asked: CountOptions, rows: Iterable[Row], encodings: int) -> Branch:
    """Return the root of the tree of some rows, down to the level of --tree."""
    levels = asked.tree or ALL_LEVELS
    root = Branch(TOTAL, encodings)
    for row in rows:
        inside = row.path.removeprefix(row.root).strip("/") if row.path != row.root else ""
        if row.root == ".":
            inside = row.path.removeprefix("./")
        folders = [f"{name}/" for name in inside.split("/")[:-1]]
        file = inside.split("/")[-1:] if inside else []
        root.add(row.tokens, [row.root, *[*folders, *file][:levels]])
    return root if len(root.branches) != 1 else next(iter(root.branches.values()))
