"""Patterns of file names, as in .gitignore files and -g: the last one that matches a path decides.

A path is matched by itself, byte by byte; callers check whether a folder above it is left out.
"""

from __future__ import annotations

import os
from collections.abc import Iterable

from tokcli.cli.walk.glob_set import Glob, GlobSet
from tokcli.cli.walk.glob_syntax import MAX_GLOBS, Rule, rule_of, without_braces
from tokcli.errors import InputError

# What the patterns of one file may come to: a pattern without wildcards counts for one, any other for its characters.
# So large a number of states takes a millisecond for a name of 100 characters.
MAX_SIZE = 100_000


class Patterns:
    """The patterns of one ignore file, or of -g, in order.

    `size` is what they come to, and `has_positive` says whether any of them does not begin with `!`. `left_out` says
    which lines "are" not heeded: one that stands for too many patterns, or all after those that come to `room`.

    >>> rules = Patterns(["*.log", "!keep.log", "build/"])
    >>> rules.verdict("a/b.log", is_folder=False), rules.verdict("keep.log", is_folder=False)
    (True, False)
    >>> rules.verdict("src/build", is_folder=True), rules.verdict("src/build", is_folder=False)
    (True, None)
    """

    def __init__(self, lines: Iterable[str], *, has_braces: bool = False, room: int = MAX_SIZE) -> None:
        """With `has_braces`, `{a,b}` stands for `a` and `b`; a line whose braces mean nothing is left out."""
        self.size, self.left_out = 0, ""
        self._verdicts: list[bool] = []
        names, paths = _RulesByTarget(), _RulesByTarget()
        numbers = {line: number for number, line in enumerate(lines, 1)}  # the last of equal lines decides
        for line, number in sorted(numbers.items(), key=lambda item: item[1]):
            found = without_braces(line) if has_braces else [line]
            rules = [rule for rule in map(_rule, found or ()) if rule is not None]
            size = sum(1 if isinstance(rule.glob, str) else rule.glob.size for rule in rules)
            if has_braces and "{" in line:  # as much work, whatever it stands for
                size = max(size, len(line), MAX_GLOBS if found is None else 0)
            if self.size + size > room:
                self.left_out = f"line {number} and those after it are"
                break
            if found is None:
                self.left_out = self.left_out or f"line {number} is"
            self.size += size
            for rule in rules:
                (paths if rule.of_paths else names).add(rule, len(self._verdicts))
                self._verdicts.append(rule.verdict)
        self.has_positive = any(self._verdicts)
        self._names, self._paths = names.texts, paths.texts
        self._name_globs, self._path_globs = names.globs(), paths.globs()
        self._name_numbers, self._path_numbers = names.numbers, paths.numbers
        self.has_paths, self.start = bool(paths.texts), self._path_globs.start

    def __bool__(self) -> bool:
        return bool(self._verdicts)

    def within(self, folders: str, state: int) -> int:
        """Return the state for what is in a folder: `folders` ends with `/`, and `state` is that of where it begins."""
        return self._path_globs.after(folders, state)

    def verdict(self, path: str, *, is_folder: bool) -> bool | None:
        """Return False if the last pattern that matches a path begins with `!`, else True; None if none matches.

        The path is relative to the folder of the patterns, with `/` between names and none at its ends.
        """
        folder, slash, name = bytes_in(path).rpartition("/")
        return self.verdict_on(name, folder + slash + name, self.within(folder + slash, self.start), is_folder)

    def verdict_on(self, name: str, path: str, state: int, is_folder: bool) -> bool | None:
        """Return the same for a path of the names `bytes_in`, with its last name and the state for its folder.

        `path` is looked at only if `has_paths`.
        """
        last = self._names.get(name, _NONE)[is_folder]
        if self.has_paths:
            last = max(last, self._paths.get(path, _NONE)[is_folder])
        globs = self._name_globs
        if globs.start and (found := globs.last(globs.after(name, globs.start), is_folder=is_folder)) is not None:
            last = max(last, self._name_numbers[found])
        globs = self._path_globs
        if state and (found := globs.last(globs.after(name, state), is_folder=is_folder)) is not None:
            last = max(last, self._path_numbers[found])
        return None if last < 0 else self._verdicts[last]


_NONE = (-1, -1)


class _RulesByTarget:
    """The rules that are matched against the same: names, or paths. They are given in order, with their numbers.

    `texts` has for each pattern without wildcards the last rule that holds for files, and for folders. `numbers` are
    those of the other rules.
    """

    def __init__(self) -> None:
        self.texts: dict[str, tuple[int, int]] = {}
        self.numbers: list[int] = []
        self._globs: list[Glob] = []
        self._folders: list[int] = []

    def add(self, rule: Rule, number: int) -> None:
        if isinstance(rule.glob, str):
            files = self.texts.get(rule.glob, _NONE)[0] if rule.only_folders else number
            self.texts[rule.glob] = files, number
            return
        if rule.only_folders:
            self._folders.append(len(self._globs))
        self.numbers.append(number)
        self._globs.append(rule.glob)

    def globs(self) -> GlobSet:
        """Return the patterns with wildcards, to be matched at once."""
        return GlobSet(self._globs, self._folders)


def bytes_in(text: str) -> str:
    """Return a name with one character for each byte: `?` and `[...]` match one byte, as in git and ripgrep.

    >>> len(bytes_in("é"))
    2
    """
    return text if text.isascii() else os.fsencode(text).decode("latin-1")


def _rule(line: str) -> Rule | None:
    return rule_of(bytes_in(line))


def globs(given: Iterable[str]) -> Patterns:
    """Return the patterns of -g; InputError for one that is not a pattern.

    Braces stand for several patterns, as in a shell: `{a,b}` for `a` and `b`.

    >>> rules = globs(["*.{py,md}"])
    >>> [rules.verdict(name, is_folder=False) for name in ("a.py", "b.md", "c.txt")]
    [True, True, None]
    """
    lines: list[str] = []
    for glob in given:
        one = [f"\\{line}" if line.startswith("#") else line for line in without_braces(glob) or ()]
        if not one or not all(map(_rule, one)):
            raise InputError(
                f"-g {glob!r} is not a pattern of file names",
                f"Patterns are those of .gitignore files; {{a,b}} stands for two, and for at most {MAX_GLOBS}.",
            )
        lines += one
    patterns = Patterns(lines)
    if patterns.left_out:
        raise InputError("the patterns of -g are too many or too long", "Give fewer of them.")
    return patterns
