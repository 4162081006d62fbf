"""What the ignore files of a folder, and of those above it, leave out: `.ignore`, `.gitignore`, and git's own lists.

The order is ripgrep's: -g, then `.ignore` before `.gitignore`, and of each the nearest file that says anything; then
the repository's info/exclude and the user's excludes file. `.gitignore` applies within a repository only.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection
from typing import NamedTuple

from tokcli.cli.walk.git_files import MAX_BYTES, read_lines, repository_excludes, user_excludes
from tokcli.cli.walk.patterns import MAX_SIZE, Patterns, bytes_in

GIT, IGNORE, GIT_IGNORE = RULE_NAMES = (".git", ".ignore", ".gitignore")  # what a folder may have rules in
# What is in force in one folder, by the measure of `Patterns`: each name is matched with all of it. A file counts for
# FILE_SIZE at least, so that there are not too many of them either.
MAX_IN_FORCE = 2 * MAX_SIZE
FILE_SIZE = 2000
MAX_READ = 4 * MAX_BYTES  # of all ignore files of a walk, which may be links to a few long ones
MAX_NOTES = 3  # that name a file


class PlacedPatterns(NamedTuple):
    """Patterns, and how to make a path of the walk relative to the folder that the patterns are for.

    `before` replaces the first `cut` characters of the path. `state` is that of the patterns for what is in the folder
    that the walk is in.
    """

    patterns: Patterns
    cut: int
    before: str
    state: int

    def entering(self, folders: str) -> PlacedPatterns:
        """Return the patterns for what is in a subfolder; its name ends with `/`, as those of several would."""
        return self._replace(state=self.patterns.within(bytes_in(folders), self.state)) if self.state else self

    def verdict(self, path: str, name: str, *, is_folder: bool) -> bool | None:
        """Return the verdict of the patterns on a path of the walk, whose last name is given as `bytes_in` it."""
        whole = bytes_in(self.before + path[self.cut :]) if self.patterns.has_paths else ""
        return self.patterns.verdict_on(name, whole, self.state, is_folder)


AllPatterns = tuple[PlacedPatterns, ...]


class IgnoreFiles:
    """Reads the ignore files of a walk, and says in notes which lines are not heeded, since they are too many."""

    def __init__(self, noted: Callable[[str], None]) -> None:
        self._noted = noted
        self._notes = 0
        self._read = 0

    def patterns(self, path: str | None, before: AllPatterns, *, has_braces: bool = False) -> Patterns | None:
        """Return the patterns of a file, if it has any; `before` are all others that are in force."""
        if path is None or self._read > MAX_READ:
            return None
        lines, size, is_cut = read_lines(path)
        self._read += size
        if self._read > MAX_READ:
            self._note(f"{path}: not heeded, nor any ignore file after it: they are longer than {MAX_READ:,} bytes")
            return None
        in_force = sum(max(place.patterns.size, FILE_SIZE) for place in before)
        patterns = Patterns(lines, has_braces=has_braces, room=min(MAX_SIZE, MAX_IN_FORCE - FILE_SIZE - in_force))
        left_out = patterns.left_out or (f"line {len(lines) + 1} and those after it are" if is_cut else "")
        if left_out:
            self._note(f"{path}: {left_out} not heeded: too many patterns, or too long ones")
        return patterns or None

    def _note(self, text: str) -> None:
        self._notes += 1
        if self._notes <= MAX_NOTES:
            self._noted(text)
        elif self._notes == MAX_NOTES + 1:
            self._noted("more ignore files have patterns that are not heeded, since they are too many or too long")


class IgnoreRules(NamedTuple):
    """The rules for what is in one folder: the patterns of each kind of ignore file, the nearest file first."""

    ignore: AllPatterns = ()
    git_ignore: AllPatterns = ()
    excludes: AllPatterns = ()
    in_repository: bool = False

    @property
    def say_anything(self) -> bool:
        """Whether there are any patterns."""
        return bool(self.ignore or self.git_ignore or self.excludes)

    def verdict(self, path: str, name: str, *, is_folder: bool) -> bool | None:
        """Return True for a path that is left out, False for one that a rule with `!` keeps, None for any other."""
        name = bytes_in(name)
        for places in (self.ignore, self.git_ignore, self.excludes):
            for place in places:
                found = place.verdict(path, name, is_folder=is_folder)
                if found is not None:
                    return found
        return None

    def entering(self, folder: str) -> IgnoreRules:
        """Return these rules for what is in a subfolder; its name ends with `/`."""
        if not any(place.state for places in (self.ignore, self.git_ignore, self.excludes) for place in places):
            return self
        return self._replace(
            ignore=tuple(place.entering(folder) for place in self.ignore),
            git_ignore=tuple(place.entering(folder) for place in self.git_ignore),
            excludes=tuple(place.entering(folder) for place in self.excludes),
        )

    def within(
        self, folder: str, cut: int, before: str = "", *, files: IgnoreFiles, lists: Collection[str] = RULE_NAMES
    ) -> IgnoreRules:
        """Return these rules, which hold for what is in a folder, and its own.

        `cut` and `before` are those of `PlacedPatterns`, and `lists` are those of RULE_NAMES that may be in the folder.
        """
        if not lists:
            return self

        def found(path: str | None, others: AllPatterns, *, has_braces: bool = False) -> AllPatterns:
            patterns = files.patterns(path, others, has_braces=has_braces)
            return (PlacedPatterns(patterns, cut, before, patterns.start),) if patterns else ()

        ignore, git_ignore, excludes, in_repository = self
        if IGNORE in lists:
            ignore = found(os.path.join(folder, IGNORE), ignore + git_ignore + excludes, has_braces=True) + ignore
        if GIT in lists and os.path.lexists(os.path.join(folder, GIT)):
            git_ignore, in_repository = (), True
            users = found(user_excludes(), ignore)
            excludes = found(repository_excludes(folder), ignore + users) + users
        if in_repository and GIT_IGNORE in lists:
            git_ignore = found(os.path.join(folder, GIT_IGNORE), ignore + git_ignore + excludes) + git_ignore
        return IgnoreRules(ignore, git_ignore, excludes, in_repository)


def rules_above(root: str, cut: int, files: IgnoreFiles) -> IgnoreRules:
    """Return the rules that a folder inherits from those above; the walk's paths begin with `cut` characters for it."""
    rules, names = IgnoreRules(), os.path.realpath(root).split(os.sep)
    if not names[-1]:  # it is the root of the system
        return rules
    for number in range(1, len(names)):
        below = "/".join([*names[number:], ""])
        rules = rules.within(os.sep.join([*names[:number], ""]), cut, below, files=files).entering(f"{names[number]}/")
    return rules
