r"""Translates Oniguruma's patterns (with Ruby's syntax, as Hugging Face's tokenizers uses it) into ours.

In Oniguruma anchors are those of lines, `(?m)` lets the dot match newlines, `{1,3}+` repeats a repeat, and classes have
other members: `\w` has no joiners, and outside brackets it has six more numbers. (Oniguruma 6.9, doc/RE; experiments.)
"""

from __future__ import annotations

import re

from tokcli.engine.pretokenizers import rewrite as patterns

_WORD = r"\p{Alphabetic}\p{M}\p{Nd}\p{Pc}"
_WORD_OUTSIDE = _WORD + r"\u00b2\u00b3\u00b9\u00bc-\u00be"
_BOUNDARY = f"(?:(?<=[{_WORD_OUTSIDE}])(?![{_WORD_OUTSIDE}])|(?<![{_WORD_OUTSIDE}])(?=[{_WORD_OUTSIDE}]))"
_NO_BOUNDARY = f"(?:(?<=[{_WORD_OUTSIDE}])(?=[{_WORD_OUTSIDE}])|(?<![{_WORD_OUTSIDE}])(?![{_WORD_OUTSIDE}]))"
_ANCHORS = {"^": r"(?:(?<=\n)|\A)", "$": r"(?=\n|\z)"}
_OUTSIDE = {
    r"\w": f"[{_WORD_OUTSIDE}]",
    r"\W": f"[^{_WORD_OUTSIDE}]",
    r"\b": _BOUNDARY,
    r"\B": _NO_BOUNDARY,
    r"\Z": r"(?=\n?\z)",
    r"\h": "[0-9A-Fa-f]",
    r"\H": "[^0-9A-Fa-f]",
}
_INSIDE = {r"\w": f"[{_WORD}]", r"\W": f"[^{_WORD}]", r"\h": "0-9A-Fa-f", r"\H": "[^0-9A-Fa-f]"}
_POSIX = {
    "alnum": r"\p{Alphabetic}\p{Nd}",
    "alpha": r"\p{Alphabetic}",
    "digit": r"\p{Nd}",
    "graph": r"[^\p{White_Space}\p{Cc}\p{Cn}]",
    "lower": r"\p{Lowercase}",
    "print": r"[^\p{White_Space}\p{Cc}\p{Cn}]\p{Zs}",
    "punct": r"\p{P}\p{S}",
    "upper": r"\p{Uppercase}",
    "word": _WORD,
}
_PROPERTIES = _POSIX | {"punct": r"\p{P}", "word": _WORD_OUTSIDE}
_INTERVAL = r"\{[0-9]*(,?)[0-9]*\}([+?]?)"
_FLAGS = r"\(\?[imx]*(?:-[imx]*)?[:)]"


def translated(pattern: str) -> str:
    r"""Return the pattern in the language of a pat_str.

    >>> translated(r"^\p{N}{1,3}+$")
    '(?:(?<=\\n)|\\A)(?:\\p{N}{1,3})+(?=\\n|\\z)'
    """
    out: list[str] = []
    groups: list[int] = []  # the places in `out` where open groups begin
    item = nesting = position = skipped = 0  # item: the place in `out` of what a quantifier here would repeat
    for atom in patterns.atoms(pattern):
        begin, position = position, position + len(atom.text)
        if begin < skipped:
            continue
        if atom.in_class or atom.kind == "class":
            if not nesting:
                item = len(out)
            nesting += (atom.kind == "class") - (atom.kind == "close")
            out.append(_member(atom))
        elif atom.text == "{" and (interval := re.compile(_INTERVAL).match(pattern, begin)):
            if interval[2] == "+" or (interval[2] == "?" and not interval[1]):
                skipped = interval.end(2) - 1
                out[item:] = ["(?:", *out[item:], pattern[begin:skipped], ")"]
            else:
                out.append(atom.text)
        elif atom.text == "(":
            groups.append(len(out))
            flags = re.compile(_FLAGS).match(pattern, begin)
            skipped = flags.end() if flags else skipped
            # flag f of `regex`: Oniguruma's flag i is full case folding, by which U+00DF is "ss"
            out.append(flags[0].replace("m", "s").replace("i", "if") if flags else atom.text)
            if flags and flags[0].endswith(")"):
                groups.pop()
        elif atom.text in "*+?" or atom.kind == "bar":
            out.append(atom.text)
        elif atom.text == ")":
            item = groups.pop() if groups else len(out)
            out.append(atom.text)
        else:
            item = len(out)
            out.append(_outside(atom))
    return "".join(out)


def _property(atom: patterns.Atom) -> str:
    if "{" not in atom.text:  # without braces, p is a letter
        return atom.text[1:]
    members = _PROPERTIES.get(atom.name.lstrip("^").lower())
    if members is None:
        return atom.text
    negated = (atom.text[1] == "P") != atom.name.startswith("^")
    return f"[{'^' if negated else ''}{members}]"


def _outside(atom: patterns.Atom) -> str:
    if atom.kind == "property":
        return _property(atom)
    return (_OUTSIDE if atom.kind == "escape" else _ANCHORS).get(atom.text, atom.text)


def _member(atom: patterns.Atom) -> str:
    if atom.kind == "property":
        return _property(atom)
    if atom.kind == "posix":
        members = _POSIX.get(atom.text.strip("[]:^"))
        if members is not None:
            return f"[{'^' if atom.text[2] == '^' else ''}{members}]"
    return _INSIDE.get(atom.text, atom.text) if atom.kind == "escape" else atom.text
