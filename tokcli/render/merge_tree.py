"""A merge tree drawn with lines: each token, its id, and below it the two that merged into it."""

from __future__ import annotations

from collections.abc import Iterator

from rich.text import Text

from tokcli.engine.merges import MergeTree
from tokcli.render.visible import visible_bytes

MAX_DEPTH = 40  # of lines to the left; deeper trees are cut, for no screen is wider


def draw(tree: MergeTree) -> Iterator[Text]:
    """The lines of a tree, sanitized; without recursion, for a tree may be deep.

    >>> leaf = MergeTree(64, b"a")
    >>> [line.plain for line in draw(MergeTree(500, b"aa", (leaf, leaf)))]
    ['aa  500', '├─ a  64', '└─ a  64']
    """
    pending = [(tree, "", "", 0)]
    while pending:
        node, before, below, depth = pending.pop()
        is_cut = node.is_cut or (depth == MAX_DEPTH and bool(node.parts))
        shown = visible_bytes(node.token, spaces=True)
        yield Text.assemble((before, "dim"), shown, ("  " + str(node.id), "cyan"), (" ..." * is_cut, "dim"))
        if node.parts and not is_cut:
            left, right = node.parts
            pending.append((right, below + "└─ ", below + "   ", depth + 1))
            pending.append((left, below + "├─ ", below + "│  ", depth + 1))
