r"""Says in words what each alternative of a pattern matches: ` ?\p{N}{1,3}` is "optional space; 1 to 3 digits".

Only what can be said briefly is said; an alternative with other syntax has no words, and its source must speak.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from tokcli.engine.pretokenizers.nodes import (
    Alternation,
    Assertion,
    CharacterClass,
    Concatenation,
    Group,
    LookAround,
    PatternNode,
    PatternTree,
    Quantified,
)
from tokcli.engine.pretokenizers.parser import parse
from tokcli.engine.pretokenizers.rewrite import Atom, atoms
from tokcli.errors import PatternError

_LONGEST = 300  # characters of an explanation; the source says more than a longer one would
_MOST_LISTED = 12  # characters of a class that are listed one by one


class _Words(NamedTuple):
    """A kind of character, alone and several; equal for what is not counted. `is_literal`: one character itself."""

    one: str
    many: str
    is_literal: bool = False


_KINDS = {
    "L": _Words("letter", "letters"),
    "Lu": _Words("uppercase letter", "uppercase letters"),
    "Ll": _Words("lowercase letter", "lowercase letters"),
    "Lt": _Words("titlecase letter", "titlecase letters"),
    "Lm": _Words("modifier letter", "modifier letters"),
    "Lo": _Words("letter without case", "letters without case"),
    "M": _Words("combining mark", "combining marks"),
    "N": _Words("digit", "digits"),
    "Nd": _Words("decimal digit", "decimal digits"),
    "P": _Words("punctuation mark", "punctuation marks"),
    "S": _Words("symbol", "symbols"),
    "Z": _Words("separator", "separators"),
    "Han": _Words("Han character", "Han characters"),
}
_WHITE = _Words("white space", "white space")
_LINE_BREAK = _Words("line break", "line breaks")
_ESCAPES = {
    r"\s": _WHITE,
    r"\S": _Words("character that is not white space", "characters that are not white space"),
    r"\d": _Words("decimal digit", "decimal digits"),
    r"\w": _Words("word character", "word characters"),
    ".": _Words("character other than a line break", "characters other than line breaks"),
    " ": _Words("space", "spaces", is_literal=True),
    r"\t": _Words("tab", "tabs", is_literal=True),
    r"\r": _LINE_BREAK,
    r"\n": _LINE_BREAK,
}
_RANGES = {("0", "9"): _Words("digit", "digits"), ("a", "z"): _KINDS["L"], ("A", "Z"): _KINDS["L"]}
_ASSERTIONS = {"$": "at the end", r"\z": "at the end", "^": "at the beginning", r"\b": "at the edge of a word"}
_SETS = {  # those of o200k_base and its relatives, in which all letters but those of one case are listed
    frozenset(("Lu", "Lt", "Lm", "Lo", "M")): _Words("letter that is not lowercase", "letters that are not lowercase"),
    frozenset(("Ll", "Lm", "Lo", "M")): _Words("letter that is not uppercase", "letters that are not uppercase"),
    frozenset(("L", "M")): _Words("letter", "letters"),
}


def explain(pat_str: str) -> list[str]:
    r"""Return the words for each top-level alternative of a pattern, "" for one that takes too many.

    >>> explain(r" ?\p{N}{1,3}|\s+(?!\S)|(a)\1")
    ['Optional space; 1 to 3 digits', 'White space; before white space or the end', '']
    """
    tree = parse(pat_str)
    return [_explained(tree, alternative.items) for alternative in tree.alternatives]


class _TooMuchError(Exception):
    """Raised for syntax that has no words here."""


def _explained(tree: PatternTree, items: Sequence[PatternNode]) -> str:
    try:
        text = _sequence(tree, items)
    except (_TooMuchError, PatternError):
        return ""
    return "" if len(text) > _LONGEST else text[:1].upper() + text[1:]


def _sequence(tree: PatternTree, items: Sequence[PatternNode]) -> str:
    """Return the words for items one after the other; characters in a row are one quoted text."""
    found: list[str] = []
    literal = ""
    for item in items:
        char = _literal(tree, item)
        if char is not None:
            literal += char
            continue
        if literal:
            found.append(_quoted(literal))
            literal = ""
        found.append(_words(tree, item))
    return "; ".join([*found, _quoted(literal)] if literal else found)


def _quoted(text: str) -> str:
    return "space" if text == " " else f"\u201c{text}\u201d"


def _literal(tree: PatternTree, item: PatternNode) -> str | None:
    """Return the only character that an item matches as it is written, None for any other item."""
    text = tree.text(item)
    if not isinstance(item, CharacterClass):
        return None
    if len(text) == 1:
        return None if text == "." else text
    return text[1] if len(text) == 2 and text[0] == "\\" and not text[1].isalnum() else None


def _words(tree: PatternTree, node: PatternNode) -> str:
    """Return the words for one item of a sequence."""
    if isinstance(node, CharacterClass):
        kind = _kind(tree.text(node))
        return kind.one if kind.is_literal or kind is _WHITE else f"one {kind.one}"
    if isinstance(node, Quantified):
        return _repeated(tree, node)
    if isinstance(node, LookAround):
        return _condition(tree, node)
    if isinstance(node, Group):
        case = ", in any case" if "i" in node.flags.partition("-")[0] else ""
        return _words(tree, node.item) + case
    if isinstance(node, Alternation):
        return _listed([_words(tree, child) for child in node.children], "or")
    if isinstance(node, Assertion) and tree.text(node) in _ASSERTIONS:
        return _ASSERTIONS[tree.text(node)]
    if isinstance(node, Concatenation):
        return _sequence(tree, node.children)
    raise _TooMuchError


def _repeated(tree: PatternTree, node: Quantified) -> str:
    """Return the words for an item with a quantifier: `optional space`, `1 to 3 digits`."""
    is_optional = (node.least, node.most) == (0, 1)
    if not isinstance(node.item, CharacterClass):
        item = _words(tree, node.item)
        if is_optional:
            return f"optional {item}"
        if node.most is None and node.least <= 1:
            return f"{item}, {'once or more' if node.least else 'any number of times'}"
        return f"{item}, {_range(node.least, node.most)} times"
    kind = _kind(tree.text(node.item))
    if is_optional:
        return f"optional {kind.one}"
    if node.most is None and node.least <= 1:
        many = "one or more " * (kind is not _WHITE) if node.least else "any "
        return many + kind.many
    return f"{_range(node.least, node.most)} {kind.many}"


def _range(least: int, most: int | None) -> str:
    if most is None:
        return f"{least} or more"
    return f"{least}" if least == most else f"{least} to {most}"


def _condition(tree: PatternTree, node: LookAround) -> str:
    isnt = tree.text(node).startswith(("(?!", "(?<!"))
    if isnt and not node.behind and tree.text(node.item) == r"\S":
        return "before white space or the end"
    return f"{'not ' * isnt}{'after' if node.behind else 'before'} {_words(tree, node.item)}"


def _kind(source: str) -> _Words:
    r"""Return what a character class matches.

    >>> _kind(r"[^\r\n\p{L}]").many, _kind(r"[abc]").one, _kind(r"[\r\n]").one
    ('characters other than line breaks and letters', 'a, b or c', 'line break')
    """
    found = list(atoms(source))
    if found[0].kind != "class":
        return _of_atom(found[0]) if len(found) == 1 else _raise()
    if any(atom.kind in ("class", "posix") for atom in found[1:]):
        _raise()
    inner = found[1:-1]
    is_negated = bool(inner) and inner[0].text == "^"
    kinds = _members(inner[is_negated:])
    if is_negated:
        others = _listed([kind.many for kind in kinds], "and")
        return _Words(f"character other than {others}", f"characters other than {others}")
    names = frozenset(atom.name for atom in inner)
    if names in _SETS and all(atom.kind == "property" for atom in inner):
        return _SETS[names]
    if len(kinds) == 1:
        return kinds[0]
    is_literal = all(kind.is_literal for kind in kinds)
    return _Words(_listed([k.one for k in kinds], "or"), _listed([k.many for k in kinds], "or"), is_literal)


def _raise() -> _Words:
    raise _TooMuchError


def _members(inner: Sequence[Atom]) -> list[_Words]:
    """Return the members of a class without repeats: kinds, characters, and ranges such as `a-z`."""
    found: dict[_Words, None] = {}
    at = 0
    while at < len(inner):
        if at + 2 < len(inner) and inner[at + 1].text == "-":
            found[_span(_of_atom(inner[at]).one, _of_atom(inner[at + 2]).one)] = None
            at += 3
        else:
            found[_of_atom(inner[at])] = None
            at += 1
    if len(found) > _MOST_LISTED:
        raise _TooMuchError
    return list(found)


def _span(first: str, last: str) -> _Words:
    """Return the words for a range of characters.

    >>> _span("0", "9").many
    'digits 0 to 9'
    """
    kind = _RANGES.get((first, last))
    one, many = (f"{kind.one} ", f"{kind.many} ") if kind else ("", "")
    return _Words(f"{one}{first} to {last}", f"{many}{first} to {last}")


def _of_atom(atom: Atom) -> _Words:
    if atom.kind == "property" and not atom.text.startswith(r"\P"):
        known = _KINDS.get(atom.name)
    elif atom.text in _ESCAPES and not (atom.in_class and atom.text == "."):
        known = _ESCAPES[atom.text]
    elif len(atom.text) == 1 or (len(atom.text) == 2 and not atom.text[1].isalnum()):
        known = _Words(atom.text[-1], atom.text[-1], is_literal=True)
    else:
        known = None
    return known or _raise()


def _listed(words: Sequence[str], last: str) -> str:
    """Return words as a list: `a, b or c`."""
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} {last} {words[-1]}"
