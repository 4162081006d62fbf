"""Patterns of file names, as in .gitignore files and -g: pathspec makes a regex of each, and the last match wins.

A path is matched by itself, byte by byte; callers check whether a folder above it is left out.
"""

from __future__ import annotations

import os
import re
import warnings
from collections.abc import Iterable

from pathspec.patterns.gitignore.spec import GitIgnoreSpecPattern

from tokcli.errors import InputError

MAX_GLOBS = 1000  # that one with braces may stand for
_STAR = "[^/]*"  # as pathspec writes `*`
_AND_BELOW = "(?:(?P<ps_d>/)|$)"  # as pathspec ends a pattern; cut off, so that no path below matches
_ESCAPE = "\\"
_CLASS = re.compile(r"\\.|\[[!^]?\]?[^\]]*\]", re.DOTALL)  # or a character that is escaped, and so begins none
_LONE_BRACE = re.compile("[{}]")
_BRACES = re.compile(r"(?<!\\)\{([^{}]*)(?<!\\)\}")


class Patterns:
    """The patterns of one ignore file, or of -g, in order.

    >>> rules = Patterns(["*.log", "!keep.log", "build/"])
    >>> rules.verdict("a/b.log", is_folder=False), rules.verdict("keep.log", is_folder=False)
    (True, False)
    >>> rules.verdict("src/build", is_folder=True), rules.verdict("src/build", is_folder=False)
    (True, None)
    """

    def __init__(self, lines: Iterable[str], *, has_braces: bool = False) -> None:
        """With `has_braces`, `{a,b}` stands for `a` and `b`; a line whose braces mean nothing is left out."""
        if has_braces:
            lines = [one for line in lines for one in _without_braces(line)]
        found = (_rule(_bytes_in(line), number) for number, line in enumerate(lines))
        self._rules = [rule for rule in found if rule is not None]
        # most paths match none: one expression says so at once
        self._any = _compiled("|".join(f"(?:{rule.pattern})" for rule, _, _ in self._rules))
        self.has_positive = any(verdict for _, verdict, _ in self._rules)

    def __bool__(self) -> bool:
        return bool(self._rules)

    def verdict(self, path: str, *, is_folder: bool) -> bool | None:
        """Return False if the last pattern that matches a path begins with `!`, else True; None if none matches.

        The path is relative to the folder of the patterns, with `/` between names and none at its ends.
        """
        path = _bytes_in(path)
        if self._any.match(path) is None:
            return None
        for rule, verdict, only_folders in reversed(self._rules):
            if (is_folder or not only_folders) and rule.match(path):
                return verdict
        return None


def _bytes_in(text: str) -> str:
    """Return a name with one character for each byte: `?` and `[...]` match one byte, as in git and ripgrep.

    >>> len(_bytes_in("é"))
    2
    """
    return text if text.isascii() else os.fsencode(text).decode("latin-1")


def globs(given: Iterable[str]) -> Patterns:
    """Return the patterns of -g; InputError for one that is not a pattern.

    Braces stand for several patterns, as in a shell: `{a,b}` for `a` and `b`.

    >>> rules = globs(["*.{py,md}"])
    >>> [rules.verdict(name, is_folder=False) for name in ("a.py", "b.md", "c.txt")]
    [True, True, None]
    """
    lines: list[str] = []
    for glob in given:
        one = [f"\\{line}" if line.startswith("#") else line for line in _without_braces(glob)]
        if not one or not all(_rule(line) for line in one):
            raise InputError(
                f"-g {glob!r} is not a pattern of file names",
                f"Patterns are those of .gitignore files; {{a,b}} stands for two, and for at most {MAX_GLOBS}.",
            )
        lines += one
    return Patterns(lines)


def _without_braces(glob: str) -> list[str]:
    """Return the patterns that a pattern with braces stands for: none if a brace has no other, or if they are too many.

    >>> _without_braces("*.{py,md}"), _without_braces("*.{py,md"), _without_braces("{a,b}" * 12)
    (['*.py', '*.md'], [], [])
    """
    found = [glob]
    while any(_BRACES.search(line) for line in found):
        found = [
            line[: match.start()] + choice + line[match.end() :] if match else line
            for line in found
            for match in [_BRACES.search(line)]
            for choice in (match[1].split(",") if match else [""])
        ]
        if len(found) > MAX_GLOBS:
            return []
    return [] if any(_LONE_BRACE.search(_CLASS.sub("", line)) for line in found) else found


def _rule(line: str, number: int = 0) -> tuple[re.Pattern[str], bool, bool] | None:
    """Return a line's regex, its verdict, and whether it is for folders only; None for a line without a pattern."""
    line = _stripped(line)
    only_folders, line = line.endswith("/"), line.removesuffix("/")
    if line.endswith("/"):  # no name has another slash at its end
        return None
    if line[-1:].isspace() and not line.endswith("\\ "):  # it is part of the name, but pathspec would take it away
        line = f"{line[:-1].removesuffix(_ESCAPE)}[{line[-1]}]"
    try:
        text, verdict = GitIgnoreSpecPattern.pattern_to_regex(_without_slashes_in_classes(line))
        if text is None or verdict is None:
            return None
        text = text.removesuffix(_AND_BELOW) + r"\Z" if text.endswith(_AND_BELOW) else text
        return _compiled(_without_trials(text, number)), verdict, only_folders
    except (ValueError, re.error, OverflowError):  # git ignores such a line, too
        return None


def _stripped(line: str) -> str:
    r"""Return a line without the white space at its end, but with what a backslash escapes.

    >>> _stripped("a b \t"), _stripped(r"a\   ")
    ('a b', 'a\\ ')
    """
    bare = line.rstrip()
    escapes = len(bare) - len(bare.rstrip(_ESCAPE))
    return line[: len(bare) + escapes % 2]


def _without_slashes_in_classes(line: str) -> str:
    """Return a pattern with a NUL, which is in no name, for each slash in `[...]`, where pathspec would cut.

    A pattern with a slash anywhere begins at the folder of its file: then it gets another at its beginning.
    """
    made = _CLASS.sub(lambda match: match[0].replace("/", "\0") if match[0][0] == "[" else match[0], line)
    if made == line or "/" in made:
        return made
    return f"!/{made[1:]}" if made.startswith("!") else f"/{made}"


def _compiled(expression: str) -> re.Pattern[str]:
    with warnings.catch_warnings():  # of `[[`, which may become a nested set
        warnings.simplefilter("ignore")
        return re.compile(expression, re.DOTALL)


def _without_trials(text: str, number: int) -> str:
    """Return an expression that takes no exponential time on a name such as aaaaaa for a pattern such as *a*a*a*b.

    What is between two stars can be matched at the earliest place: no other one has to be tried. Python 3.10 has no
    atomic groups, so `(?=(...))\\1` stands for one, as in `fnmatch.translate`. `number` makes the groups' names
    unique.
    """
    first, *between = text.split(_STAR)
    made = [first]
    for index, section in enumerate(between[:-1]):
        group = f"g{number}_{index}"
        has_choices = "(" in section
        made.append(_STAR + section if has_choices else f"(?=(?P<{group}>{_STAR}?{section}))(?P={group})")
    return _STAR.join(["".join(made), *between[-1:]])
