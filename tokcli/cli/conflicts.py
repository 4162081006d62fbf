"""Options that cannot be combined, or that need another: a table for each command, and one check of it.

An option is named as it is typed: `--json`, `-n`, or `FILE` for the arguments; `--format=u16|u32` means these values.
An option counts as given where the command line (or a preset) gives it a value other than its default.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import TypeAlias

import click

from tokcli.errors import InputError


class Apart:
    """An option that cannot be combined with any of the others."""

    def __init__(self, option: str, others: tuple[str, ...], hint: str = "Leave one of them out.") -> None:
        self.option, self.others, self.hint = option, others, hint


class Needs:
    """An option that has no meaning without another, and is rejected then."""

    def __init__(self, option: str, other: str, hint: str = "") -> None:
        self.option, self.other, self.hint = option, other, hint


class Required:
    """An option that has to be given unless one of the options `unless` is."""

    def __init__(self, option: str, unless: tuple[str, ...], hint: str = "") -> None:
        self.option, self.unless, self.hint = option, unless, hint


Conflict: TypeAlias = Apart | Needs | Required


def one_of(*groups: tuple[str, ...]) -> tuple[Apart, ...]:
    """Return rows that reject options of more than one group, but allow several of the same group."""
    rows = []
    for number, group in enumerate(groups):
        others = tuple(option for other in groups[number + 1 :] for option in other)
        rows += [Apart(option, others) for option in group]
    return tuple(rows)


def check(conflicts: Iterable[Conflict], ctx: click.Context, optional_values: Collection[str]) -> None:
    """Raise InputError for the first row of a command's table that the given options violate."""
    given = given_options(ctx)

    def found(option: str) -> str | None:
        """Return the option as the user may have typed it; None if it was not given, or with none of these values."""
        name, _, values = option.partition("=")
        if name not in given:
            return None
        if not values:
            return name
        value = str(given[name])
        return f"{name}{'=' if name in optional_values else ' '}{value}" if value in values.split("|") else None

    for row in conflicts:
        if isinstance(row, Required):
            if not any(map(found, (row.option, *row.unless))):
                raise InputError(f"{row.option} is missing", row.hint)
        elif (option := found(row.option)) is None:
            continue
        elif isinstance(row, Needs):
            if found(row.other) is None:
                raise InputError(f"{option} needs {_shown(row.other, optional_values)}", row.hint)
        elif others := [other for name in row.others if (other := found(name)) is not None]:
            raise InputError(f"{option} cannot be combined with {either(others)}", row.hint)


def given_options(ctx: click.Context) -> Mapping[str, object]:
    """Return the value of each option that was given, under every name that the option has."""
    given: dict[str, object] = {}
    sources = click.core.ParameterSource
    for param in ctx.command.params:
        value = ctx.params.get(param.name or "")
        if value is None or value is False or value in ((), param.default):
            continue
        if ctx.get_parameter_source(param.name or "") in (sources.COMMANDLINE, sources.DEFAULT_MAP):
            is_option = isinstance(param, click.Option)
            given.update(dict.fromkeys(param.opts if is_option else [param.human_readable_name.strip("[].")], value))
    return given


def either(names: list[str]) -> str:
    """Return names joined to a phrase with "or".

    >>> either(["--json"]), either(["--json", "-o"]), either(["--json", "--html", "-o"])
    ('--json', '--json or -o', '--json, --html or -o')
    """
    return " or ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


def _shown(option: str, optional_values: Collection[str]) -> str:
    name, _, values = option.partition("=")
    return f"{name}{'=' if name in optional_values else ' '}{values.replace('|', ' or ')}" if values else name
