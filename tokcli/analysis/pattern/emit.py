r"""Writes a pattern in the syntax of another regular expression engine, where it then matches the same text.

What the engine interprets as tokcli does is kept as it is. Other character classes become lists of code points, those
of Unicode 16.0; flags become the classes that they stand for; possessive quantifiers and atomic groups, which some
engines lack, are left out where nothing after them could make the match backtrack; groups no longer capture. What
cannot be written is an `Obstacle`. For example, JavaScript gets `(?i:s)` as `[Ss\u{17F}]`, and RE2 gets ` ?+\p{L}++`
as ` ?\p{L}+`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from tokcli.analysis.pattern.bounds import refusing_depth
from tokcli.analysis.pattern.character_sets import ALL, members
from tokcli.analysis.pattern.flavour_table import FEATURES, FLAVOURS, Flavour
from tokcli.analysis.pattern.flavours import features, lookaround_kind, objections
from tokcli.engine.pretokenizers.nodes import (
    Alternation,
    Assertion,
    CharacterClass,
    Concatenation,
    Group,
    InlineFlags,
    LookAround,
    PatternNode,
    PatternTree,
    Quantified,
    UnknownSyntax,
    is_nullable,
    nodes_of,
)
from tokcli.engine.pretokenizers.parser import parse
from tokcli.engine.pretokenizers.rewrite import Atom, atoms
from tokcli.engine.unicode.ranges import Ranges, merged, minus

# the names that `--emit` takes, and the engine that each means
ENGINES: dict[str, Flavour] = {
    "rust": "fancy",
    "rust-regex": "rust",
    "python": "re",
    "python-regex": "regex",
    "oniguruma": "onig",
    "pcre2": "pcre2",
    "js": "js",
    "re2": "re2",
}
_WORD = r"\w"
_PROPERTY = re.compile(r"\\[pP]")
_SYNTAX = frozenset("^$\\.*+?()[]{}|")
_START, _END = (r"\A", "^"), (r"\z", "$")
# how an engine writes the end of the text where that is not `\z`; JavaScript's `$` matches nowhere else without flag m
_ENDS: dict[Flavour, str] = {"re": r"\Z", "regex": r"\Z", "js": "$"}


@dataclass(frozen=True)
class Obstacle:
    """Syntax that cannot be written for an engine: its name, its first character in the pattern, and its text."""

    name: str
    start: int
    text: str


@dataclass(frozen=True)
class Emitted:
    """A pattern written for an engine; if there are obstacles, `pattern` is incomplete and must not be used."""

    engine: str  # its name for people
    pattern: str
    obstacles: tuple[Obstacle, ...]


def emit(pat_str: str, engine: str, *, lists_properties: bool = False) -> Emitted:
    r"""Return a pattern written for one of ENGINES; raise PatternError if tokcli cannot read it.

    With `lists_properties`, properties such as \p{L} become lists of code points, too: those of Unicode 16.0, whatever
    version the engine has.

    >>> emit(r"(?i:'s)|\p{L}++", "re2").pattern
    "(?:'[Ss\\x{17F}])|\\p{L}+"
    >>> emit(r"\p{Zl}|\d", "js", lists_properties=True).pattern[:20]
    '\\u{2028}|[0-9\\u{660}'
    """
    flavour = ENGINES[engine]
    with refusing_depth():
        tree = parse(pat_str)
        writer = _Writer(tree, flavour, lists_properties)
        if not writer.objects_to(pat_str):
            return Emitted(FLAVOURS[flavour], pat_str, ())
        alternatives = [writer.sequence(alternative.items, ()) for alternative in tree.alternatives]
    return Emitted(FLAVOURS[flavour], "|".join(alternatives), tuple(writer.obstacles))


def _objected(source: str, flavour: Flavour) -> bool:
    """Return whether an engine objects to anything in `source`, a pattern or a part of one."""
    return bool(objections(features(source), flavour))


def _is_condition(node: PatternNode) -> bool:
    """Return whether a node is only a condition, which takes no text."""
    if isinstance(node, (Group, Concatenation, Alternation)):
        return all(map(_is_condition, node.children))
    if isinstance(node, Quantified):
        return node.least > 0 and _is_condition(node.item)
    return isinstance(node, (Assertion, LookAround))


def _has(kind: str, flavour: Flavour) -> bool:
    """Return whether an engine reads a kind of syntax (of FEATURES) as tokcli does."""
    return flavour not in FEATURES[kind][1]


@dataclass
class _Writer:
    """Writes the nodes of a tree for an engine. `following` are the nodes that match next, as far as is known."""

    tree: PatternTree
    flavour: Flavour
    lists_properties: bool = False
    obstacles: list[Obstacle] = field(default_factory=list)
    names: int = 0  # given so far to the groups that stand in for atomic ones

    def objects_to(self, source: str) -> bool:
        """Return whether a part of a pattern cannot stay as it is."""
        return _objected(source, self.flavour) or (self.lists_properties and _PROPERTY.search(source) is not None)

    def sequence(self, items: Sequence[PatternNode], following: tuple[PatternNode, ...]) -> str:
        """Return the source of items that match one after the other."""
        return "".join(self.node(item, (*items[at + 1 :], *following)) for at, item in enumerate(items))

    def node(self, node: PatternNode, following: tuple[PatternNode, ...]) -> str:
        """Return the source of a node; for one that cannot be written, add an obstacle and return ""."""
        if isinstance(node, CharacterClass):
            return self._class(node)
        if isinstance(node, Quantified):
            return self._quantified(node, following)
        if isinstance(node, Group):
            inner = self.node(node.item, following)
            return self._atomic(inner, node, following) if node.atomic else f"(?:{inner})"
        if isinstance(node, Concatenation):
            return self.sequence(node.children, following)
        if isinstance(node, Alternation):
            return "|".join(self.node(branch, following) for branch in node.children)
        if isinstance(node, LookAround):
            return self._look_around(node)
        if isinstance(node, Assertion):
            return self._assertion(node)
        if isinstance(node, UnknownSyntax):
            return self._refuse(node, "reference, condition or recursion")
        assert isinstance(node, InlineFlags)  # the classes after them know which flags are on
        return ""

    def _refuse(self, node: PatternNode, name: str) -> str:
        self.obstacles.append(Obstacle(name, node.start, self.tree.text(node)))
        return ""

    def _checked(self, node: PatternNode, made: str, kind: str) -> str:
        """Return `made`, the source of a node, unless it has a kind of syntax that the engine lacks: an obstacle."""
        if _has(kind, self.flavour) or all(feature.kind != kind for feature in features(made)):
            return made
        return self._refuse(node, FEATURES[kind][0])

    def _class(self, node: CharacterClass) -> str:
        source = self.tree.text(node)
        if not (node.ignore_case or node.dot_all) and not self.objects_to(source):
            return source
        if not node.ignore_case and (made := self._class_by_items(source)):
            return made
        ranges = self._members(node)
        if len(ranges) == 1 and ranges[0][0] == ranges[0][1]:
            return self._literal(ranges[0][0])
        others = minus(ALL, ranges)
        if not others or (ranges and len(ranges) <= len(others)):
            return f"[{self._ranges(ranges)}]"
        return f"[^{self._ranges(others)}]"

    def _class_by_items(self, source: str) -> str:
        """Return a class with only the items rewritten that the engine objects to; "" if that is not possible."""
        items = list(atoms(source))
        if items[0].kind != "class" or any(item.kind in ("class", "posix") for item in items[1:]):
            return ""
        kept = [self._is_kept(item) for item in items]
        # lists of code points, which may be long, are not objected to: a letter stands for each
        if self.objects_to("".join(item.text if is_kept else "a" for item, is_kept in zip(items, kept, strict=True))):
            return ""
        return "".join(
            item.text if is_kept else self._ranges(members(f"[{item.text}]"))
            for item, is_kept in zip(items, kept, strict=True)
        )

    def _is_kept(self, item: Atom) -> bool:
        is_plain = item.kind not in ("property", "codepoint", "escape")
        return is_plain or not self.objects_to(f"[{item.text}]")

    def _ranges(self, ranges: Ranges) -> str:
        """Return ranges as items of a class; a range may span the surrogates, which are not text."""
        whole: list[tuple[int, int]] = []
        for first, last in ranges:
            if whole and whole[-1][1] == 0xD7FF and first == 0xE000:
                whole[-1] = (whole[-1][0], last)
            else:
                whole.append((first, last))
        return "".join(
            self._code(first) + (("-" if last > first + 1 else "") + self._code(last) if last > first else "")
            for first, last in whole
        )

    def _literal(self, code: int) -> str:
        char = chr(code)
        if not 0x20 <= code < 0x7F:
            return self._code(code)
        return f"\\{char}" if char in _SYNTAX else char

    def _code(self, code: int) -> str:
        """Return a code point as the engine reads it in a class; ASCII signs, which might be syntax, are escaped."""
        if code < 0x80:
            return chr(code) if chr(code).isalnum() else f"\\x{code:02X}"
        if self.flavour == "js":
            return f"\\u{{{code:X}}}"
        if self.flavour in ("re", "regex"):
            return f"\\u{code:04X}" if code < 0x10000 else f"\\U{code:08X}"
        return f"\\x{{{code:X}}}"

    def _quantified(self, node: Quantified, following: tuple[PatternNode, ...]) -> str:
        if _is_condition(node.item):  # what holds once holds again
            return self.node(node.item, following) if node.least else "(?:)"
        # what is repeated may be followed by itself, and has to be where one is not enough
        again = Quantified(node.start, node.end, node.item, least=int(node.least > 1))
        inner = self.node(node.item, following if node.most == 1 else (again, *following))
        if not isinstance(node.item, (CharacterClass, Group)):
            inner = f"(?:{inner})"
        made = self._checked(node, inner + _count(node.least, node.most), "repeated branch")
        if node.mode != "possessive":
            return made + ("?" if node.mode == "lazy" and node.least != node.most else "")
        is_count = "{" in _count(node.least, node.most)
        if _has("possessive count" if is_count else "possessive", self.flavour):
            return made + "+"
        if isinstance(node.item, CharacterClass) and self._cannot_begin(following, self._members(node.item)):
            return made
        return self._atomic(made, node, following)

    def _atomic(self, inner: str, node: PatternNode, following: tuple[PatternNode, ...]) -> str:
        """Return `inner` as an atomic group, or as it is if nothing after it can fail, which makes no difference."""
        if _has("atomic", self.flavour):
            return f"(?>{inner})"
        if _never_fails(following):
            return f"(?:{inner})" if isinstance(node, Group) else inner
        if _has("look-ahead", self.flavour) and _has("reference", self.flavour):
            self.names += 1  # a look-ahead does not go back into what it has matched
            return f"(?:(?=(?<a{self.names}>{inner}))\\k<a{self.names}>)"
        return self._refuse(node, "atomic group" if isinstance(node, Group) else "possessive quantifier")

    def _look_around(self, node: LookAround) -> str:
        kind = lookaround_kind(node)
        if not _has(kind, self.flavour):
            return self._refuse(node, FEATURES[kind][0])
        opening = self.tree.text(node)[: 4 if node.behind else 3]
        return self._checked(node, f"{opening}{self.node(node.item, ())})", "end behind")

    def _assertion(self, node: Assertion) -> str:
        text = self.tree.text(node)
        if text in ("^", "$") and self._has_lines():
            return self._refuse(node, "start or end of a line")
        if text in _START:
            return "^" if self.flavour == "js" else r"\A"
        if text in _END:
            return _ENDS.get(self.flavour, r"\z")
        kind = r"\b" if text == r"\B" else text
        if kind not in FEATURES or _has(kind, self.flavour):
            return text
        if kind == r"\b" and _has("look-behind", self.flavour):
            word = f"[{self._ranges(members(_WORD))}]"
            sides = (("=", "!"), ("!", "=")) if text == r"\b" else (("=", "="), ("!", "!"))
            return f"(?:{'|'.join(f'(?<{before}{word})(?{after}{word})' for before, after in sides)})"
        return self._refuse(node, FEATURES[kind][0])

    def _has_lines(self) -> bool:
        """Return whether flag m is set anywhere: `^` and `$` may then match at the ends of lines."""
        flags = (node.flags for node in self.tree.nodes if isinstance(node, (Group, InlineFlags)))
        return "m" in self.tree.head or any("m" in some for some in flags)

    # --- what may come after a node --------------------------------------------------------------------------------

    def _members(self, node: CharacterClass) -> Ranges:
        return members(self.tree.text(node), ignore_case=node.ignore_case, dot_all=node.dot_all)

    def _cannot_begin(self, following: Sequence[PatternNode], chars: Ranges) -> bool:
        """Return whether what follows certainly begins with none of `chars`, or cannot fail."""
        if _never_fails(following):
            return True
        first = self._first_set(following)
        return first is not None and not first.is_nullable and minus(chars, first.chars) == chars

    def _first_set(self, items: Sequence[PatternNode]) -> _FirstSet | None:
        """Return the characters that a sequence can begin with; None if an assertion or a reference decides."""
        chars: Ranges = ()
        for item in items:
            found = self._first_set_of(item)
            if found is None:
                return None
            chars = merged((*chars, *found.chars))
            if not found.is_nullable:
                return _FirstSet(chars, False)
        return _FirstSet(chars, True)

    def _first_set_of(self, node: PatternNode) -> _FirstSet | None:
        if isinstance(node, CharacterClass):
            return _FirstSet(self._members(node), False)
        if isinstance(node, Assertion) and self.tree.text(node) in _END and not self._has_lines():
            return _FirstSet((), False)
        if isinstance(node, (Assertion, LookAround, UnknownSyntax)):
            return None
        if isinstance(node, Alternation):
            branches = [self._first_set_of(branch) for branch in node.children]
            if None in branches:
                return None
            known = [branch for branch in branches if branch is not None]
            return _FirstSet(merged(pair for one in known for pair in one.chars), any(one.is_nullable for one in known))
        found = self._first_set(node.children)
        return found and _FirstSet(found.chars, found.is_nullable or is_nullable(node))


class _FirstSet(NamedTuple):
    """The characters that a match may begin with, and whether it may be empty."""

    chars: Ranges
    is_nullable: bool


def _never_fails(items: Sequence[PatternNode]) -> bool:
    """Return whether items always match, if only the empty string: then nothing before them is tried again."""
    conditions = (Assertion, LookAround, UnknownSyntax)
    return all(map(is_nullable, items)) and not any(isinstance(node, conditions) for node in nodes_of(items))


def _count(least: int, most: int | None) -> str:
    r"""Return the quantifier for a minimum and a maximum count, where None means no maximum.

    >>> [_count(0, None), _count(1, None), _count(0, 1), _count(2, 2), _count(2, None), _count(1, 3)]
    ['*', '+', '?', '{2}', '{2,}', '{1,3}']
    """
    short = {(0, None): "*", (1, None): "+", (0, 1): "?"}
    if (least, most) in short:
        return short[least, most]
    return f"{{{least}}}" if least == most else f"{{{least},{'' if most is None else most}}}"
