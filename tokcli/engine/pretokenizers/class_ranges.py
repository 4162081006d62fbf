r"""The code points that a character class of a pattern matches, by the tables of Unicode 16.0, without `regex`.

A class means here what it means to `regex` (V1) after compiling.py has rewritten it. For anything rare, such as
`[[:alpha:]]` or a property the tables lack, NotCompiledError leaves the pattern to `regex`.
"""

from __future__ import annotations

import re
from functools import lru_cache

from tokcli.engine.pretokenizers.rewrite import PERL, Atom, atoms
from tokcli.engine.unicode.properties import unicode16_ranges
from tokcli.engine.unicode.ranges import SPACES, Ranges, merged, minus

ALL: Ranges = ((0, 0x10FFFF),)
_CONTROLS = {"n": 10, "r": 13, "t": 9, "f": 12, "v": 11, "a": 7}
_CODE_POINT = re.compile(r"\\(?:x([0-9A-Fa-f]{2})|u([0-9A-Fa-f]{4})|U([0-9A-Fa-f]{8}))")
# what `regex` takes for an ASCII letter where case is ignored, beside its other case
_MORE_CASES = {"i": 0x130, "I": 0x131, "k": 0x212A, "K": 0x212A, "s": 0x17F, "S": 0x17F}
_OPERATORS = ("~~", "&&", "--")  # of V1, from the loosest to the tightest; `||` is written `\|\|` for it


class NotCompiledError(Exception):
    """A pattern, or a part of one, that is left to `regex`."""


@lru_cache(maxsize=256)
def ranges_of(source: str, ignore_case: bool = False, dot_all: bool = False) -> Ranges:
    r"""Return the code points that a character class matches; NotCompiledError for a class that is left to `regex`.

    >>> ranges_of("[a-c]"), ranges_of("x", ignore_case=True), ranges_of(".")
    (((97, 99),), ((88, 88), (120, 120)), ((0, 9), (11, 1114111)))
    """
    if source == ".":
        return ALL if dot_all else minus(ALL, ((10, 10),))
    reader = _ClassReader(source, ignore_case)
    found = reader.item() if source[0] != "[" else reader.bracket()
    if not reader.is_done or not found:
        raise NotCompiledError(source)
    return found


@lru_cache(maxsize=64)
def named_ranges(name: str) -> Ranges:
    """Return the code points of a property of Unicode 16.0, of "s" (white space), or of Rust's "w" and "d"."""
    if name == "s":
        return merged((ord(char), ord(char)) for char in SPACES)
    names = re.findall(r"\{(\w+)\}", PERL[name]) if name in PERL else [name]
    found: list[tuple[int, int]] = []
    for each in names:
        ranges = unicode16_ranges(each)
        if ranges is None:
            raise NotCompiledError(name)
        found += ranges
    return merged(found)


