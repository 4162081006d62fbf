"""The syntax of patterns of file names: those of .gitignore files as git reads them, and braces as ripgrep does.

Names are texts of one character for each byte, as git matches them.
"""

from __future__ import annotations

import re
import string
from collections.abc import Iterator
from itertools import groupby, product
from math import prod
from typing import NamedTuple

from tokcli.cli.walk.glob_set import Glob, Step

MAX_GLOBS = 1000  # that one with braces may stand for
MAX_GLOBS_CHARS = 1 << 16  # of all of these together
_SPECIAL = re.compile(r"[*?\[\\]")
_ANYWHERE = re.compile(r"(?:\*{2,}/)+")
_WHITE = " \t\n\r\v\f"
_MARK = re.compile(r"\\.|[\[{},]", re.DOTALL)
_ANY = Step("/", negated=True)
_SLASH = Step("/")
_KINDS = {  # of characters in a class, as `[[:alpha:]]`
    "alnum": string.ascii_letters + string.digits,
    "alpha": string.ascii_letters,
    "blank": " \t",
    "cntrl": "".join(map(chr, [*range(32), 127])),
    "digit": string.digits,
    "graph": string.ascii_letters + string.digits + string.punctuation,
    "lower": string.ascii_lowercase,
    "print": string.ascii_letters + string.digits + string.punctuation + " ",
    "punct": string.punctuation,
    "space": _WHITE,
    "upper": string.ascii_uppercase,
    "xdigit": string.hexdigits,
}


class Rule(NamedTuple):
    """One line: its pattern, what it says about a path that matches, and what it is matched against.

    A pattern that only one text matches is that text. `verdict` is False for a line that begins with `!`, else True. A
    pattern `of_paths` is matched against the whole path, any other against its last name.
    """

    glob: Glob | str
    verdict: bool
    only_folders: bool
    of_paths: bool


def rule_of(line: str) -> Rule | None:
    r"""Return what a line of a .gitignore file says; None for a line without a pattern that could match anything.

    >>> rule_of("!/build/")
    Rule(glob='build', verdict=False, only_folders=True, of_paths=True)
    >>> rule_of("**/a")
    Rule(glob='a', verdict=True, only_folders=False, of_paths=False)
    >>> rule_of("# text"), rule_of("[a"), rule_of("a\\"), rule_of("a//")
    (None, None, None, None)
    """
    line = _stripped(line)
    if line[:1] in ("", "#"):
        return None
    verdict = line[0] != "!"
    line = line if verdict else line[1:]
    only_folders, line = line.endswith("/"), line.removesuffix("/")
    of_paths = "/" in line
    line = line.removeprefix("/")
    if line[:1] in ("", "/") or line[-1] == "/":  # no path begins or ends with another slash
        return None
    if of_paths and (anywhere := _ANYWHERE.match(line)) and "/" not in line[anywhere.end() :]:
        of_paths, line = False, line[anywhere.end() :]
    glob = line if _SPECIAL.search(line) is None else _GlobReader(line, of_paths).glob()
    return None if glob is None else Rule(glob, verdict, only_folders, of_paths)


def _stripped(line: str) -> str:
    r"""Return a line without the white space at its end, but with what a backslash escapes.

    >>> _stripped("a b \t"), _stripped(r"a\   ")
    ('a b', 'a\\ ')
    """
    bare = line.rstrip(_WHITE)
    escapes = len(bare) - len(bare.rstrip("\\"))
    return line[: len(bare) + escapes % 2]


