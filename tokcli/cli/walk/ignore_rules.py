"""What the ignore files of a folder, and of those above it, leave out: `.ignore`, `.gitignore`, and git's own lists.

The order is ripgrep's: -g, then `.ignore` before `.gitignore`, and of each the nearest file that says anything; then
the repository's info/exclude and the user's excludes file. `.gitignore` applies within a repository only.
"""

from __future__ import annotations

import os
from collections.abc import Collection
from typing import NamedTuple

from tokcli.cli.walk.git_files import lines_of, repository_excludes, user_excludes
from tokcli.cli.walk.patterns import Patterns

GIT, IGNORE, GIT_IGNORE = RULE_NAMES = (".git", ".ignore", ".gitignore")  # what a folder may have rules in


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

    @property
    def say_anything(self) -> bool:
        """Whether there are any patterns."""
        return bool(self.ignore or self.git_ignore or self.excludes)

    def verdict(self, path: str, *, is_folder: bool) -> bool | None:
        """Return True for a path that is left out, False for one that a rule with `!` keeps, None for any other."""
        for places in (self.ignore, self.git_ignore, self.excludes):
            for place in places:
                found = place.verdict(path, is_folder=is_folder)
                if found is not None:
                    return found
        return None

    def within(self, folder: str, cut: int, before: str = "", *, lists: Collection[str] = RULE_NAMES) -> IgnoreRules:
        """Return the rules for a subfolder: these and its own; `cut` and `before` are those of `PlacedPatterns`.

        `lists` are those of RULE_NAMES that may be in the folder.
        """
        if not lists:
            return self

        def found(lines: list[str], *, has_braces: bool = False) -> AllPatterns:
            patterns = Patterns(lines, has_braces=has_braces) if lines else None
            return (PlacedPatterns(patterns, cut, before),) if patterns else ()

        ignore = self.ignore
        if IGNORE in lists:
            ignore = found(lines_of(os.path.join(folder, IGNORE)), has_braces=True) + ignore
        git_ignore, excludes, in_repository = self.git_ignore, self.excludes, self.in_repository
        if GIT in lists and os.path.lexists(os.path.join(folder, GIT)):
            git_ignore, in_repository = (), True
            excludes = found(repository_excludes(folder)) + found(user_excludes())
        if in_repository and GIT_IGNORE in lists:
            git_ignore = found(lines_of(os.path.join(folder, GIT_IGNORE))) + git_ignore
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
