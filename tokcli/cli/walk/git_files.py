"""Git's lists of excluded files besides .gitignore: a repository's info/exclude and the user's excludes file.

They are read as git and ripgrep read them; a list that cannot be read excludes nothing.
"""

from __future__ import annotations

import os
import re
import stat
from typing import NamedTuple

MAX_BYTES = 1 << 22  # of a file with patterns; the longest known have some 100 KB
_SECTION = re.compile(r"\s*\[\s*([^\]\s\"]+)")
_EXCLUDES = re.compile(r"\s*excludesfile\s*=\s*(.*)", re.IGNORECASE)


class Lines(NamedTuple):
    """The lines of a file; if it `is_cut`, those of its first MAX_BYTES. `size` is that of what was read."""

    lines: list[str]
    size: int = 0
    is_cut: bool = False


def lines_of(path: str) -> list[str]:
    """Return the lines of a small regular file, bytes that are not UTF-8 as surrogates; none if it cannot be read."""
    return read_lines(path).lines


def read_lines(path: str) -> Lines:
    """Return the same, and whether the file is longer than that: then its last line is left out, which may be cut."""
    try:
        number = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except (OSError, ValueError):
        return Lines([])
    try:
        status = os.fstat(number)
        data = os.read(number, MAX_BYTES) if stat.S_ISREG(status.st_mode) else b""
        is_cut = len(data) == MAX_BYTES and bool(os.read(number, 1))
    except OSError:
        return Lines([])
    finally:
        os.close(number)
    text = data.removeprefix(b"\xef\xbb\xbf").replace(b"\r\n", b"\n").decode("utf-8", "surrogateescape")
    lines = text.split("\n")
    return Lines(lines[:-1] if is_cut else lines, len(data), is_cut)


def repository_excludes(repository: str) -> str | None:
    """Return the path of info/exclude of the repository in a folder, where `.git` is a folder or a file."""
    git = os.path.join(repository, ".git")
    if not os.path.isdir(git):  # of a worktree or a submodule: it says where the folder is
        line = (lines_of(git) or [""])[0]
        if not line.startswith("gitdir:"):
            return None
        git = os.path.join(repository, line.removeprefix("gitdir:").strip())
        common = (lines_of(os.path.join(git, "commondir")) or [""])[0].strip()
        git = os.path.join(git, common) if common else git
    return os.path.join(git, "info", "exclude")


def user_excludes() -> str:
    """Return the path of the user's own excludes file: core.excludesFile, or git's default for it."""
    home = os.path.expanduser("~")
    config = os.environ.get("XDG_CONFIG_HOME") or os.path.join(home, ".config")
    chosen = os.environ.get("GIT_CONFIG_GLOBAL")
    settings = [chosen] if chosen else [os.path.join(config, "git", "config"), os.path.join(home, ".gitconfig")]
    named = [path for file in settings for path in _excludes_files(lines_of(file))]
    return os.path.expanduser(named[-1]) if named else os.path.join(config, "git", "ignore")


def _excludes_files(lines: list[str]) -> list[str]:
    """Return the values of core.excludesFile in the lines of a git config file."""
    found, section = [], ""
    for line in lines:
        if match := _SECTION.match(line):
            section = match[1].lower() if '"' not in line else ""
        elif section == "core" and (match := _EXCLUDES.match(line)):
            found.append(match[1].strip().strip('"'))
    return found
