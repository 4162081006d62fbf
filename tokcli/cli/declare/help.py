"""The options of a command for `--help`: in groups, the most used first, in as few lines as the screen allows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import click
from click.formatting import wrap_text

from tokcli.cli.declare.option import GROUPS, Option

COLUMN = range(16, 31)  # how wide the names of options may be; a longer one has a line of its own


def write_options(formatter: click.HelpFormatter, rows: list[Option], most_used: tuple[str, ...]) -> None:
    """Write a line or more for each option, under the heading of its group; those most used are a group before all."""
    sections = list(in_groups(rows, most_used))
    texts = [(_name(row), _help(row)) for _, listed in sections for row in listed]
    column = min(COLUMN, key=lambda width: (sum(len(_lines(*text, width, formatter.width)) for text in texts), width))
    for heading, listed in sections:
        formatter.write(f"\n{heading}:\n")
        for row in listed:
            formatter.write("".join(f"{line}\n" for line in _lines(_name(row), _help(row), column, formatter.width)))


def in_groups(rows: list[Option], most_used: tuple[str, ...] = ()) -> Iterator[tuple[str, Iterable[Option]]]:
    """Yield the headings under which options are listed, each with its options in order."""
    named = {row.opts[-1]: row for row in rows}
    first = [named[name] for name in most_used]
    if first:
        yield "Most used", first
    for group in GROUPS:
        listed = [row for row in rows if row.group == group and row not in first]
        if listed:
            yield group, sorted(listed, key=lambda row: row.is_rare)


def _name(row: Option) -> str:
    return ", ".join(row.opts) + row.value


def _help(row: Option) -> str:
    return f"{row.help} [{row.default_shown}]" if row.default_shown else f"{row.help}"


def _lines(name: str, text: str, column: int, width: int) -> list[str]:
    """Return the lines of an option: its name, and its help beside it from a column on, or below.

    >>> _lines("--json", "Output JSON.", 8, 40), _lines("--with-filename", "Name it.", 8, 40)
    (['  --json    Output JSON.'], ['  --with-filename', '            Name it.'])
    """
    start = 2 + column + 2
    lines = wrap_text(text, width, " " * start, " " * start).split("\n")
    if len(name) > column:
        return [f"  {name}", *lines]
    return [f"  {name.ljust(column)}  {lines[0][start:]}", *lines[1:]]
