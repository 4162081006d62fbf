"""The files in folders, in the order of their paths, as ripgrep chooses them: one after the other, in little memory.

Only names are looked at; what is in the files is left to `found_texts.py`.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

from tokcli.atomic import is_temporary
from tokcli.cli.walk.ignore_rules import GIT, RULE_NAMES, IgnoreFiles, IgnoreRules, PlacedPatterns, rules_above
from tokcli.cli.walk.patterns import bytes_in, globs
from tokcli.errors import InputError, reason_of

Identity = tuple[int, int]  # of a file: its device and its inode


class Choice(NamedTuple):
    """Which files of a folder are wanted: the options of -r."""

    globs: tuple[str, ...] = ()
    no_ignore: bool = False
    hidden: bool = False
    follow: bool = False


class _Folder(NamedTuple):
    """A folder that is being walked: its path with `/` at the end, the names left (last first), and its rules.

    `override` are the patterns of -g.
    """

    path: str
    names: list[str]
    rules: IgnoreRules
    override: PlacedPatterns | None
    identity: Identity | None


class FolderWalk:
    """A walk through folders. `failed` is called with errors of what cannot be read; `left_out` are files to skip.

    `noted` is called with notes about ignore files that are heeded in part.
    """

    def __init__(
        self,
        choice: Choice,
        failed: Callable[[InputError], None],
        left_out: Iterable[Identity] = (),
        noted: Callable[[str], None] = lambda _: None,
    ) -> None:
        self._choice = choice
        self._globs = globs(choice.globs)
        self._failed, self._noted = failed, noted
        self._left_out = frozenset(left_out)
        self._left_out_inodes = frozenset(inode for _, inode in self._left_out)

    def files(self, root: str) -> Iterator[str]:
        """Yield the paths of the files below a folder; each begins with the folder as it is named ("" is the current).

        Folders and files come in the order of their paths, character by character.
        """
        start = os.path.join(root, "") if root else ""
        files = IgnoreFiles(self._noted)
        rules = IgnoreRules() if self._choice.no_ignore else rules_above(root or ".", len(start), files)
        override = self._override(root or ".", len(start))
        stack = [self._opened(start, rules, override, [], files)]
        while stack:
            folder = stack[-1]
            if not folder.names:
                stack.pop()
                continue
            name = folder.names.pop()
            path = folder.path + name
            if not name.endswith("/"):
                yield path
            else:
                rules = folder.rules.entering(name)
                override = folder.override and folder.override.entering(name)
                stack.append(self._opened(path, rules, override, stack, files))

    def _override(self, root: str, cut: int) -> PlacedPatterns | None:
        """Return the patterns of -g, placed for a walk of `root`: they are relative to the current folder."""
        if not self._globs:
            return None
        below = os.path.relpath(root)
        if below.split(os.sep)[0] == os.pardir:
            below = os.path.abspath(root).strip(os.sep)
        before = "" if below in (os.curdir, "") else f"{below}/"
        return PlacedPatterns(self._globs, cut, before, self._globs.start).entering(before)

    def _opened(
        self,
        path: str,
        rules: IgnoreRules,
        override: PlacedPatterns | None,
        above: list[_Folder],
        files: IgnoreFiles,
    ) -> _Folder:
        """Return a folder with the wanted names in it: none if it cannot be read, or a link leads back up to it."""
        try:
            identity = _identity(os.stat(path or ".")) if self._choice.follow else None
            if identity and any(folder.identity == identity for folder in above):
                return _Folder(path, [], rules, override, identity)
            names, lists = self._scanned(path)
        except OSError as error:
            self._failed(InputError(reason_of(error), where=path.rstrip("/") or path or "."))
            return _Folder(path, [], rules, override, None)
        if not self._choice.no_ignore:
            rules = rules.within(path, len(path), files=files, lists=lists)
        if override is not None or rules.say_anything:
            names = [name for name in names if self._is_wanted(name, path, rules, override)]
        elif not self._choice.hidden:
            names = [name for name in names if name[0] != "."]
        names.sort(reverse=True)
        return _Folder(path, names, rules, override, identity)

    def _scanned(self, path: str) -> tuple[list[str], set[str]]:
        """Return the names in a folder that may be wanted, and which of RULE_NAMES are in it."""
        names, lists = [], set()
        with os.scandir(path or ".") as entries:
            for entry in entries:
                if entry.name in RULE_NAMES:
                    lists.add(entry.name)
                if name := self._name(entry, path):
                    names.append(name)
        return names, lists

    def _is_wanted(self, name: str, folder: str, rules: IgnoreRules, override: PlacedPatterns | None) -> bool:
        """Return whether the options and the rules let a name in; that of a folder ends with `/`."""
        is_folder = name[-1] == "/"
        bare = name[:-1] if is_folder else name
        path = folder + bare
        if override is not None:
            verdict = override.verdict(path, bytes_in(bare), is_folder=is_folder)
            if verdict is not None:
                return verdict
            if self._globs.has_positive and not is_folder:
                return False
        is_left_out = rules.verdict(path, bare, is_folder=is_folder)
        return not is_left_out and (is_left_out is False or name[0] != "." or self._choice.hidden)

    def _name(self, entry: os.DirEntry[str], folder: str) -> str | None:
        """Return the name of a file, or that of a folder with `/` at its end; None for what is never wanted."""
        name = entry.name
        if entry.is_file(follow_symlinks=False):
            is_regular = True
        elif entry.is_dir(follow_symlinks=False):
            return None if name == GIT else f"{name}/"
        elif name == GIT or not self._choice.follow or not entry.is_symlink():
            return None
        else:
            try:
                mode = os.stat(folder + name).st_mode
            except OSError as error:
                self._failed(InputError(reason_of(error), where=folder + name))
                return None
            if stat.S_ISDIR(mode):
                return f"{name}/"
            is_regular = stat.S_ISREG(mode)
        is_left_out = name == GIT or (entry.inode() in self._left_out_inodes and self._is_left_out(entry))
        return None if not is_regular or is_left_out or is_temporary(name) else name

    def _is_left_out(self, entry: os.DirEntry[str]) -> bool:
        try:
            return _identity(entry.stat()) in self._left_out
        except OSError:
            return False


def _identity(status: os.stat_result) -> Identity:
    return status.st_dev, status.st_ino
