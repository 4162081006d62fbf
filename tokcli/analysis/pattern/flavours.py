r"""Says which regular expression engines read a pattern as tokcli and tiktoken do, and what the others object to.

The syntax tree shows quantifiers, groups and look-around; the atoms of the pattern show what may also occur in
character classes: properties, escapes, sets of sets. What each engine makes of them is left to flavour_table.py. For
example, `\p{L}++` is read alike by fancy-regex, `regex`, Oniguruma and PCRE2, while RE2 and Go reject the `++`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal, TypeAlias

from tokcli.analysis.pattern.bounds import refusing_depth
from tokcli.analysis.pattern.flavour_table import FEATURES, FLAVOURS, Difference, Flavour
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
    nodes_of,
)
from tokcli.engine.pretokenizers.parser import parse
from tokcli.engine.pretokenizers.program_compiler import may_fold_to_one
from tokcli.engine.pretokenizers.rewrite import Atom, atoms
from tokcli.engine.unicode import tables_16

_SYNTAX = frozenset("^$\\.*+?()[]{}|/")  # what JavaScript lets one escape
_SCRIPT_VALUE = re.compile(r"\w+[=:]")
_OF_TREE = (r"\b", r"\A", r"\z", r"\Z", r"\G", r"\K")  # escapes that are assertions, and found in the tree

FeatureSpan: TypeAlias = tuple[str, int, int]  # a kind of FEATURES, and where it starts and ends in the pattern


@dataclass(frozen=True)
class Feature:
    """Syntax that not all engines read alike: its kind (of FEATURES), its name, and where it first occurs."""

    kind: str
    name: str
    start: int
    text: str


def features(pat_str: str) -> list[Feature]:
    r"""Return the features of a pattern, in the order of first occurrence; raise PatternError if it cannot be read.

    >>> [(f.name, f.start, f.text) for f in features(r"a|\p{L}++")]
    [('general category', 2, '\\p{L}'), ('possessive quantifier', 7, '++')]
    """
    pattern = parse(pat_str)
    first: dict[str, tuple[int, int]] = {}
    for kind, start, end in sorted([*_of_nodes(pattern), *_of_atoms(pattern)], key=lambda found: found[1]):
        first.setdefault(kind, (start, end))
    return [Feature(kind, FEATURES[kind][0], start, pat_str[start:end]) for kind, (start, end) in first.items()]


def _of_nodes(pattern: PatternTree) -> Iterator[FeatureSpan]:
    """Yield the features that the syntax tree shows."""
    if pattern.head:
        yield "flags", 0, len(pattern.head)
        yield from _flags(pattern.head, 0, len(pattern.head))
    for items in _sequences(pattern):
        if may_fold_to_one(pattern, items):
            yield "full folding", items[0].start, items[-1].end
    for node in pattern.nodes:
        text = pattern.text(node)
        if isinstance(node, Quantified):
            yield from _quantifier(node, text)
        elif isinstance(node, Group):
            yield from _group(node)
        elif isinstance(node, LookAround):
            yield lookaround_kind(node), node.start, node.end
            if node.behind and any(_is_end(pattern, inside) for inside in nodes_of([node.item])):
                yield "end behind", node.start, node.end
        elif isinstance(node, InlineFlags):
            yield "flags inside", node.start, node.end
            yield from _flags(node.flags, node.start, node.end)
        elif isinstance(node, Assertion):
            kind = r"\b" if text == r"\B" else text
            if kind in FEATURES and not (kind in "^$" and "(?m" in pattern.source):
                yield kind, node.start, node.end
        elif isinstance(node, UnknownSyntax):
            yield ("reference" if text.startswith(("\\", "(?P=")) else "condition"), node.start, node.end
        elif isinstance(node, CharacterClass) and node.ignore_case and not text.isascii():
            yield "full folding", node.start, node.end
        elif isinstance(node, CharacterClass) and text == "." and not node.dot_all:
            yield ".", node.start, node.end
        elif isinstance(node, CharacterClass) and text in ("{", "}"):
            yield "lone bracket", node.start, node.end


def _sequences(pattern: PatternTree) -> Iterator[Sequence[PatternNode]]:
    yield from (alternative.items for alternative in pattern.alternatives)
    yield from (node.children for node in pattern.nodes if isinstance(node, Concatenation))


def _is_end(pattern: PatternTree, node: PatternNode) -> bool:
    """Return whether a node looks at what comes next, or for the end of the text."""
    if isinstance(node, Assertion):
        return pattern.text(node) in (r"\z", r"\Z")
    return isinstance(node, LookAround) and not node.behind


def lookaround_kind(node: LookAround) -> str:
    """Return the kind of a look-around: look-behinds differ by whether their branches have fixed and equal widths."""
    if not node.behind:
        return "look-ahead"
    branches = node.item.children if isinstance(node.item, Alternation) else (node.item,)
    widths = {_width(branch) for branch in branches}
    return "wide look-behind" if None in widths else "look-behind" if len(widths) == 1 else "uneven look-behind"


def _quantifier(node: Quantified, text: str) -> Iterator[FeatureSpan]:
    quantifier = text[node.item.end - node.start :]
    if node.mode == "possessive":
        yield "possessive count" if quantifier.startswith("{") else "possessive", node.item.end, node.end
    if node.mode == "lazy" and node.least == node.most:
        yield "lazy exact count", node.item.end, node.end
    if quantifier.startswith("{,"):
        yield "{,n}", node.item.end, node.end
    if kind := _repeat_without_text(node.item):
        yield kind, node.start, node.end


def _repeat_without_text(item: PatternNode) -> str:
    """Return the kind of a repeat that some engines refuse since its item, or a branch of it, takes no text; or ""."""
    if isinstance(item, Assertion):
        return "repeated assertion"
    if isinstance(item, LookAround):
        return "repeated look-around"
    kinds = {_repeat_without_text(child) for child in item.children}
    if isinstance(item, Alternation):
        return "repeated branch" if kinds != {""} else ""
    is_plain = isinstance(item, Concatenation) or (isinstance(item, Group) and not (item.captures or item.atomic))
    if not is_plain or len(item.children) != 1:
        return ""
    kind = kinds.pop()
    return "repeated branch" if kind == "repeated assertion" else kind


def _group(node: Group) -> Iterator[FeatureSpan]:
    end = node.start + len(node.opening)
    if node.atomic:
        yield "atomic", node.start, end
    for kind in ("(?P<", "(?<"):
        if node.opening.startswith(kind):
            yield kind, node.start, end
    if node.flags:
        yield "group flags", node.start, end
        yield from _flags(node.flags, node.start, end)


def _flags(flags: str, start: int, end: int) -> Iterator[FeatureSpan]:
    for flag in "smxu":
        if flag in flags:
            yield f"flag {flag}", start, end


def _width(node: PatternNode) -> int | None:
    """Return how many characters a node matches; None if that is not always the same number."""
    if isinstance(node, CharacterClass):
        return 1
    if isinstance(node, Quantified):
        inner = _width(node.item)
        return None if inner is None or node.least != node.most else inner * node.least
    widths = [_width(child) for child in node.children]
    if None in widths:
        return None
    if isinstance(node, Alternation):
        return widths[0] if len(set(widths)) == 1 else None
    return 0 if isinstance(node, LookAround) else sum(width or 0 for width in widths)


def _of_atoms(pattern: PatternTree) -> Iterator[FeatureSpan]:
    """Yield the features that the atoms of the pattern show, including those in character classes."""
    at = 0
    previous = ""
    for atom in atoms(pattern.source):
        end = at + len(atom.text)
        yield from ((kind, at, end) for kind in _kinds_of_atom(atom))
        if atom.in_class and atom.text == previous and atom.text in "&-~":
            yield atom.text * 2, at - 1, end
        previous = atom.text if atom.in_class else ""
        at = end


def _kinds_of_atom(atom: Atom) -> Iterator[str]:
    """Yield the kinds of features that one atom has."""
    text = atom.text
    if atom.kind == "property":
        yield from _property(text, atom.name)
    elif atom.kind == "codepoint":
        yield {"x": r"\x{", "u": r"\u{"}.get(text[1], r"\u{")
    elif atom.kind == "escape":
        yield from _escape(text, in_class=atom.in_class)
    elif atom.kind == "comment":
        yield "comment"
    elif atom.kind == "char" and not atom.in_class and text == "]":
        yield "lone bracket"
    elif atom.kind == "posix":
        yield "posix class"
    elif atom.kind == "class" and atom.in_class:
        yield "class in a class"


def _escape(text: str, *, in_class: bool) -> Iterator[str]:
    kind = text if text in (r"\u", r"\U") else "\\" + text[1].lower() if text[1] in "SDWH" else text
    if not text[1].isalnum() and text[1] not in _SYNTAX and not (in_class and text[1] == "-"):
        yield "needless escape"
    if kind in FEATURES and kind not in _OF_TREE:
        yield kind


def _property(text: str, name: str) -> Iterator[str]:
    plain = name.lstrip("^")
    if "{" not in text:
        yield "short property"
        return
    if plain != name:
        yield "negated property"
    if _SCRIPT_VALUE.match(plain):
        yield "name=value"
    elif re.fullmatch(r"[CLMNPSZ][a-z]?|Any", plain):
        yield "category"
    elif plain.casefold() in _scripts():
        yield "script"
    else:
        yield "long property"


@lru_cache(maxsize=1)
def _scripts() -> frozenset[str]:
    return frozenset(name.casefold() for name in (*tables_16.SCRIPTS, "Unknown"))


@dataclass(frozen=True)
class Objection:
    """A feature of a pattern that a flavour refuses, or interprets differently; `why` says more, or is empty."""

    feature: Feature
    verdict: Difference
    why: str


@dataclass(frozen=True)
class Reading:
    """A flavour and its objections to a pattern; without any, it interprets the pattern as tokcli does."""

    flavour: Flavour
    name: str
    objections: tuple[Objection, ...]

    @property
    def verdict(self) -> Literal["alike", "refuses", "differs"]:
        """Return the worst verdict of the objections, or "alike" if there are none."""
        verdicts = {objection.verdict for objection in self.objections}
        return "refuses" if "refuses" in verdicts else "differs" if verdicts else "alike"


def readings(pat_str: str) -> list[Reading]:
    r"""Return how each flavour reads a pattern; raise PatternError if tokcli cannot read it.

    >>> [r.flavour for r in readings(r"\p{L}+|\P{L}++") if r.verdict == "alike"]
    ['fancy', 'regex', 'onig', 'pcre2']
    """
    with refusing_depth():
        found = features(pat_str)
    return [Reading(flavour, name, tuple(objections(found, flavour))) for flavour, name in FLAVOURS.items()]


def objections(found: list[Feature], flavour: Flavour) -> list[Objection]:
    """Return what a flavour objects to among the features of a pattern."""
    entries = ((feature, FEATURES[feature.kind][1].get(flavour)) for feature in found)
    return [Objection(feature, *entry) for feature, entry in entries if entry is not None]
