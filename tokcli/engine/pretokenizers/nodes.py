r"""The nodes of a pattern's syntax tree: alternatives, quantified items, groups, look-around, character classes.

Each node knows its place in the pattern. For example, ` ?\p{L}+` is a Concatenation of two Quantified nodes: a
CharacterClass (the space) zero or one times, and a CharacterClass (`\p{L}`) one or more times.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Literal

Mode = Literal["greedy", "lazy", "possessive"]


class PatternNode:
    """A node of a pattern: pattern[start:end], in characters, and the nodes directly below it, in their order.

    Nodes do not change once they are made. (They are not data classes, which would take 6 ms to import and make in each
    run with a pattern of the user's own.)
    """

    __slots__ = ("children", "end", "start")

    def __init__(self, start: int, end: int, children: tuple[PatternNode, ...] = ()) -> None:
        self.start, self.end, self.children = start, end, children

    @property
    def item(self) -> PatternNode:
        """The only node below a quantifier, a group or a look-around."""
        return self.children[0]


class CharacterClass(PatternNode):
    r"""One character out of a set: `a`, `\s`, `[^\r\n]`, `.`; with the flags `i` and `s` in force there."""

    __slots__ = ("dot_all", "ignore_case")

    def __init__(self, start: int, end: int, ignore_case: bool = False, dot_all: bool = False) -> None:
        super().__init__(start, end)
        self.ignore_case, self.dot_all = ignore_case, dot_all


class Assertion(PatternNode):
    r"""A condition on a place in the text, which consumes no text: `^`, `$`, `\b`, `\z`."""

    __slots__ = ()


class UnknownSyntax(PatternNode):
    r"""Syntax that the tree does not model: references to groups (`\1`), conditions, recursion."""

    __slots__ = ()


class InlineFlags(PatternNode):
    """Flags such as `(?i)`, which hold for the rest of the group that they are in."""

    __slots__ = ("flags",)

    def __init__(self, start: int, end: int, flags: str) -> None:
        super().__init__(start, end)
        self.flags = flags


class Concatenation(PatternNode):
    """Items that match one after the other."""

    __slots__ = ()


class Alternation(PatternNode):
    """Branches, `a|b`, of which the first that lets the rest of the pattern match is taken."""

    __slots__ = ()


class Quantified(PatternNode):
    """An item with a quantifier, `a{2,3}+`: from `least` to `most` times (None: without limit), in some mode."""

    __slots__ = ("least", "mode", "most")

    def __init__(
        self, start: int, end: int, item: PatternNode, least: int = 0, most: int | None = None, mode: Mode = "greedy"
    ) -> None:
        super().__init__(start, end, (item,))
        self.least, self.most, self.mode = least, most, mode


class Group(PatternNode):
    """A group around an item; `opening` is what it begins with, such as `(?:`, and `flags` those that it sets."""

    __slots__ = ("atomic", "captures", "flags", "opening")

    def __init__(
        self, start: int, end: int, item: PatternNode, opening: str, captures: bool, atomic: bool, flags: str
    ) -> None:
        super().__init__(start, end, (item,))
        self.opening, self.captures, self.atomic, self.flags = opening, captures, atomic, flags


class LookAround(PatternNode):
    r"""A look-ahead, `(?=a)` or `(?!a)`; or, if `behind`, a look-behind, `(?<=a)` or `(?<!a)`."""

    __slots__ = ("behind",)

    def __init__(self, start: int, end: int, item: PatternNode, behind: bool) -> None:
        super().__init__(start, end, (item,))
        self.behind = behind


class Alternative:
    """A top-level alternative of a pattern: its name (a1, a2, ...), its text, where that begins, and its items."""

    __slots__ = ("items", "name", "source", "start")

    def __init__(self, name: str, source: str, start: int, items: tuple[PatternNode, ...]) -> None:
        self.name, self.source, self.start, self.items = name, source, start, items

    @property
    def end(self) -> int:
        """The index in the pattern just after this alternative."""
        return self.start + len(self.source)


class PatternTree:
    """A whole pattern; `head` are the flags before it, such as `(?i)`, which hold for all alternatives."""

    __slots__ = ("alternatives", "head", "source")

    def __init__(self, source: str, head: str, alternatives: tuple[Alternative, ...]) -> None:
        self.source, self.head, self.alternatives = source, head, alternatives

    def text(self, node: PatternNode) -> str:
        """Return the text of a node in the pattern."""
        return self.source[node.start : node.end]

    @property
    def nodes(self) -> Iterator[PatternNode]:
        """Yield all nodes, each before its children, in the order of the pattern."""
        for alternative in self.alternatives:
            yield from nodes_of(alternative.items)


def nodes_of(items: Sequence[PatternNode]) -> Iterator[PatternNode]:
    """Yield `items` and all nodes below them, each before its children, in the order of the pattern."""
    waiting = list(reversed(items))
    while waiting:
        node = waiting.pop()
        yield node
        waiting += reversed(node.children)


def is_nullable(node: PatternNode) -> bool:
    """Return whether a node can match without consuming text; look-around and assertions never consume any.

    >>> letter = CharacterClass(0, 1)
    >>> is_nullable(letter), is_nullable(Quantified(0, 2, letter))
    (False, True)
    """
    if isinstance(node, (CharacterClass, UnknownSyntax)):
        return False
    if isinstance(node, Quantified):
        return node.least == 0 or is_nullable(node.item)
    if isinstance(node, Alternation):
        return any(map(is_nullable, node.children))
    return isinstance(node, LookAround) or all(map(is_nullable, node.children))
