"""The files in folders, in the order of their paths, as ripgrep chooses them: one after the other, in little memory.

Only names are looked at; what is in the files is left to `found_texts.py`.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

from tokcli.atomic import is_temporary
from tokcli.cli.walk.ignore_rules import GIT, IgnoreRules, PlacedPatterns, rules_above
from tokcli.cli.walk.patterns import globs
from tokcli.errors import InputError, reason_of

Identity = tuple[int, int]  # of a file: its device and its inode


class Choice(NamedTuple):
    """Which files of a folder are wanted: the options of -r."""

    globs: tuple[str, ...] = ()
    no_ignore: bool = False
    hidden: bool = False
    follow: bool = False


class _Folder(NamedTuple):
    """A folder that is being walked: its path with `/` at the end, the names left (last first), and its rules."""

    path: str
    names: list[str]
    rules: IgnoreRules
    identity: Identity | None


class FolderWalk:
    """A walk through folders. `failed` is called with errors of what cannot be read; `left_out` are files to skip."""

    def __init__(self, choice: Choice, failed: Callable[[InputError], None], left_out: Iterable[Identity] = ()) -> None:
        self._choice = choice
        self._globs = globs(choice.globs)
        self._failed = failed
        self._left_out = frozenset(left_out)
        self._left_out_inodes = frozenset(inode for _, inode in self._left_out)

    def files(self, root: str) -> Iterator[str]:
        """Yield the paths of the files below a folder; each begins with the folder as it is named ("" is the current).

        Folders and files come in the order of their paths, character by character.
        """
        start = os.path.join(root, "") if root else ""
        rules = IgnoreRules() if self._choice.no_ignore else rules_above(root or ".", len(start))
        override = self._override(root or ".", len(start))
        stack = [self._opened(start, rules, override, [])]
        while stack:
            folder = stack[-1]
            if not folder.names:
                stack.pop()
                continue
            path = folder.path + folder.names.pop()
            if not path.endswith("/"):
                yield path
            else:
                stack.append(self._opened(path, folder.rules, override, stack))

    def _override(self, root: str, cut: int) -> PlacedPatterns | None:
        """Return the patterns of -g, placed for a walk of `root`: they are relative to the current folder."""
        if not self._globs:
            return None
        below = os.path.relpath(root)
        if below.split(os.sep)[0] == os.pardir:
            below = os.path.abspath(root).strip(os.sep)
        return PlacedPatterns(self._globs, cut, "" if below in (os.curdir, "") else f"{below}/")

    def _opened(self, path: str, rules: IgnoreRules, override: PlacedPatterns | None, above: list[_Folder]) -> _Folder:
        """Return a folder with the wanted names in it: none if it cannot be read, or a link leads back up to it."""
        try:
            identity = _identity(os.stat(path or ".")) if self._choice.follow else None
            if identity and any(folder.identity == identity for folder in above):
                return _Folder(path, [], rules, identity)
            if not self._choice.no_ignore:
                rules = rules.within(path, len(path))
            with os.scandir(path or ".") as entries:
                names = [name for entry in entries if (name := self._wanted(entry, path, rules, override))]
        except OSError as error:
            self._failed(InputError(reason_of(error), where=path.rstrip("/") or path or "."))
            return _Folder(path, [], rules, None)
        names.sort(reverse=True)
        return _Folder(path, names, rules, identity)

    def _wanted(
        self, entry: os.DirEntry[str], folder: str, rules: IgnoreRules, override: PlacedPatterns | None
    ) -> str | None:
        """Return the name of an entry, with `/` after that of a folder; None for an entry that is not wanted."""
        name, path = entry.name, folder + entry.name
        if name == GIT:
            return None
        kind = self._kind(entry, path)
        if kind is None:
            return None
        verdict = None
        if override is not None:
            verdict = override.verdict(path, is_folder=kind == "/")
            if verdict is False or (verdict is None and self._globs.has_positive and not kind):
                return None
        if verdict is None:
            kept = rules.verdict(path, is_folder=kind == "/")
            if kept or (kept is None and name.startswith(".") and not self._choice.hidden):
                return None
        if not kind and (is_temporary(name) or (entry.inode() in self._left_out_inodes and self._is_left_out(entry))):
            return None
        return name + kind

    def _kind(self, entry: os.DirEntry[str], path: str) -> str | None:
        """Return "/" for a folder, "" for a regular file, and None for anything else."""
        if entry.is_symlink():
            if not self._choice.follow:
                return None
            try:
                mode = os.stat(path).st_mode
            except OSError as error:
                self._failed(InputError(reason_of(error), where=path))
                return None
            return "/" if stat.S_ISDIR(mode) else "" if stat.S_ISREG(mode) else None
        return "/" if entry.is_dir(follow_symlinks=False) else "" if entry.is_file(follow_symlinks=False) else None

    def _is_left_out(self, entry: os.DirEntry[str]) -> bool:
        try:
            return _identity(entry.stat()) in self._left_out
        except OSError:
            return False


def _identity(status: os.stat_result) -> Identity:
    return status.st_dev, status.st_ino
