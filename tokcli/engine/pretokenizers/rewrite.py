r"""Reads a pat_str: its atoms and alternatives. Rewrites it so that it means the same to the `regex` package.

tiktoken's patterns are written for Rust's `regex` and `fancy_regex` with the classes of Unicode 16.0. The `regex`
package reads nearly the same language, with the Unicode of its own release; what differs is rewritten here. Compiling
is left to compiling.py.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from tokcli.engine.unicode.properties import unicode16_ranges

# `re` compiles these when they are first used, and caches them: most runs of the program need none.
_ATOM = r"""(?xs)
    (?P<property> \\[pP] (?: \{ (?P<name>\^?[A-Za-z0-9_\ &.:=-]*) \} | (?P<letter>[A-Za-z]) ) )
  | (?P<codepoint> \\[xuU] \{ (?P<hex>[0-9A-Fa-f]{1,8}) \} )
  | (?P<escape> \\ . )
  | (?P<posix> \[:\^?[a-z]+:\] )
  | (?P<comment> \(\?\# [^)]* \) )
  | (?P<char> . )
    """
# Rust's \w and \d (regex-syntax, "Perl character classes"); `\s` is White_Space in both.
PERL = {
    "w": r"\p{Alphabetic}\p{M}\p{Nd}\p{Pc}\p{Join_Control}",
    "d": r"\p{Nd}",
}
_BOUNDARIES = {  # where a word (a run of the class in braces) begins or ends; and where none does
    r"\b": "(?-i:(?<={0})(?!{0})|(?<!{0})(?={0}))",
    r"\B": "(?-i:(?<={0})(?={0})|(?<!{0})(?!{0}))",
}
_LEADING_FLAGS = r"\(\?(?:[aiLmsuxUbefprw-]|V[01])*\)"
# What refers to a group by its number or its name: \1, \g<n>, (?P=n), (?(1)a|b), (?1), (?R), (?&n), (?P>n)
_BACK_REFERENCE = r"\\[1-9]|\\[gk][<{]|\(\?(?:P[=>]|\(|&|R|[-+]?[0-9])"
_CAPTURES = r"\((?:\?P?<\w+>|(?![?*]))"  # the opening of a group that captures


class Atom:
    """One element of a pattern. `kind` is the name of a group of `_ATOM`, or bar, end (`$`), class (`[`), close (`]`).

    >>> next(atoms("|")).kind
    'bar'
    """

    __slots__ = ("depth", "in_class", "kind", "name", "text")

    def __init__(self, kind: str, text: str, name: str, depth: int, in_class: bool) -> None:
        self.kind, self.text = kind, text
        self.name = name  # of a property, such as L; the digits of a code point
        self.depth = depth  # the number of groups that enclose it
        self.in_class = in_class


def atoms(pattern: str) -> Iterator[Atom]:
    """Yield the elements of a pattern in order; joined, their texts are the pattern.

    >>> [a.text for a in atoms(r"[^\\s\\p{L}]|a$")]
    ['[', '^', '\\\\s', '\\\\p{L}', ']', '|', 'a', '$']
    """
    depth = nesting = 0
    class_start = -1  # the index at which a `]` is a literal
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
    """Yield the elements of `[:word:]` outside a class, where it is the class of the characters `:word`."""
    yield Atom("class", "[", "", depth, False)
    for char in text[1:-1]:
        yield Atom("char", char, "", depth, True)
    yield Atom("close", "]", "", depth, True)


def alternatives(pattern: str) -> list[str]:
    """Return the top-level alternatives of a pattern in order; joined by `|`, they are the pattern.

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
    """Return a line that shows a pattern around one index, which an arrow marks.

    >>> place("a|(b", 2)
    'There: a|▶(b'
    """
    before, after = source[max(0, at - 30) : at], source[at : at + 30]
    return f"There: {'…' * (at > 30)}{before}▶{after}{'…' * (len(source) > at + 30)}"


def name_alternatives(pattern: str) -> str | None:
    """Put each top-level alternative of a pattern into a group a1, a2, ...; None where that would change its meaning.

    A numbered reference would count the new groups too, so a pattern with references gives None. Without references,
    the groups of the pattern itself need not capture; they would hide which alternative matched.

    >>> name_alternatives(r"a|(b)|(?P<a1>c)")
    '(?P<a1>a)|(?P<a2>(?:b))|(?P<a3>(?:c))'
    """
    if re.search(_BACK_REFERENCE, pattern):
        return None
    flags = re.match(_LEADING_FLAGS, pattern)
    head = flags[0] if flags else ""
    parts = alternatives(_without_captures(pattern[len(head) :]))
    end = "\n" if "x" in head else ""  # ends a comment
    return head + "|".join(f"(?P<a{number}>{part}{end})" for number, part in enumerate(parts, 1))


def without_required_text(pattern: str) -> str:
    """Add an alternative that never matches, so that there is no text that every match contains.

    >>> without_required_text("(?i)ab")
    '(?i)(?!)|ab'
    """
    flags = re.match(_LEADING_FLAGS, pattern)
    head = flags[0] if flags else ""
    return f"{head}(?!)|{pattern[len(head) :]}"


def with_simple_case_folding(pattern: str) -> str:
    """Make flag i of a pattern mean Unicode's simple case folding, of one character to one, as in Rust.

    `regex.V1` begins with full case folding (its flag f), by which U+00DF is "ss"; a part may set the flag again.

    >>> with_simple_case_folding("(?i)a"), with_simple_case_folding("a")
    ('(?i)(?-f)a', 'a')
    """
    if not re.search(r"\(\?[a-zA-Z0-9]*i", pattern):
        return pattern
    flags = re.match(_LEADING_FLAGS, pattern)
    head = flags[0] if flags else ""
    return f"{head}(?-f){pattern[len(head) :]}"


def _without_captures(pattern: str) -> str:
    """Return a pattern whose groups do not capture."""
    out, position, skipped = [], 0, 0
    for atom in atoms(pattern):
        begin, position = position, position + len(atom.text)
        if begin < skipped:
            continue
        opening = re.compile(_CAPTURES).match(pattern, begin) if atom.text == "(" and not atom.in_class else None
        skipped = opening.end() if opening else 0
        out.append("(?:" if opening else atom.text)
    return "".join(out)


def rewrite(pattern: str, property_class: Callable[[str, bool], str | None]) -> str:
    """Rewrite a pattern so that it means to `regex.V1` what it means in Rust.

    `property_class(name, negated)` returns the inside of a character class for a property, or None to keep the property
    as it is.
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
        elif names := _perl_names(atom):
            exact = [property_class(name, False) for name in names]
            members = "".join(own or rf"\p{{{name}}}" for own, name in zip(exact, names, strict=True))
            if text not in _BOUNDARIES:
                text = f"[^{members}]" if text[1].isupper() else f"[{members}]"
            elif any(exact):
                text = _BOUNDARIES[text].format(f"[{members}]")
        elif atom.kind == "escape" and text == r"\z":
            text = r"\Z"
        elif atom.kind == "end" and "(?m" not in pattern:
            text = r"\Z"  # Python's `$` also matches before a last newline
        elif atom.kind == "char" and atom.in_class and text == "|":
            text = r"\|"  # `||` is an operator of V1, but not of Rust
        out.append(text)
    return "".join(out)


def _perl_names(atom: Atom) -> list[str]:
    """Return the names of the properties of an escape's class, or of the words whose boundary it is; [] for others."""
    if atom.kind != "escape":
        return []
    name = "w" if atom.text in _BOUNDARIES and not atom.in_class else atom.text[1].lower()
    return re.findall(r"\{(\w+)\}", PERL.get(name, ""))


def properties(pattern: str) -> frozenset[str]:
    """Return the names of the properties that a pattern uses and that the tables of Unicode 16.0 have."""
    names = {atom.name.lstrip("^") for atom in atoms(pattern) if atom.kind == "property"}
    for atom in atoms(pattern):
        names.update(_perl_names(atom))
    return frozenset(name for name in names if unicode16_ranges(name) is not None)
