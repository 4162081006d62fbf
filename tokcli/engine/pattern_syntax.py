r"""A pattern as a tree: alternatives, sequences, repeats, groups, look-around, each with its place in the pattern.

It reads what Rust's `regex` and `fancy_regex` and Python's `regex` have in common, for whoever explains a pattern; what
text it matches is the engine's to say (pretokenizer.py), and only that which compiles there is worth reading here.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Literal

from tokcli.engine.pattern import Atom, atoms, place
from tokcli.errors import PatternError

Mode = Literal["greedy", "lazy", "possessive"]
_DEEPEST = 200  # groups within groups

_COUNT = re.compile(r"\{(?P<least>[0-9]*)(?P<range>,(?P<most>[0-9]*))?\}")
_OPENING = re.compile(
    r"\((?:\?(?:P?<(?P<name>[A-Za-z_]\w*)>|(?P<look><?[=!])|(?P<atomic>>)|(?P<flags>[aiLmsuxUbefprwV01-]*)(?P<end>[:)])))?"
)
_ASSERTIONS = frozenset({r"\b", r"\B", r"\A", r"\z", r"\Z", r"\G", r"\K"})
_LONG_ESCAPE = re.compile(
    r"\\(?:x[0-9A-Fa-f]{2}|u[0-9A-Fa-f]{4}|U[0-9A-Fa-f]{8}|N\{[^}]*\}|L<\w+>|0[0-7]{0,2}|[1-7][0-7]{2})"
)
_REFERENCE = re.compile(r"\\[1-9]|\\[gk]")


@dataclass(frozen=True)
class Node:
    """A part of a pattern, from index `start` to `end` of it."""

    start: int
    end: int

    @property
    def children(self) -> tuple[Node, ...]:
        """The parts that it is made of."""
        return ()


@dataclass(frozen=True)
class Characters(Node):
    r"""One character of a set: `a`, `\s`, `[^\r\n]`, `.`."""

    ignore_case: bool = False
    dot_all: bool = False


@dataclass(frozen=True)
class Assertion(Node):
    r"""A place in the text: `^`, `$`, `\b`, `\z`."""


@dataclass(frozen=True)
class Other(Node):
    """What has no rule here: references to groups, conditions, recursion."""


@dataclass(frozen=True)
class Flags(Node):
    """`(?i)`: for what follows in the group."""

    flags: str = ""


@dataclass(frozen=True)
class Sequence(Node):
    """One after the other."""

    items: tuple[Node, ...] = ()

    @property
    def children(self) -> tuple[Node, ...]:
        return self.items


@dataclass(frozen=True)
class Choice(Node):
    """The first that lets the rest match."""

    branches: tuple[Node, ...] = ()

    @property
    def children(self) -> tuple[Node, ...]:
        return self.branches


@dataclass(frozen=True)
class Repeat(Node):
    """`item` from `least` to `most` times (None: without end)."""

    item: Node = field(default_factory=lambda: Sequence(0, 0))
    least: int = 0
    most: int | None = None
    mode: Mode = "greedy"

    @property
    def children(self) -> tuple[Node, ...]:
        return (self.item,)


@dataclass(frozen=True)
class Group(Node):
    """A group; `opening` is how it begins, such as `(?:`."""

    item: Node = field(default_factory=lambda: Sequence(0, 0))
    opening: str = "("
    captures: bool = False
    atomic: bool = False
    flags: str = ""

    @property
    def children(self) -> tuple[Node, ...]:
        return (self.item,)


@dataclass(frozen=True)
class Look(Node):
    """What must (`negated`: must not) stand ahead or `behind`; it takes no text."""

    item: Node = field(default_factory=lambda: Sequence(0, 0))
    behind: bool = False
    negated: bool = False

    @property
    def children(self) -> tuple[Node, ...]:
        return (self.item,)


@dataclass(frozen=True)
class Alternative:
    """A top-level alternative: its name, its text, where it begins in the pattern, and what it is made of."""

    name: str
    source: str
    start: int
    items: tuple[Node, ...]


@dataclass(frozen=True)
class Pattern:
    """A pattern; `head` are the flags before it, such as `(?i)`, which hold for all alternatives."""

    source: str
    head: str
    alternatives: tuple[Alternative, ...]

    def text(self, node: Node) -> str:
        """The part of the pattern that a node is."""
        return self.source[node.start : node.end]

    @property
    def nodes(self) -> Iterator[Node]:
        """All nodes, each before its children."""
        for alternative in self.alternatives:
            for item in alternative.items:
                yield from walk(item)


def walk(node: Node) -> Iterator[Node]:
    """A node and all below it."""
    waiting = [node]
    while waiting:
        node = waiting.pop()
        yield node
        waiting += reversed(node.children)


def parse(source: str) -> Pattern:
    r"""Read a pattern; PatternError, naming the place, for one that cannot be read.

    >>> [(a.name, a.source, len(a.items)) for a in parse(r"'(?:s|t)| ?\p{L}+").alternatives]
    [('a1', "'(?:s|t)", 2), ('a2', ' ?\\p{L}+', 2)]
    """
    return _Reader(source).pattern()


class _Reader:
    """Goes over the atoms of a pattern once."""

    def __init__(self, source: str) -> None:
        self._source = source
        self._atoms: list[tuple[int, Atom]] = []
        at = 0
        for atom in atoms(source):
            self._atoms.append((at, atom))
            at += len(atom.text)
        self._next = 0
        self._depth = 0

    @property
    def _at(self) -> int:
        """The index in the pattern of the next atom."""
        return self._atoms[self._next][0] if self._next < len(self._atoms) else len(self._source)

    def _peek(self) -> str:
        return self._atoms[self._next][1].text if self._next < len(self._atoms) else ""

    def _skip_to(self, end: int) -> None:
        while self._at < end:
            self._next += 1

    def _refuse(self, what: str, at: int) -> PatternError:
        return PatternError(f"pattern: {what} at position {at}", place(self._source, at))

    def pattern(self) -> Pattern:
        """The whole of it."""
        head = re.match(r"\(\?[aiLmsuxUbefprwV01]+\)", self._source)
        flags = head[0] if head else ""
        self._skip_to(len(flags))
        begin = self._at
        parsed = self._choice(flags.strip("(?)"))
        if self._at < len(self._source):
            raise self._refuse("a ) too many", self._at)
        branches = parsed.branches if isinstance(parsed, Choice) else (parsed,)
        alternatives = []
        for number, branch in enumerate(branches, 1):
            end = branches[number].start - 1 if number < len(branches) else len(self._source)
            items = branch.items if isinstance(branch, Sequence) else (branch,)
            alternatives.append(Alternative(f"a{number}", self._source[begin:end], begin, items))
            begin = end + 1
        return Pattern(self._source, flags, tuple(alternatives))

    def _choice(self, flags: str) -> Node:
        begin = self._at
        self._depth += 1
        if self._depth > _DEEPEST:
            raise self._refuse("groups are nested too deep", begin)
        branches = [self._sequence(flags)]
        while self._peek() == "|":
            self._next += 1
            branches.append(self._sequence(flags))
        self._depth -= 1
        return branches[0] if len(branches) == 1 else Choice(begin, self._at, tuple(branches))

    def _sequence(self, flags: str) -> Sequence:
        begin = self._at
        items: list[Node] = []
        while self._at < len(self._source) and self._peek() not in ("|", ")"):
            at, atom = self._atoms[self._next]
            if atom.kind == "comment" or ("x" in flags and atom.text.isspace()):
                self._next += 1
                continue
            if "x" in flags and atom.text == "#":
                line = self._source.find("\n", at)
                self._skip_to(len(self._source) if line < 0 else line)
                continue
            item = self._repeats(self._item(atom, flags))
            if isinstance(item, Flags):
                on, _, off = item.flags.partition("-")
                flags = "".join(c for c in flags + on if c not in off)
            items.append(item)
        return Sequence(begin, self._at, tuple(items))

    def _item(self, atom: Atom, flags: str) -> Node:
        begin, text = self._at, atom.text
        if text == "(" and atom.kind == "char":
            return self._group(flags)
        if atom.kind == "class":
            depth = 0
            while self._next < len(self._atoms):
                kind = self._atoms[self._next][1].kind
                depth += (kind == "class") - (kind == "close")
                self._next += 1
                if not depth:
                    return Characters(begin, self._at, "i" in flags)
            raise self._refuse("a [ without its ]", begin)
        if atom.kind == "escape" and (long := _LONG_ESCAPE.match(self._source, begin)):
            self._skip_to(long.end())
            return Characters(begin, self._at, "i" in flags)
        self._next += 1
        if atom.kind == "end" or text == "^" or text in _ASSERTIONS:
            return Assertion(begin, self._at)
        if atom.kind == "escape" and _REFERENCE.match(text):
            return Other(begin, self._at)
        if text in ("*", "+", "?") and atom.kind == "char":
            raise self._refuse(f"nothing to repeat by {text}", begin)
        return Characters(begin, self._at, "i" in flags, "s" in flags)

    def _group(self, flags: str) -> Node:
        begin = self._at
        opening = _OPENING.match(self._source, begin)
        if opening is None or (self._source.startswith("(?", begin) and opening[0] == "("):
            return self._unknown_group(begin)
        self._skip_to(opening.end())
        given = opening["flags"] or ""
        if opening["end"] == ")":
            return Flags(begin, opening.end(), given)
        on, _, off = given.partition("-")
        inner = self._choice("".join(c for c in flags + on if c not in off))
        if self._peek() != ")":
            raise self._refuse("a ( without its )", begin)
        self._next += 1
        if look := opening["look"]:
            return Look(begin, self._at, inner, look.startswith("<"), look.endswith("!"))
        captures = opening[0] == "(" or opening["name"] is not None
        return Group(begin, self._at, inner, opening[0], captures, opening["atomic"] is not None, given)

    def _unknown_group(self, begin: int) -> Node:
        """`(?(1)..)`, `(?|..)`, `(?P=n)` and other rare ones, up to their end."""
        depth = self._atoms[self._next][1].depth
        while self._next < len(self._atoms):
            _, atom = self._atoms[self._next]
            self._next += 1
            if atom.text == ")" and atom.depth < depth and not atom.in_class:
                return Other(begin, self._at)
        raise self._refuse("a ( without its )", begin)

    def _repeats(self, item: Node) -> Node:
        """The item with the quantifiers behind it."""
        while True:
            begin = self._at
            count = _COUNT.match(self._source, begin)
            text = self._peek()
            if count and (count["least"] or count["most"]):
                least = int(count["least"] or 0)
                most = least if count["range"] is None else int(count["most"]) if count["most"] else None
                end = count.end()
            elif text in ("*", "+", "?") and self._next < len(self._atoms):
                least, most, end = int(text == "+"), 1 if text == "?" else None, begin + 1
            else:
                return item
            suffix = self._source[end : end + 1]
            mode: Mode = "lazy" if suffix == "?" else "possessive" if suffix == "+" else "greedy"
            end += mode != "greedy"
            self._skip_to(end)
            item = Repeat(item.start, end, item, least, most, mode)


def is_nullable(node: Node) -> bool:
    """Whether it can match without taking any text (look-around and assertions, where they hold, take none)."""
    if isinstance(node, (Characters, Other)):
        return False
    if isinstance(node, Repeat):
        return node.least == 0 or is_nullable(node.item)
    if isinstance(node, Choice):
        return any(map(is_nullable, node.branches))
    if isinstance(node, Sequence):
        return all(map(is_nullable, node.items))
    return is_nullable(node.item) if isinstance(node, Group) else True
