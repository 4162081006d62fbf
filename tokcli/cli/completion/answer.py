"""What may stand at the cursor: the words before it are read as the command will read them, by its rows."""

from __future__ import annotations

from typing import NamedTuple

import click

from tokcli.cli.completion.values import Value, values_of
from tokcli.cli.declare.command import Command
from tokcli.cli.declare.help import in_groups
from tokcli.cli.declare.option import Argument, Option, help_option

LISTS = ("encodings",)  # values of which each may be followed by a comma and another


class Offer(NamedTuple):
    """Whatever may be typed in place of the current word, from its `prefix` on: values, "file"s or "folder"s, or ""."""

    prefix: int = 0
    values: list[Value] = []  # noqa: RUF012 - nobody adds to it
    paths: str = ""
    is_list: bool = False  # whether a comma may follow
    any_case: bool = False  # whether the command ignores the case of values


class Line:
    """The words of a command before the cursor: its options so far, and what the next word is."""

    def __init__(self, command: click.Command, words: list[str]) -> None:
        rows = [row for row in (*command.params, help_option()) if isinstance(row, Option)]
        listed = in_groups(rows, command.most_used if isinstance(command, Command) else ())
        self.rows = [row for _, group in listed for row in group]  # as --help lists them
        self.argument = next((row for row in command.params if isinstance(row, Argument)), None)
        self.named = {name: row for row in self.rows for name in (*row.opts, *row.aliases)}
        self.given: dict[str, list[str]] = {}  # by parameter name
        self.awaits: Option | None = None  # the option whose value the next word is
        self.may_take: Option | None = None  # the option whose value the next word may be
        self.only_arguments = False
        self._missing = 0  # words that the option still takes
        for word in words:
            self._read(word)

    def value_of(self, *names: str) -> str:
        """Return the last value given to one of these options, or ""."""
        return next((values[-1] for name in names if (values := self.given.get(name)) and values[-1]), "")

    def _read(self, word: str) -> None:
        optional, self.may_take = self.may_take, None
        if self.awaits is not None:
            self.given[str(self.awaits.name)].append(word)
            self._missing -= 1
            if self._missing == 0:
                self.awaits = None
        elif self.only_arguments or (optional is not None and optional.takes(word)):
            return
        elif word == "--":
            self.only_arguments = True
        elif word.startswith("--"):
            name, equals, value = word.partition("=")
            self._give(name, value if equals else None)
        else:
            for place, letter in enumerate(word[1:], 2) if word.startswith("-") else ():
                row = self._give(f"-{letter}", word[place:] or None)
                if row is None or row.completes is not None:
                    break

    def _give(self, name: str, value: str | None) -> Option | None:
        row = self.named.get(name)
        if row is None:
            return None
        values = self.given.setdefault(str(row.name), [])
        if value is not None and row.completes is not None:
            values.append(value)
        elif row.bare is not None:
            self.may_take = row
        elif row.completes is not None:
            self.awaits, self._missing = row, row.nargs
        return row


def answer(command: click.Command, words: list[str], current: str) -> Offer:
    """Return what may follow the words of a command line after its name, where `current` has been typed of the next."""
    line = Line(command, words)
    if line.awaits is not None:
        return _value(line, line.awaits, current, 0)
    if not line.only_arguments and current.startswith("-") and current != "-":
        name, equals, _ = current.partition("=")
        if equals and name.startswith("--"):
            row = line.named.get(name)
            return Offer() if row is None or row.completes is None else _value(line, row, current, len(name) + 1)
        attached = line.named.get(current[:2])
        if not current.startswith("--") and len(current) > 2 and attached is not None and attached.completes:
            return _value(line, attached, current, 2)
    if not line.only_arguments and current.startswith("-"):
        return Offer(values=list(_names(line, current)))
    found = Offer() if line.argument is None else _value(line, line.argument, current, 0)
    if line.may_take is not None and not line.only_arguments:
        return found._replace(values=[*_value(line, line.may_take, current, 0).values, *found.values])
    return found


def _value(line: Line, row: Option | Argument, current: str, prefix: int) -> Offer:
    is_list = row.completes in LISTS
    if is_list:
        prefix = max(prefix, current.rfind(",") + 1)
    beside = line.value_of("encoding", "encodings"), line.value_of("model", "models")
    values, paths = values_of(row, current[prefix:], *beside)
    used = current[:prefix].rpartition("=")[2].split(",") if is_list else ()
    kept = [value for value in values if value.text not in used]
    return Offer(prefix, kept, paths, is_list, row.completes == "model")


def _names(line: Line, current: str) -> list[Value]:
    """Return the names of the options that may still be given; another spelling only where it alone has been begun."""
    found = []
    for row in line.rows:
        if str(row.name) in line.given and not row.multiple:
            continue
        names = [name for name in reversed(row.opts) if current == "-" or name.startswith("--")]
        if not any(name.startswith(current) for name in names):
            names += [name for name in row.aliases if name.startswith(current)]
        found += [Value(name, " ".join((row.help or "").split())) for name in names]
    return found
