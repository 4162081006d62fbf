"""`count --html FILE`: the folders as a page, a tree that opens and closes, with the share of each and a map of it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import TYPE_CHECKING

from tokcli.cli import pages
from tokcli.cli.count.budget import rows_of
from tokcli.cli.count.tree.count_tree import ALL_LEVELS, TOTAL, Branch
from tokcli.cli.json_stream import text_of_name
from tokcli.errors import InputError
from tokcli.render.numbers import counted
from tokcli.render.pages.page import PageWords
from tokcli.render.pages.page_columns import Packer
from tokcli.render.visible import visible

if TYPE_CHECKING:
    from tokcli.cli.count.count_options import CountRequest

MOST_ROWS = 500_000  # of a page: some 10 MB


def write(request: CountRequest, root: Branch, names: Sequence[str]) -> None:
    """Write the page of a tree; `names` are those of its columns."""
    asked, packer = request.options, Packer()
    branches = list(islice(_in_order(root), MOST_ROWS + 1))
    if len(branches) > MOST_ROWS:
        raise InputError(f"a page holds at most {counted(MOST_ROWS, 'row')}", "Use --tree=N, or --top N.")
    heading = pages.heading_of(asked, [root.name])
    encoded = [_name_of(branch, heading).encode("utf-8", "surrogateescape") for _, branch in branches]
    packer.add_numbers("depths", (depth for depth, _ in branches))
    packer.add_numbers("lengths", map(len, encoded))
    packer.add_bytes("names", b"".join(encoded))
    for number in range(len(names)):
        tokens = [branch.tokens[number] for _, branch in branches]
        packer.add_numbers(f"tokens{number}", (count & 0xFFFFFFFF for count in tokens))
        packer.add_numbers(f"high{number}", (count >> 32 for count in tokens))  # a column holds 32 bits
    is_whole = asked.tree in (None, ALL_LEVELS) and asked.top is None
    is_empty = root.name == TOTAL and not root.branches
    files = 0 if is_empty else sum(not branch.branches for _, branch in branches)
    below = counted(files, "file") if is_whole else counted(len(branches) - 1, "row")
    named = [text_of_name(name) for name in (names if len(names) > 1 else [request.encoding.name])]
    more = [f"{value} {name}" for value, name in rows_of(asked, root.tokens[0], for_people=True)]
    summary = ", ".join([counted(root.tokens[0], "token"), below, *more])
    plain = "".join(f"{branch.tokens[0]:>12,} {before}{visible(branch.name)}\n" for before, branch in
                    islice(root.lines(asked.order == "name"), pages.MOST_PLAIN))  # fmt: skip
    head = {"name": named[0], "names": named, "byName": asked.order == "name", "isJoined": root.name == TOTAL}
    words = PageWords(f"{heading}: tokens of {named[0]} - tokcli", heading, named[0], summary, plain)
    pages.write(asked.html or "", request.files_read, "tree", words, head, packer)


def _name_of(branch: Branch, heading: str) -> str:
    return heading if branch.name == TOTAL else branch.name


def _in_order(root: Branch) -> Iterator[tuple[int, Branch]]:
    """Yield how deep each branch is, and the branch: each before what is in it, which is there by name."""
    stack = [(0, root)]
    while stack:
        depth, branch = stack.pop()
        yield depth, branch
        stack += [(depth + 1, branch.branches[name]) for name in sorted(branch.branches, reverse=True)]
