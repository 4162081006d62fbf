"""The views of `inspect-ranks` as lines for people: the merge tree of a token, and the statistics of a vocabulary."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from rich.text import Text

from tokcli.analysis.merge_tree import MergeTree
from tokcli.analysis.vocabulary import Stats
from tokcli.render.direction import isolated_text
from tokcli.render.numbers import bar, counted, grouped, percent
from tokcli.render.tokens import branch_parts
from tokcli.render.visible import visible_bytes

MAX_DEPTH = 40  # levels that are drawn, each three screen cells further in
LEAST_TOKEN = 8  # screen cells of a token, and of the lines before it


def draw_tree(tree: MergeTree, width: int = 80) -> Iterator[Text]:
    """Yield the lines of a tree, sanitized, on a screen of some width: a long token has a … in its middle.

    It uses no recursion since a tree may be thousands of levels deep.

    >>> leaf = MergeTree(64, b"a")
    >>> [line.plain for line in draw_tree(MergeTree(500, b"aa", (leaf, leaf)))]
    ['aa  500', '├─ a  64', '└─ a  64']
    """
    pending = [(tree, "", "", 0)]
    while pending:
        node, before, below, depth = pending.pop()
        is_cut = node.is_cut or (depth == MAX_DEPTH and bool(node.parts))
        id, more = f"  {node.id}", " ..." * is_cut
        room = max(width - len(id) - len(more), LEAST_TOKEN)
        lines, shown = branch_parts(before, visible_bytes(node.token, spaces=True), room)
        yield Text.assemble(lines, isolated_text(shown), (id, "bold"), more)
        if node.parts and not is_cut:
            left, right = node.parts
            pending.append((right, below + "└─ ", below + "   ", depth + 1))
            pending.append((left, below + "├─ ", below + "│  ", depth + 1))


BAR, SHORT_BAR = 40, 8  # screen cells of the longest bar, at most and (on a narrow screen) at least
LISTED = 12  # scripts that are named
LENGTHS = (1, 2, 3, 4, 5, 6, 7, 8, 12, 16, 32, 64, 128)  # bytes: the longest token of each class of lengths


def statistics_lines(stats: Stats, width: int = 80) -> Iterator[Text]:
    """Yield the statistics of a vocabulary in lines, with bars that fit a screen of `width` cells."""
    mean = stats.bytes / stats.tokens if stats.tokens else 0
    yield Text(
        f"{counted(stats.tokens, 'token')}, {counted(stats.special, 'special token')}, {counted(stats.merges, 'merge')}"
    )
    yield Text(
        f"{counted(stats.bytes, 'byte')}, {mean:.2f} per token; {grouped(stats.not_utf8)} not valid UTF-8; "
        f"{grouped(stats.with_space)} begin with a space"
    )
    characters = sum(stats.kinds.values())
    yield Text("characters: " + ", ".join(f"{percent(n, characters)} {name}" for name, n in stats.kinds.items()))
    yield Text("")
    yield Text("tokens by length in bytes", "bold")
    yield from bars(length_classes(stats), width)
    yield Text("")
    yield Text("tokens by script of the first letter", "bold")
    listed = stats.scripts.most_common(LISTED)
    rest = sum(stats.scripts.values()) - sum(n for _, n in listed)
    yield from bars([*listed, *([("all others", rest)] if rest else [])], width)


def length_classes(stats: Stats) -> list[tuple[str, int]]:
    """Return the number of tokens in each class of lengths, such as `("9-12", 20613)`, up to the longest token."""
    classes, before = [], 0
    for last in (*LENGTHS, max([*stats.lengths, LENGTHS[-1] + 1])):
        count = sum(n for length, n in stats.lengths.items() if before < length <= last)
        classes.append((str(last) if last == before + 1 else f"{before + 1}-{last}", count))
        before = last
    while classes and not classes[-1][1]:
        classes.pop()
    return classes


def bars(rows: Iterable[tuple[str, int]], width: int = 80) -> Iterator[Text]:
    """Yield a line for each row: its name, its count, and a bar; the longest bar takes the room that the screen has.

    >>> [line.plain for line in bars([("one", 4), ("two", 1)])][1].rstrip()
    '  two  1  ██████████'
    """
    listed: Sequence[tuple[str, int]] = list(rows)
    most = max((n for _, n in listed), default=0) or 1
    wide, digits = max((len(name) for name, _ in listed), default=0), len(grouped(most))
    longest = min(BAR, max(width - wide - digits - 6, SHORT_BAR))
    for name, n in listed:
        yield Text(f"  {name:>{wide}}  {grouped(n):>{digits}}  {bar(n, most, longest)}")