class _GlobReader:
    """Reads one pattern from left to right."""

    def __init__(self, text: str, of_paths: bool) -> None:
        self._text, self._of_paths = text, of_paths
        self._at = 0
        self._steps: list[Step] = []
        self._stars: list[int] = []
        self._deep: list[int] = []
        self._skips: list[int] = []

    def glob(self) -> Glob | str | None:
        """Return the pattern, or the only text that matches it; None if it is not a pattern."""
        text = self._text
        while self._at < len(text):
            char = text[self._at]
            if char == "*":
                self._read_stars()
                continue
            self._at += 1
            if char == "[":
                step = self._read_class()
                if step is None:
                    return None
            elif char == "?":
                step = _ANY
            else:
                if char == "\\":
                    if self._at == len(text):
                        return None
                    char = text[self._at]
                    self._at += 1
                step = Step(char)
            self._steps.append(step)
        glob = Glob(tuple(self._steps), tuple(self._stars), tuple(self._deep), tuple(self._skips))
        return glob if glob.literal is None else glob.literal

    def _read_stars(self) -> None:
        """Read one or several `*`: two or more between slashes stand for any folders, others for part of a name."""
        text, begin = self._text, self._at
        while text[self._at : self._at + 1] == "*":
            self._at += 1
        is_whole = begin == 0 or text[begin - 1] == "/"
        if not (self._of_paths and self._at > begin + 1 and is_whole and text[self._at : self._at + 1] in ("", "/")):
            self._stars.append(len(self._steps))
        elif self._at == len(text):  # all that is below a folder
            self._steps.append(_ANY)
            self._deep.append(len(self._steps))
        else:
            self._skips.append(len(self._steps))
            self._steps += [_ANY, _SLASH]
            self._deep.append(len(self._steps) - 1)
            self._at += 1
            if more := _ANYWHERE.match(text, self._at):
                self._at = more.end()

    def _read_class(self) -> Step | None:
        """Return the step of a class whose `[` has been read; None if it has no end, or names a kind that is none."""
        text, at = self._text, self._at
        negated = text[at : at + 1] in ("!", "^")
        at += negated
        first, before, taken = at, "", set[str]()  # `before` may begin a range
        close = 0  # the next "]", once it is searched for
        while at < len(text) and (text[at] != "]" or at == first):
            char, at = text[at], at + 1
            if char == "[" and text[at : at + 1] == ":":
                close = text.find("]", at) if close < at else close
                if close < 0:
                    return None
                if close > at + 1 and text[close - 1] == ":":
                    kind = _KINDS.get(text[at + 1 : close - 1])
                    if kind is None:
                        return None
                    taken.update(kind)
                    before, at = "", close + 1
                    continue
            is_range = char == "-" and before and text[at : at + 1] not in ("", "]")
            if is_range:
                char, at = text[at], at + 1
            if char == "\\":
                char, at = text[at : at + 1], at + 1
            if is_range and char:
                taken.update(map(chr, range(ord(before), ord(char) + 1)))
                before = ""
            else:
                taken.add(char)
                before = char
        if at >= len(text):
            return None
        self._at = at + 1
        return _class_step(taken, negated)


def _class_step(taken: set[str], negated: bool) -> Step:
    """Return the step that takes these characters or all others, but no slash; written in the shorter way."""
    chars = taken | {"/"} if negated else taken - {"/"}
    if len(chars) > 128:
        chars, negated = set(map(chr, range(256))) - chars, not negated
    return Step("".join(sorted(chars)), negated)


def without_braces(glob: str) -> list[str] | None:
    r"""Return the patterns that a pattern with braces stands for: none if a brace has no other.

    None if they are too many, or too long.

    >>> without_braces("*.{py,md}"), without_braces("a{b,{c,d}e}"), without_braces("[{]\\{")
    (['*.py', '*.md'], ['ab', 'ace', 'ade'], ['[{]\\{'])
    >>> without_braces("*.{py,md"), without_braces("{a,b}" * 12)
    ([], None)
    """
    if "{" not in glob and "}" not in glob:
        return [glob]
    if len(glob) > MAX_GLOBS_CHARS:
        return None
    # of the whole pattern, and of each brace that is open: its alternatives that have ended, and the parts of the next
    stack: list[tuple[list[str], list[list[str]]]] = [([], [])]
    at = 0
    for place in _marks(glob):
        ended, parts = stack[-1]
        mark = glob[place]
        if mark == "," and len(stack) == 1:
            continue
        parts.append([glob[at:place]])
        at = place + 1
        if mark == "{":
            stack.append(([], []))
            continue
        if len(stack) == 1:
            return []
        found = _joined(parts)
        if found is None or len(ended) + len(found) > MAX_GLOBS:
            return None
        ended += found
        parts.clear()
        if mark == "}":
            stack.pop()
            stack[-1][1].append(ended)
    return _joined([*stack[0][1], [glob[at:]]]) if len(stack) == 1 else []


def _joined(parts: list[list[str]]) -> list[str] | None:
    """Return every text that takes one choice of each part, in order; None if they are too many or too long."""
    short: list[list[str]] = []
    for is_single, found in groupby(parts, lambda part: len(part) == 1):
        run = list(found)
        short += [["".join(part[0] for part in run)]] if is_single else run
    count = prod(map(len, short))
    if count > MAX_GLOBS or sum(count // len(part) * sum(map(len, part)) for part in short) > MAX_GLOBS_CHARS:
        return None
    return list(map("".join, product(*short)))


def _marks(glob: str) -> Iterator[int]:
    """Yield the places of braces and commas that are neither escaped nor in a class."""
    at, has_classes = 0, True
    while match := _MARK.search(glob, at):
        at = match.end()
        if match[0] == "[" and has_classes:
            first = at + (glob[at : at + 1] in ("!", "^"))
            end = glob.find("]", first + 1)
            has_classes = end >= 0
            at = end + 1 if has_classes else at
        elif match[0] in "{,}":
            yield match.start()
