r"""Reading a pat_str: its alternatives, and the same pattern in words that the `regex` package understands alike.

tiktoken's patterns are written for Rust's `regex` and `fancy_regex` with the classes of Unicode 16.0. The `regex`
package reads nearly the same language, with the classes of whatever Unicode its release carries; what differs is
rewritten here. Nothing is matched here: see pretokenizer.py.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from typing import NamedTuple

Ranges = tuple[tuple[int, int], ...]  # (first, last) code points, both included, in order

# Every code point that has, or by the Unicode stability policy can get, a character: planes 0 to 3 and 14. Planes 4 to
# 13 are unassigned in every release so far, 15 and 16 are private use for ever.
SCANNED_PLANES = ((0x0, 0x3FFFF), (0xE0000, 0xEFFFF))

# Patterns are compiled where they are used (`re` keeps them): most runs need none.
_ATOM = r"""(?xs)
    (?P<property> \\[pP] (?: \{ (?P<name>[^}]*) \} | (?P<letter>[A-Za-z]) ) )
  | (?P<codepoint> \\[xuU] \{ (?P<hex>[0-9A-Fa-f]{1,8}) \} )
  | (?P<escape> \\ . )
  | (?P<posix> \[:\^?[a-z]+:\] )
  | (?P<comment> \(\?\# [^)]* \) )
  | (?P<char> . )
    """
# What Rust's \w and \d are, spelled out (regex-syntax, "Perl character classes"); `\s` is White_Space in both.
_PERL = {
    "w": r"\p{Alphabetic}\p{M}\p{Nd}\p{Pc}\p{Join_Control}",
    "d": r"\p{Nd}",
}
_LEADING_FLAGS = r"\(\?[a-zA-Z]*-?[a-zA-Z]*\)"
_BACK_REFERENCE = r"\\[1-9]|\(\?P=|\\[gk][<{]"


class Atom(NamedTuple):
    """One element of a pattern: `kind` is a group name of `_ATOM`, or bar, end (`$`), class (`[`), close (`]`)."""

    kind: str
    text: str
    name: str  # of a property, such as L
    depth: int  # of groups around it
    in_class: bool


def atoms(pattern: str) -> Iterator[Atom]:
    """The elements of a pattern, in order; joined, their texts are the pattern.

    >>> [a.text for a in atoms(r"[^\\s\\p{L}]|a$")]
    ['[', '^', '\\\\s', '\\\\p{L}', ']', '|', 'a', '$']
    """
    depth = nesting = 0
    class_start = -1  # where a `]` is a literal
    for match in re.finditer(_ATOM, pattern):
        kind, text = match.lastgroup or "char", match[0]
        name = match["name"] or match["letter"] or ""
        if match["property"] is not None:
            kind = "property"
        elif match["codepoint"] is not None:
            kind, name = "codepoint", match["hex"]
        elif kind == "posix" and not nesting:  # `[:` outside a class opens one
            yield from atoms_of_class_like(text, depth)
            continue
        elif kind == "comment" and nesting:
            kind = "char"
        elif kind == "char" and nesting:
            if text == "[":
                kind, nesting, class_start = "class", nesting + 1, match.end()
            elif text == "^" and match.start() == class_start:
                class_start += 1
            elif text == "]" and match.start() != class_start:
                nesting -= 1
                yield Atom("close", text, "", depth, True)
                continue
        elif kind == "char":
            if text == "[":
                yield Atom("class", text, "", depth, False)
                nesting, class_start = 1, match.end()
                continue
            depth += (text == "(") - (text == ")")
            kind = {"|": "bar", "$": "end"}.get(text, kind)
        yield Atom(kind, text, name, depth, nesting > 0)


def atoms_of_class_like(text: str, depth: int) -> Iterator[Atom]:
    """`[:word:]` outside a class is the class of the characters `:word`."""
    yield Atom("class", "[", "", depth, False)
    for char in text[1:-1]:
        yield Atom("char", char, "", depth, True)
    yield Atom("close", "]", "", depth, True)


def alternatives(pattern: str) -> list[str]:
    """The top-level alternatives of a pattern, in order; joined by `|` they are the pattern.

    >>> alternatives(r"'(?:s|t)| ?\\p{L}+|[|]")
    ["'(?:s|t)", ' ?\\\\p{L}+', '[|]']
    """
    parts = [""]
    for atom in atoms(pattern):
        if atom.kind == "bar" and atom.depth == 0 and not atom.in_class:
            parts.append("")
        else:
            parts[-1] += atom.text
    return parts


def place(source: str, at: int) -> str:
    """A pattern around a place of it, which an arrow marks.

    >>> place("a|(b", 2)
    'There: a|▶(b'
    """
    before, after = source[max(0, at - 30) : at], source[at : at + 30]
    return f"There: {'…' * (at > 30)}{before}▶{after}{'…' * (len(source) > at + 30)}"


def name_alternatives(pattern: str) -> str | None:
    """The pattern with each top-level alternative in a group a1, a2 ...; None where that would change its meaning.

    Numbered references would count the new groups too, so a pattern that has any is left alone.

    >>> name_alternatives(r"a|b")
    '(?P<a1>a)|(?P<a2>b)'
    """
    if re.search(_BACK_REFERENCE, pattern):
        return None
    flags = re.match(_LEADING_FLAGS, pattern)
    head = flags[0] if flags else ""
    parts = alternatives(pattern[len(head) :])
    end = "\n" if "x" in head else ""  # of a comment
    return head + "|".join(f"(?P<a{number}>{part}{end})" for number, part in enumerate(parts, 1))


def rewrite(pattern: str, property_class: Callable[[str, bool], str | None]) -> str:
    """The pattern for `regex.V1`, meaning what it means in Rust.

    `property_class(name, negated)` gives the inside of a character class for a property, or None to leave it as it is.
    """
    out = []
    for atom in atoms(pattern):
        text = atom.text
        if atom.kind == "property":
            negated = (text[1] == "P") != atom.name.startswith("^")
            inner = property_class(atom.name.lstrip("^"), negated)
            text = text if inner is None else f"[{inner}]"
        elif atom.kind == "codepoint":
            text = f"\\U{int(atom.name, 16):08X}"
        elif atom.kind == "escape" and text[1].lower() in _PERL:
            members = "".join(
                property_class(name, False) or rf"\p{{{name}}}"
                for name in re.findall(r"\{(\w+)\}", _PERL[text[1].lower()])
            )
            text = f"[^{members}]" if text[1].isupper() else f"[{members}]"
        elif atom.kind == "escape" and text == r"\z":
            text = r"\Z"
        elif atom.kind == "end" and "(?m" not in pattern:
            text = r"\Z"  # Python's `$` also matches before a last newline
        elif atom.kind == "char" and atom.in_class and text == "|":
            text = r"\|"  # `||` is an operator of V1, and no operator in Rust
        out.append(text)
    return "".join(out)


def properties(pattern: str) -> set[str]:
    """The names of the properties that a pattern uses, and that Unicode 16.0's tables here know."""
    names = {atom.name.lstrip("^") for atom in atoms(pattern) if atom.kind == "property"}
    for atom in atoms(pattern):
        if atom.kind == "escape" and atom.text[1].lower() in _PERL:
            names.update(re.findall(r"\{(\w+)\}", _PERL[atom.text[1].lower()]))
    return {name for name in names if unicode16_ranges(name) is not None}


# --- Unicode 16.0 ----------------------------------------------------------------------------------------------------


@lru_cache(maxsize=256)
def unicode16_ranges(name: str) -> Ranges | None:
    """The code points that have a property in Unicode 16.0; None for a property that we have no table of.

    A general category (`Lu`, `L`, `Letter`), a script (`Han`, `Script=Han`) or one of a few binary properties.

    >>> unicode16_ranges("Zs")[0]
    (32, 32)
    """
    from tokcli.engine import unicode16  # 70 kB of tables: only for text that is not ASCII

    _, _, value = name.rpartition("=")
    key = re.sub(r"[\s_-]", "", value).lower()
    cased: tuple[str, ...] = ("Lu", "Ll", "Lt")
    groups = dict.fromkeys(("lc", "casedletter"), cased)
    for short, long in _CATEGORY_GROUPS.items():
        members = tuple(c for c in unicode16.CATEGORIES if c[0] == short)
        groups |= dict.fromkeys((short.lower(), long), members)
    key = _LONG_NAMES.get(key, key)
    if key in groups:
        return merged(r for member in groups[key] for r in parse_ranges(unicode16.CATEGORIES[member]))
    for tables in (unicode16.CATEGORIES, unicode16.BINARY, unicode16.SCRIPTS):
        for known, ranges in tables.items():
            if known.replace("_", "").lower() == key:
                return tuple(parse_ranges(ranges))
    return None


_CATEGORY_GROUPS = {
    "L": "letter",
    "M": "mark",
    "N": "number",
    "P": "punctuation",
    "S": "symbol",
    "Z": "separator",
    "C": "other",
}


_LONG_NAMES = {
    "uppercaseletter": "lu", "lowercaseletter": "ll", "titlecaseletter": "lt", "modifierletter": "lm",
    "otherletter": "lo", "nonspacingmark": "mn", "spacingmark": "mc", "enclosingmark": "me", "decimalnumber": "nd",
    "letternumber": "nl", "othernumber": "no", "connectorpunctuation": "pc", "dashpunctuation": "pd",
    "openpunctuation": "ps", "closepunctuation": "pe", "initialpunctuation": "pi", "finalpunctuation": "pf",
    "otherpunctuation": "po", "mathsymbol": "sm", "currencysymbol": "sc", "modifiersymbol": "sk", "othersymbol": "so",
    "spaceseparator": "zs", "lineseparator": "zl", "paragraphseparator": "zp", "control": "cc", "format": "cf",
    "privateuse": "co", "unassigned": "cn",
}  # fmt: skip


def parse_ranges(text: str) -> list[tuple[int, int]]:
    """'41-5A 61' -> [(65, 90), (97, 97)]"""
    pairs = (item.partition("-") for item in text.split())
    return [(int(first, 16), int(last or first, 16)) for first, _, last in pairs]


def merged(ranges: Iterable[tuple[int, int]]) -> Ranges:
    """Ranges in any order -> sorted ranges, those that touch joined."""
    out: list[tuple[int, int]] = []
    for first, last in sorted(ranges):
        if out and first <= out[-1][1] + 1:
            out[-1] = (out[-1][0], max(last, out[-1][1]))
        else:
            out.append((first, last))
    return tuple(out)


def minus(left: Ranges, right: Ranges) -> Ranges:
    """The code points of `left` that are not in `right`.

    >>> minus(((1, 9),), ((3, 4), (9, 12)))
    ((1, 2), (5, 8))
    """
    out = []
    index = 0
    for first, last in left:
        while index < len(right) and right[index][1] < first:
            index += 1
        at = index
        while first <= last:
            if at == len(right) or right[at][0] > last:
                out.append((first, last))
                break
            if first < right[at][0]:
                out.append((first, right[at][0] - 1))
            first = right[at][1] + 1
            at += 1
    return tuple(out)


def members(characters: Iterable[str], ranges: Ranges) -> set[str]:
    """Those of some characters that are in ascending ranges.

    >>> sorted(members("abcxyz", ((98, 99), (121, 130))))
    ['b', 'c', 'y', 'z']
    """
    bounds = _bounds(ranges)
    return {char for char in characters if bisect_right(bounds, ord(char)) & 1}


@lru_cache(maxsize=256)
def _bounds(ranges: Ranges) -> list[int]:
    """The first code point of each range, and the one behind it, in a row."""
    return [bound for first, last in ranges for bound in (first, last + 1)]


def class_members(ranges: Ranges) -> str:
    r"""Ranges as the inside of a character class: ((65, 90),) -> '\U00000041-\U0000005A'."""
    return "".join(f"\\U{a:08X}" if a == b else f"\\U{a:08X}-\\U{b:08X}" for a, b in ranges)
