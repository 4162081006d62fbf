"""Options that cannot be combined, or that need another: what rows and commands say of it, and one check.

The row of an option has what it cannot be combined with; a command has a table for what many options have in common,
or options that other commands have, too.

An option is named as it is typed: `--json`, `-n`, or `FILE` for the arguments; `--format=u16|u32` means these values.
An option counts as given where the command line (or a preset) gives it a value other than its default. One is given by
a FILE, too: a folder stands for -r, and so do views of folders where nothing is named and nobody pipes.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Mapping
from contextlib import suppress
from typing import TypeAlias

import click

from tokcli.cli.messages import READINGS
from tokcli.errors import InputError

LEAVE_OUT = "Leave one of them out."
INPUTS = ("files", "files_from", "files0_from")  # parameters that name what is read; `text` may be empty


class Conflict:
    """What is said of an option, or with `when` of some of its values (`u16|u32`), by its row or by a table."""

    unless = ""

    def __init__(self, *others: str, hint: str = "", when: str = "") -> None:
        self.others, self.hint, self.when = others, hint, when


Rule: TypeAlias = tuple[str, Conflict]  # an option, and what is said of it


class Excludes(Conflict):
    """The option cannot be combined with any of the others, unless one of `unless` (`--a|--b`) is given, too."""

    def __init__(self, *others: str, hint: str = LEAVE_OUT, unless: str = "", when: str = "") -> None:
        super().__init__(*others, hint=hint, when=when)
        self.unless = unless


class NoEffectWith(Excludes):
    """The others would change nothing beside the option: they are rejected, unless a preset stands for them."""


class Requires(Conflict):
    """The option has no meaning without one of the others, and is rejected then; `phrase` may stand for them."""

    def __init__(self, *others: str, hint: str = "", phrase: str = "", when: str = "") -> None:
        super().__init__(*others, hint=hint, when=when)
        self.phrase = phrase


class Required(Conflict):
    """The option has to be given unless one of the others is."""


def one_of(*groups: tuple[str, ...]) -> tuple[Rule, ...]:
    """Return rules that reject options of more than one group, but allow several of the same group."""
    rules: list[Rule] = []
    for number, group in enumerate(groups):
        others = tuple(option for other in groups[number + 1 :] for option in other)
        rules += [(option, Excludes(*others)) for option in group]
    return tuple(rules)


def take_folders(ctx: click.Context) -> None:
    """Give -r, in a command that has it, where a FILE is a folder; FILEs that are counts are no texts to look for.

    --tree without any input is of the current folder, where it would wait for somebody to type.
    """
    params = ctx.params
    if params.get("recursive") is not False or params.get("counts"):
        return
    if (folder := next(filter(os.path.isdir, params["files"]), None)) is not None:
        stands_for = f"the folder {folder!r}"
    elif params.get("tree") and not any(map(params.get, INPUTS)) and params["text"] is None and os.isatty(0):
        stands_for = "--tree"
    else:
        return
    params["recursive"] = True
    ctx.meta["-r"] = stands_for
    ctx.set_parameter_source("recursive", click.core.ParameterSource.COMMANDLINE)


def check(rules: Iterable[Rule], ctx: click.Context, optional_values: Collection[str]) -> None:
    """Raise InputError for the first of a command's rules that the given options violate."""
    given, typed = given_options(ctx), given_options(ctx, with_preset=False)

    def found(option: str, among: Mapping[str, object] = given) -> str | None:
        """Return the option as the user may have typed it; None if it was not given, or with none of these values."""
        name, _, values = option.partition("=")
        if name not in among:
            return None
        if not values:
            return str(ctx.meta.get(name, name))
        value = str(among[name])
        return f"{name}{'=' if name in optional_values else ' '}{value}" if value in values.split("|") else None

    for name, said in rules:
        if isinstance(said, Required):
            if not any(map(found, (name, *said.others))):
                raise InputError(f"{name} is missing", _given_as_file(name, given.get("FILE"), ctx) or said.hint)
        elif (option := found(name)) is None:
            continue
        elif isinstance(said, Requires):
            if not any(map(found, said.others)):
                needed = said.phrase or either([_shown(other, optional_values) for other in said.others])
                raise InputError(f"{option} needs {needed}", said.hint)
        elif said.unless and any(map(found, said.unless.split("|"))):
            continue
        elif others := [
            other
            for one in said.others
            if (other := found(one, typed if isinstance(said, NoEffectWith) else given)) is not None
        ]:
            hint = _misread(given["FILE"], given.get("--text")) if "FILE" in others else ""
            raise InputError(f"{option} cannot be combined with {either(others)}", hint or said.hint)


def _given_as_file(option: str, files: object, ctx: click.Context) -> str:
    """Return how a number is given to an option, where a FILE that does not exist is one; else ""."""
    param = next(param for param in ctx.command.params if option in param.opts)
    if not isinstance(param.type, click.IntRange):
        return ""
    for file in files if isinstance(files, tuple) else ():
        with suppress(click.BadParameter):
            if not os.path.lexists(file) and param.type.convert(file, param, None):
                return f"If {file} is a number and no FILE, type {option} {file}."
    return ""


def _misread(files: object, text: object) -> str:
    """Return how missing files were read that may have been meant as a value, or as more of a text; else ""."""
    names = files if isinstance(files, tuple) else (files,)
    reading = next((READINGS[name] for name in names if name in READINGS and not os.path.lexists(name)), "")
    if reading or text is None or any(os.path.lexists(name) or "." in name for name in names):
        return reading
    return f"Quote a text of several words: -t {' '.join([str(text), *names])!r}"


def given_options(ctx: click.Context, *, with_preset: bool = True) -> Mapping[str, object]:
    """Return the value of each option that was given, by a preset too, under every name that the option has."""
    given: dict[str, object] = {}
    source = click.core.ParameterSource
    sources = (source.COMMANDLINE, source.DEFAULT_MAP) if with_preset else (source.COMMANDLINE,)
    for param in ctx.command.params:
        value = ctx.params.get(param.name or "")
        if value is None or value is False or value in ((), param.default):
            continue
        if ctx.get_parameter_source(param.name or "") in sources:
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
