r"""Which programs read a pattern as tokcli and tiktoken do: what each refuses, and what it reads otherwise.

The table is by syntax, and says nothing of Unicode's releases. Its facts are from the documentation of the engines
named in FLAVOURS, tried on Python 3.11's `re`, `regex` 2026, `tiktoken` 0.14 (fancy-regex), `tokenizers` 0.23
(Oniguruma), RE2, PCRE2 10.42 and Node 20; those of the Rust crate `regex` are from its documentation alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from tokcli.engine.pattern import atoms
from tokcli.engine.pattern_syntax import (
    Assertion,
    Characters,
    Choice,
    Flags,
    Group,
    Look,
    Node,
    Other,
    Pattern,
    Repeat,
    parse,
)

Flavour = Literal["re", "regex", "rust", "fancy", "onig", "re2", "pcre2", "js"]
Verdict = Literal["refuses", "differs"]

FLAVOURS: dict[Flavour, str] = {
    "fancy": "fancy-regex (tiktoken)",
    "regex": "regex (Python)",
    "onig": "Oniguruma (Hugging Face)",
    "pcre2": "PCRE2",
    "re": "re (Python 3.11)",
    "rust": "regex (Rust)",
    "re2": "RE2, Go",
    "js": "JavaScript (flag u)",
}

_ASCII = "differs", "knows ASCII only"
_UCP = "differs", "knows ASCII only, unless PCRE2_UCP is set"
_LETTERS = "differs", "takes it for characters of the class"
_NO = "refuses", ""
_RANGE = "refuses", "takes it for a range"

# feature -> what it is called, and who refuses it or reads it otherwise
_FEATURES: dict[str, tuple[str, dict[Flavour, tuple[str, str]]]] = {
    "possessive": ("possessive repeat", {
        "rust": ("differs", "repeats the repeat, so that `?+` takes any number"), "re2": _NO, "js": _NO}),
    "possessive count": ("possessive count", {
        "onig": ("differs", "repeats the count without end, as if `(?:...)+`"),
        "rust": ("differs", "repeats the count without end, as if `(?:...)+`"), "re2": _NO, "js": _NO}),
    "atomic": ("atomic group", {"rust": _NO, "re2": _NO, "js": _NO}),
    "look-ahead": ("look-ahead", {"rust": _NO, "re2": _NO}),
    "look-behind": ("look-behind", {"rust": _NO, "re2": _NO}),
    "wide look-behind": ("look-behind of any width", {"rust": _NO, "re2": _NO, "re": _NO, "pcre2": _NO}),
    "uneven look-behind": ("look-behind of two widths", {"rust": _NO, "re2": _NO, "re": _NO}),
    "needless escape": ("escape that is not needed", {"js": _NO}),
    "lone bracket": ("bracket without a partner", {"js": _NO}),
    "reference": ("reference to a group", {"rust": _NO, "re2": _NO}),
    "condition": ("condition, recursion or branch reset", {
        "rust": _NO, "re2": _NO, "js": _NO, "onig": ("refuses", "or knows another form"),
        "fancy": ("refuses", "some")}),
    "comment": ("comment", {"rust": _NO, "re2": _NO, "js": _NO}),
    "flags": ("flags for the whole pattern", {"js": ("refuses", "they stand outside the pattern")}),
    "flags inside": ("flags from here on", {
        "js": _NO, "re": _NO, "onig": ("differs", "also puts all alternatives behind them into one group")}),
    "group flags": ("flags of a group", {"js": ("refuses", "before ES2025")}),
    "flag s": ("flag s", {"onig": ("refuses", "its flag for that is m")}),
    "flag m": ("flag m", {"onig": ("differs", "lets `.` take newlines by it")}),
    "flag x": ("flag x", {"re2": _NO}),
    "flag u": ("flag u", {"onig": _NO, "re2": _NO, "pcre2": _NO}),
    "(?P<": ("name as (?P<...>", {"onig": _NO, "js": _NO}),
    "(?<": ("name as (?<...>", {"re": _NO}),
    "category": ("general category", {"re": ("refuses", "it knows no \\p")}),
    "long property": ("property by a long name", {
        "re": ("refuses", "it knows no \\p"), "re2": ("refuses", "it knows categories by short names, and scripts")}),
    "script": ("script", {"re": ("refuses", "it knows no \\p"), "js": ("refuses", "it wants Script=")}),
    "name=value": ("property with =", {
        "re": ("refuses", "it knows no \\p"), "onig": _NO, "re2": _NO}),
    "short property": ("property without braces", {
        "re": ("refuses", "it knows no \\p"), "js": _NO, "onig": ("differs", "takes it for letters")}),
    "negated property": ("property with ^", {"re": ("refuses", "it knows no \\p"), "js": _NO}),
    "$": ("end of the text", {
        "re": ("differs", "also before a newline at the end"), "regex": ("differs", "also before a newline at the end"),
        "pcre2": ("differs", "also before a newline at the end"), "onig": ("differs", "at the end of every line")}),
    "^": ("start of the text", {"onig": ("differs", "at the start of every line")}),
    ".": ("any but a newline", {"js": ("differs", "leaves out \\r, U+2028 and U+2029 too")}),
    r"\s": ("white space", {
        "re": ("differs", "also takes U+001C to U+001F"), "re2": _ASCII, "pcre2": _UCP,
        "js": ("differs", "takes U+FEFF and not U+0085")}),
    r"\d": ("digits", {"re2": _ASCII, "pcre2": _UCP, "js": _ASCII}),
    r"\w": ("word characters", {
        "re": ("differs", "takes no marks"), "re2": _ASCII, "pcre2": _UCP, "js": _ASCII}),
    r"\b": ("word boundary", {"re2": _ASCII, "pcre2": _UCP, "js": _ASCII}),
    r"\h": ("horizontal space", {
        "re": _NO, "rust": _NO, "re2": _NO, "js": _NO, "onig": ("differs", "takes it for a hexadecimal digit"),
        "fancy": ("differs", "takes it for a hexadecimal digit")}),
    r"\R": ("line break", {"re": _NO, "rust": _NO, "re2": _NO, "js": _NO}),
    r"\X": ("grapheme", {"re": _NO, "rust": _NO, "re2": _NO, "js": _NO, "fancy": _NO}),
    r"\K": ("keep out", {"re": _NO, "rust": _NO, "re2": _NO, "js": _NO}),
    r"\G": ("where the last match ended", {"re": _NO, "rust": _NO, "re2": _NO, "js": _NO}),
    r"\A": ("start of the text", {"js": _NO}),
    r"\z": ("end of the text", {"re": ("refuses", "before 3.14"), "js": _NO}),
    r"\Z": ("end of the text", {
        "rust": _NO, "re2": _NO, "js": _NO, "fancy": ("differs", "also before a newline at the end"),
        "onig": ("differs", "also before a newline at the end"),
        "pcre2": ("differs", "also before a newline at the end")}),
    r"\x{": ("code point", {"re": _NO, "regex": _NO, "js": _NO}),
    r"\u{": ("code point", {"re": _NO, "regex": _NO, "onig": _NO, "re2": _NO, "pcre2": _NO}),
    r"\u": ("code point", {"re2": _NO, "pcre2": _NO}),
    r"\U": ("code point", {"re2": _NO, "pcre2": _NO, "js": _NO, "onig": ("differs", "takes it for letters")}),
    "{,n}": ("count without a least", {
        "js": _NO, "re2": ("differs", "takes it for text"), "pcre2": ("differs", "takes it for text, before 10.43")}),
    "posix class": ("POSIX class", {
        "re": _LETTERS, "js": _NO, "re2": _ASCII, "rust": _ASCII, "fancy": _ASCII, "pcre2": _UCP}),
    "class in a class": ("class in a class", {
        "re": _LETTERS, "regex": ("differs", "takes it for characters, unless V1 is set"), "re2": _LETTERS,
        "pcre2": _LETTERS, "js": ("refuses", "without flag v")}),
    "&&": ("intersection", {
        "re": _LETTERS, "regex": ("differs", "takes it for characters, unless V1 is set"), "re2": _LETTERS,
        "pcre2": _LETTERS, "js": ("differs", "takes it for characters, without flag v")}),
    "--": ("difference", {
        "re": _RANGE, "regex": ("refuses", "unless V1 is set"), "re2": _RANGE, "pcre2": _RANGE, "onig": _RANGE,
        "js": ("refuses", "without flag v")}),
    "~~": ("symmetric difference", {
        "re": _LETTERS, "regex": ("differs", "takes it for characters, unless V1 is set"), "re2": _LETTERS,
        "pcre2": _LETTERS, "onig": _LETTERS, "js": _LETTERS}),
}  # fmt: skip

_SYNTAX = frozenset("^$\\.*+?()[]{}|/")  # what JavaScript lets one escape
_SCRIPT_VALUE = re.compile(r"\w+[=:]")


@dataclass(frozen=True)
class Feature:
    """A piece of syntax that not all read alike, and where it first stands in the pattern."""

    kind: str
    name: str
    start: int
    text: str


@dataclass(frozen=True)
class Objection:
    """What a flavour has against a feature; `why` may be empty."""

    feature: Feature
    verdict: Verdict
    why: str


@dataclass(frozen=True)
class Reading:
    """What a flavour makes of a pattern: nothing to object to means that it reads it alike."""

    flavour: Flavour
    name: str
    objections: tuple[Objection, ...]

    @property
    def verdict(self) -> Literal["alike", "refuses", "differs"]:
        """The worst of its objections."""
        verdicts = {objection.verdict for objection in self.objections}
        return "refuses" if "refuses" in verdicts else "differs" if verdicts else "alike"


def readings(pat_str: str) -> list[Reading]:
    r"""What each flavour makes of a pattern; PatternError for one that cannot be read.

    >>> [r.flavour for r in readings(r"\p{L}+|\P{L}++") if r.verdict == "alike"]
    ['fancy', 'regex', 'onig', 'pcre2']
    """
    found = features(pat_str)
    out = []
    for flavour, name in FLAVOURS.items():
        objections = []
        for feature in found:
            objection = _FEATURES[feature.kind][1].get(flavour)
            if objection is not None:
                verdict: Verdict = "refuses" if objection[0] == "refuses" else "differs"
                objections.append(Objection(feature, verdict, objection[1]))
        out.append(Reading(flavour, name, tuple(objections)))
    return out


def features(pat_str: str) -> list[Feature]:
    """The features of a pattern that not all flavours read alike, each where it first stands."""
    pattern = parse(pat_str)
    first: dict[str, tuple[int, int]] = {}
    for kind, start, end in sorted([*_of_nodes(pattern), *_of_atoms(pattern)], key=lambda found: found[1]):
        first.setdefault(kind, (start, end))
    return [Feature(kind, _FEATURES[kind][0], start, pat_str[start:end]) for kind, (start, end) in first.items()]


Found = tuple[str, int, int]


def _of_nodes(pattern: Pattern) -> Iterator[Found]:
    if pattern.head:
        yield "flags", 0, len(pattern.head)
        yield from _flags(pattern.head, 0, len(pattern.head))
    for node in pattern.nodes:
        text = pattern.text(node)
        if isinstance(node, Repeat):
            yield from _repeat(node, text)
        elif isinstance(node, Group):
            yield from _group(node)
        elif isinstance(node, Look):
            yield _look(node), node.start, node.end
        elif isinstance(node, Flags):
            yield "flags inside", node.start, node.end
            yield from _flags(node.flags, node.start, node.end)
        elif isinstance(node, Assertion):
            kind = r"\b" if text == r"\B" else text
            if kind in _FEATURES and not (kind in "^$" and "(?m" in pattern.source):
                yield kind, node.start, node.end
        elif isinstance(node, Other):
            yield ("reference" if text.startswith(("\\", "(?P=")) else "condition"), node.start, node.end
        elif isinstance(node, Characters) and text == "." and not node.dot_all:
            yield ".", node.start, node.end
        elif isinstance(node, Characters) and text in ("{", "}"):
            yield "lone bracket", node.start, node.end


def _look(node: Look) -> str:
    if not node.behind:
        return "look-ahead"
    branches = node.item.branches if isinstance(node.item, Choice) else (node.item,)
    widths = {_width(branch) for branch in branches}
    return "wide look-behind" if None in widths else "look-behind" if len(widths) == 1 else "uneven look-behind"


def _repeat(node: Repeat, text: str) -> Iterator[Found]:
    quantifier = text[node.item.end - node.start :]
    if node.mode == "possessive":
        yield "possessive count" if quantifier.startswith("{") else "possessive", node.item.end, node.end
    if quantifier.startswith("{,"):
        yield "{,n}", node.item.end, node.end


def _group(node: Group) -> Iterator[Found]:
    end = node.start + len(node.opening)
    if node.atomic:
        yield "atomic", node.start, end
    for kind in ("(?P<", "(?<"):
        if node.opening.startswith(kind):
            yield kind, node.start, end
    if node.flags:
        yield "group flags", node.start, end
        yield from _flags(node.flags, node.start, end)


def _flags(flags: str, start: int, end: int) -> Iterator[Found]:
    for flag in "smxu":
        if flag in flags:
            yield f"flag {flag}", start, end


def _width(node: Node) -> int | None:
    """How many characters a part takes; None where that is not always the same."""
    if isinstance(node, Characters):
        return 1
    if isinstance(node, Repeat):
        inner = _width(node.item)
        return None if inner is None or node.least != node.most else inner * node.least
    widths = [_width(child) for child in node.children]
    if None in widths:
        return None
    if isinstance(node, Choice):
        return widths[0] if len(set(widths)) == 1 else None
    return 0 if isinstance(node, Look) else sum(width or 0 for width in widths)


def _of_atoms(pattern: Pattern) -> Iterator[Found]:
    """What stands in classes too: properties, escapes, sets of sets."""
    at = 0
    previous = ""
    for atom in atoms(pattern.source):
        text, end = atom.text, at + len(atom.text)
        if atom.kind == "property":
            yield from ((kind, at, end) for kind in _property(text, atom.name))
        elif atom.kind == "codepoint":
            yield ({"x": r"\x{", "u": r"\u{"}.get(text[1], r"\u{"), at, end)
        elif atom.kind == "escape":
            kind = text if text in (r"\u", r"\U") else "\\" + text[1].lower() if text[1] in "SDWH" else text
            if not text[1].isalnum() and text[1] not in _SYNTAX and not (atom.in_class and text[1] == "-"):
                yield "needless escape", at, end
            if kind in _FEATURES and kind not in (r"\b", r"\A", r"\z", r"\Z", r"\G", r"\K"):
                yield kind, at, end
        elif atom.kind == "comment":
            yield "comment", at, end
        elif atom.kind == "char" and not atom.in_class and text == "]":
            yield "lone bracket", at, end
        elif atom.kind == "posix":
            yield "posix class", at, end
        elif atom.kind == "class" and atom.in_class:
            yield "class in a class", at, end
        elif atom.in_class and text == previous and text in "&-~":
            yield text * 2, at - 1, end
        previous = text if atom.in_class else ""
        at = end


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


def _scripts() -> frozenset[str]:
    from tokcli.engine import unicode16

    return frozenset(name.casefold() for name in unicode16.SCRIPTS)