class _ClassReader:
    """Reads one class: a character, an escape, or a class in brackets."""

    def __init__(self, source: str, ignore_case: bool) -> None:
        self._source = source
        self._atoms: list[Atom] = list(atoms(source))
        self._next = 0
        self._ignore_case = ignore_case

    @property
    def is_done(self) -> bool:
        """Whether all of the class was read."""
        return self._next == len(self._atoms)

    def _peek(self) -> str:
        return self._atoms[self._next].text if not self.is_done else ""

    def bracket(self) -> Ranges:
        """Read a class in brackets, with the classes and operators inside it."""
        self._next += 1
        negated = self._peek() == "^"
        self._next += negated
        if self._peek() in ("]", ""):
            raise NotCompiledError("a ] as the first member")
        found = self._operation(0)
        if self._peek() != "]":
            raise NotCompiledError("a class without its end")
        self._next += 1
        return minus(ALL, found) if negated else found

    def _operation(self, level: int) -> Ranges:
        if level == len(_OPERATORS):
            return self._union()
        found = self._operation(level + 1)
        while self._takes(_OPERATORS[level]):
            other = self._operation(level + 1)
            if level == 0:
                found = merged([*minus(found, other), *minus(other, found)])
            else:
                outside = minus(found, other)
                found = outside if level == 2 else minus(found, outside)
        return found

    def _at(self, operator: str) -> bool:
        two = self._atoms[self._next : self._next + 2]
        return len(two) == 2 and all(atom.text == operator[0] for atom in two)

    def _takes(self, operator: str) -> bool:
        is_here = self._at(operator)
        self._next += 2 * is_here
        return is_here

    def _union(self) -> Ranges:
        found = [*self._member()]
        while self._peek() not in ("]", "") and not any(map(self._at, _OPERATORS)):
            found += self._member()
        return merged(found)

    def _member(self) -> Ranges:
        """Read an item, or a range between two characters."""
        first = self._literal()
        if first is None:
            return self.item()
        if self._peek() != "-" or self._at("--"):
            return self._in_all_cases(first, first)
        self._next += 1
        if self._peek() == "]":
            return merged([*self._in_all_cases(first, first), (0x2D, 0x2D)])
        last = self._literal()
        if last is None:
            return merged([*self._in_all_cases(first, first), (0x2D, 0x2D), *self.item()])
        if last < first:
            raise NotCompiledError("a range that ends before it begins")
        return self._in_all_cases(first, last)

    def _literal(self) -> int | None:
        """Read a single character and return its code point; return None, and read nothing, for anything else."""
        if self.is_done:
            return None
        atom = self._atoms[self._next]
        text = atom.text
        if atom.kind == "escape":
            return self._escaped(text[1])
        if atom.kind == "codepoint":
            found = int(atom.name, 16)
            if found > 0x10FFFF:
                raise NotCompiledError("no code point")
        elif len(text) == 1 and atom.kind not in ("class", "close"):
            found = ord(text)
        else:
            return None
        self._next += 1
        return found

    def _escaped(self, char: str) -> int | None:
        if char in "sSwWdD":
            return None
        if char in "xuU":
            at = sum(len(atom.text) for atom in self._atoms[: self._next])
            match = _CODE_POINT.match(self._source, at)
            if match is None or int(match[match.lastindex or 1], 16) > 0x10FFFF:
                raise NotCompiledError("an escape of another kind")
            while at < match.end():
                at += len(self._atoms[self._next].text)
                self._next += 1
            return int(match[match.lastindex or 1], 16)
        if char in _CONTROLS:
            self._next += 1
            return _CONTROLS[char]
        if char.isalnum() or char == "_" or ord(char) > 127:
            raise NotCompiledError("an escape of another kind")
        self._next += 1
        return ord(char)

    def item(self) -> Ranges:
        """Read an item that is not a range: a character, a property, `\\w`, or a class in brackets."""
        literal = self._literal()
        if literal is not None:
            return self._in_all_cases(literal, literal)
        if self.is_done:
            raise NotCompiledError("a class without its end")
        atom = self._atoms[self._next]
        if atom.kind == "class":
            return self.bracket()
        if atom.kind not in ("property", "escape"):
            raise NotCompiledError(atom.text)
        name, negated = atom.text[1].lower(), atom.text[1].isupper()
        if atom.kind == "property":
            name, negated = atom.name.lstrip("^"), negated != atom.name.startswith("^")
            if not name.replace("_", "").isalnum() or name in ("s", "w", "d"):
                raise NotCompiledError(atom.text)
        if self._ignore_case and name != "s":
            raise NotCompiledError("the cases of a property")
        self._next += 1
        found = named_ranges(name)
        return minus(ALL, found) if negated else found

    def _in_all_cases(self, first: int, last: int) -> Ranges:
        if not self._ignore_case:
            return ((first, last),)
        if last > 127:
            if first == last and _has_no_case(first):
                return ((first, last),)
            raise NotCompiledError("the cases of letters outside ASCII")
        codes = {first + i for i in range(last - first + 1)}
        for char in [chr(code) for code in sorted(codes) if chr(code).isalpha()]:
            codes |= {ord(char.swapcase()), _MORE_CASES.get(char, ord(char))}
        return merged((code, code) for code in codes)


def _has_no_case(code: int) -> bool:
    """Return whether a character surely has no other case: punctuation and spaces."""
    return any(first <= code <= last for name in ("P", "Zs") for first, last in unicode16_ranges(name) or ())
