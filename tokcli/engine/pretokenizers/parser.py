r"""Parses a pattern into its syntax tree (nodes.py), to compile it to a program or to explain it; it matches no text.

It reads what Rust's `regex` and `fancy_regex` and Python's `regex` have in common, and only patterns that compile there
are worth parsing. For example, `'(?:s|t)| ?\p{L}+` has two alternatives of two items each.
"""

from __future__ import annotations

import re

from tokcli.engine.pretokenizers.nodes import (
    Alternation,
    Alternative,
    Assertion,
    CharacterClass,
    Concatenation,
    Group,
    InlineFlags,
    LookAround,
    Mode,
    PatternNode,
    PatternTree,
    Quantified,
    UnknownSyntax,
)
from tokcli.engine.pretokenizers.rewrite import Atom, atoms, place
from tokcli.errors import PatternError

_DEEPEST = 200  # groups within groups: the parser is recursive

_COUNT = re.compile(r"\{(?P<least>[0-9]*)(?P<range>,(?P<most>[0-9]*))?\}")
_OPENING = re.compile(
    r"\((?:\?(?:P?<(?P<name>[A-Za-z_]\w*)>|(?P<look><?[=!])|(?P<atomic>>)|(?P<flags>(?:[aiLmsuxUbefprw-]|V[01])*)(?P<end>[:)])))?"
)
_ASSERTIONS = frozenset({r"\b", r"\B", r"\A", r"\z", r"\Z", r"\G", r"\K"})
_LONG_ESCAPE = re.compile(
    r"\\(?:x[0-9A-Fa-f]{2}|u[0-9A-Fa-f]{4}|U[0-9A-Fa-f]{8}|N\{[^}]*\}|L<\w+>|0[0-7]{0,2}|[1-7][0-7]{2})"
)
_REFERENCE = re.compile(r"\\[1-9]|\\[gk]")


def parse(source: str) -> PatternTree:
    r"""Parse a pattern; PatternError, naming the place, for one that cannot be read.

    >>> [(a.name, a.source, len(a.items)) for a in parse(r"'(?:s|t)| ?\p{L}+").alternatives]
    [('a1', "'(?:s|t)", 2), ('a2', ' ?\\p{L}+', 2)]
    """
    return _Parser(source).pattern()


