"""What the ignore files of a folder, and of those above it, leave out: `.ignore`, `.gitignore`, and git's own lists.

The order is ripgrep's: -g, then `.ignore` before `.gitignore`, and of each the nearest file that says anything; then
the repository's info/exclude and the user's excludes file. `.gitignore` applies within a repository only.
"""

from __future__ import annotations

import os
from typing import NamedTuple

from tokcli.cli.walk.git_files import lines_of, repository_excludes, user_excludes
from tokcli.cli.walk.patterns import Patterns

GIT = ".git"


class PlacedPatterns(NamedTuple):
    """Patterns, and how to make a path of the walk relative to the folder that the patterns are for.

    `before` replaces the first `cut` characters of the path.
    """

    patterns: Patterns
    cut: int
    before: str

    def verdict(self, path: str, *, is_folder: bool) -> bool | None:
        """Return the verdict of the patterns on a path of the walk: True, False or None, as `Patterns.verdict`."""
        return self.patterns.verdict(self.before + path[self.cut :], is_folder=is_folder)


AllPatterns = tuple[PlacedPatterns, ...]


class IgnoreRules(NamedTuple):
    """The rules for what is in one folder: the patterns of each kind of ignore file, the nearest file first."""

    ignore: AllPatterns = ()
    git_ignore: AllPatterns = ()
    excludes: AllPatterns = ()
    in_repository: bool = False

    def verdict(self, path: str, *, is_folder: bool) -> bool | None:
        """Return True for a path that is left out, False for one that a rule with `!` keeps, None for any other."""
        for places in (self.ignore, self.git_ignore, self.excludes):
            for place in places:
                found = place.verdict(path, is_folder=is_folder)
                if found is not None:
                    return found
        return None

    def within(self, folder: str, cut: int, before: str = "") -> IgnoreRules:
        """Return the rules for a subfolder: these and its own; `cut` and `before` are those of `PlacedPatterns`."""

        def found(lines: list[str], *, has_braces: bool = False) -> AllPatterns:
            patterns = Patterns(lines, has_braces=has_braces) if lines else None
            return (PlacedPatterns(patterns, cut, before),) if patterns else ()

        ignore = found(lines_of(os.path.join(folder, ".ignore")), has_braces=True) + self.ignore
        git_ignore, excludes, in_repository = self.git_ignore, self.excludes, self.in_repository
        if os.path.lexists(os.path.join(folder, GIT)):
            git_ignore, in_repository = (), True
            excludes = found(repository_excludes(folder)) + found(user_excludes())
        if in_repository:
            git_ignore = found(lines_of(os.path.join(folder, ".gitignore"))) + git_ignore
        if (ignore, git_ignore, excludes) == (self.ignore, self.git_ignore, self.excludes):
            return self if in_repository == self.in_repository else self._replace(in_repository=in_repository)
        return IgnoreRules(ignore, git_ignore, excludes, in_repository)


def rules_above(root: str, cut: int) -> IgnoreRules:
    """Return the rules that a folder inherits from those above; the walk's paths begin with `cut` characters for it."""
    rules, names = IgnoreRules(), os.path.realpath(root).split(os.sep)
    if not names[-1]:  # it is the root of the system
        return rules
    for number in range(1, len(names)):
        rules = rules.within(os.sep.join([*names[:number], ""]), cut, "/".join([*names[number:], ""]))
    return rules