class _Parser:
    """A recursive-descent parser over the atoms of a pattern, each of which is read once."""

    def __init__(self, source: str) -> None:
        self._source = source
        self._atoms: list[tuple[int, Atom]] = []  # with the index in the pattern where each begins
        at = 0
        for atom in atoms(source):
            self._atoms.append((at, atom))
            at += len(atom.text)
        self._atoms.append((at, Atom("", "", "", 0, False)))  # the end
        self._next = 0
        self._depth = 0

    @property
    def _at(self) -> int:
        """The index in the pattern of the next atom."""
        return self._atoms[self._next][0]

    def _peek(self) -> str:
        return self._atoms[self._next][1].text

    def _skip_to(self, end: int) -> None:
        while self._at < end:
            self._next += 1

    def _error(self, what: str, at: int) -> PatternError:
        return PatternError(f"pattern: {what} at position {at}", place(self._source, at))

    def pattern(self) -> PatternTree:
        """Parse the whole pattern."""
        head = re.match(r"\(\?(?:[aiLmsuxUbefprw]|V[01])+\)", self._source)
        flags = head[0] if head else ""
        self._skip_to(len(flags))
        begin = self._at
        parsed = self._alternation(flags.strip("(?)"))
        if self._at < len(self._source):
            raise self._error("a ) without its (", self._at)
        branches = parsed.children if isinstance(parsed, Alternation) else (parsed,)
        alternatives = []
        for number, branch in enumerate(branches, 1):
            end = branches[number].start - 1 if number < len(branches) else len(self._source)
            items = branch.children if isinstance(branch, Concatenation) else (branch,)
            alternatives.append(Alternative(f"a{number}", self._source[begin:end], begin, items))
            begin = end + 1
        return PatternTree(self._source, flags, tuple(alternatives))

    def _alternation(self, flags: str) -> PatternNode:
        """Parse branches up to the end of the group; a single branch is returned as it is, not as an Alternation."""
        begin = self._at
        self._depth += 1
        if self._depth > _DEEPEST:
            raise self._error("groups are nested too deep", begin)
        branches = [self._concatenation(flags)]
        while self._peek() == "|":
            self._next += 1
            branches.append(self._concatenation(flags))
        self._depth -= 1
        return branches[0] if len(branches) == 1 else Alternation(begin, self._at, tuple(branches))

    def _concatenation(self, flags: str) -> Concatenation:
        """Parse the items of one branch; with flag `x`, white space and comments are skipped."""
        begin = self._at
        items: list[PatternNode] = []
        while self._at < len(self._source) and self._peek() not in ("|", ")"):
            at, atom = self._atoms[self._next]
            if atom.kind == "comment" or ("x" in flags and atom.text.isspace()):
                self._next += 1
                continue
            if "x" in flags and atom.text == "#":
                line = self._source.find("\n", at)
                self._skip_to(len(self._source) if line < 0 else line)
                continue
            item = self._quantified(self._item(atom, flags))
            if isinstance(item, InlineFlags):
                flags = _changed(flags, item.flags)
            items.append(item)
        return Concatenation(begin, self._at, tuple(items))

    def _item(self, atom: Atom, flags: str) -> PatternNode:
        """Parse one item without its quantifier."""
        begin, text = self._at, atom.text
        if text == "(" and atom.kind == "char":
            return self._group(flags)
        if atom.kind == "class":
            return self._bracketed(flags)
        if atom.kind == "escape" and (long := _LONG_ESCAPE.match(self._source, begin)):
            self._skip_to(long.end())
            return CharacterClass(begin, self._at, ignore_case="i" in flags)
        self._next += 1
        if atom.kind == "end" or text == "^" or text in _ASSERTIONS:
            return Assertion(begin, self._at)
        if atom.kind == "escape" and _REFERENCE.match(text):
            return UnknownSyntax(begin, self._at)
        if text in ("*", "+", "?") and atom.kind == "char":
            raise self._error(f"nothing to repeat before {text}", begin)
        return CharacterClass(begin, self._at, ignore_case="i" in flags, dot_all="s" in flags)

    def _bracketed(self, flags: str) -> CharacterClass:
        """Parse a character class in brackets, with all classes inside it."""
        begin, depth = self._at, 0
        while self._next < len(self._atoms):
            kind = self._atoms[self._next][1].kind
            depth += (kind == "class") - (kind == "close")
            self._next += 1
            if not depth:
                return CharacterClass(begin, self._at, ignore_case="i" in flags)
        raise self._error("a [ without its ]", begin)

    def _group(self, flags: str) -> PatternNode:
        """Parse what begins with a parenthesis: a group, look-around, or flags."""
        begin = self._at
        opening = _OPENING.match(self._source, begin)
        if opening is None or (self._source.startswith("(?", begin) and opening[0] == "("):
            return self._unknown_group(begin)
        self._skip_to(opening.end())
        given = opening["flags"] or ""
        if opening["end"] == ")":
            return InlineFlags(begin, opening.end(), flags=given)
        inner = self._alternation(_changed(flags, given))
        if self._peek() != ")":
            raise self._error("a ( without its )", begin)
        self._next += 1
        if look := opening["look"]:
            return LookAround(begin, self._at, inner, look.startswith("<"))
        captures = opening[0] == "(" or opening["name"] is not None
        return Group(begin, self._at, inner, opening[0], captures, opening["atomic"] is not None, given)

    def _unknown_group(self, begin: int) -> UnknownSyntax:
        """Skip a group of a rare kind, such as `(?(1)..)`, `(?|..)` or `(?P=n)`, up to its end."""
        depth = self._atoms[self._next][1].depth
        while self._next < len(self._atoms):
            _, atom = self._atoms[self._next]
            self._next += 1
            if atom.text == ")" and atom.depth < depth and not atom.in_class:
                return UnknownSyntax(begin, self._at)
        raise self._error("a ( without its )", begin)

    def _quantified(self, item: PatternNode) -> PatternNode:
        """Parse the quantifiers after an item, and return the item within them."""
        while True:
            begin = self._at
            count = _COUNT.match(self._source, begin)
            text = self._peek()
            if count and (count["least"] or count["most"]):
                least = int(count["least"] or 0)
                most = least if count["range"] is None else int(count["most"]) if count["most"] else None
                end = count.end()
            elif text in ("*", "+", "?"):
                least, most, end = int(text == "+"), 1 if text == "?" else None, begin + 1
            else:
                return item
            suffix = self._source[end : end + 1]
            mode: Mode = "lazy" if suffix == "?" else "possessive" if suffix == "+" else "greedy"
            end += mode != "greedy"
            self._skip_to(end)
            item = Quantified(item.start, end, item, least, most, mode)


def _changed(flags: str, given: str) -> str:
    """Return the flags that hold after some are switched on and, after a `-`, off.

    >>> _changed("is", "x-i")
    'sx'
    """
    on, _, off = given.partition("-")
    return "".join(flag for flag in flags + on if flag not in off)
