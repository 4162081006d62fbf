"""A row for each option: all there is to say of it, so that parser, help, man pages and completions cannot differ.

A row is an `Option` (or an `Argument`): a `click.Option` with these attributes more:

    group      the heading under which it is listed: one of GROUPS
    help       what it does, in one sentence that begins with a verb: for --help and completions
    more       what else there is to say: units, limits, an example; for man pages. "" where help says all
    value      how its value is shown, with what stands before it: " FILE", " lines|nul|jsonl", "[=N]"; "" for a flag
    completes  what its value is, for completions: one of COMPLETED (see there); None for a flag
    bare       the value that it has where its optional value is left out; None where the value is required
    aliases    other spellings, which are accepted, and listed in man pages only
    is_rare    whether it is listed last in its group
    called     the name that messages have for it
    conflicts  what it cannot be combined with, or needs; see conflicts.py

and what click has: opts (["-t", "--text"]), multiple, is_flag, type (its `choices`, its `min` and `max`), envvar. What
its default is, in words, is `default_shown`. A command's rows are its `params`, and `get_params(context)` has --help,
too; `most_used` of a command are those that its help lists first.
"""

from __future__ import annotations

import os
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import click

if TYPE_CHECKING:
    from tokcli.cli.declare.conflicts import Conflict, Rule

Rows: TypeAlias = "tuple[Option | Argument, ...]"
Group = Literal["Input", "Tokenizer", "Special tokens", "Output", "View", "Running"]
GROUPS: tuple[Group, ...] = ("Input", "Tokenizer", "Special tokens", "Output", "View", "Running")
Completed = Literal[
    "choices",  # one of type.choices
    "number",
    "text",  # anything that a user may write: a text, a regex, the name of a member, a size
    "file",
    "folder",
    "encoding",  # the name of an encoding, or a vocabulary file
    "encoding or model",
    "encodings",  # several of these, separated by commas
    "model",
    "pattern",  # the name of an encoding, or a regex
    "special token",  # of the encoding
    "cluster",  # `local`, or an address
]


class Option(click.Option):
    """A row. Its help needs no cleaning, for which click would load `inspect`: 4.5 ms of every run."""

    def __init__(
        self,
        *names: str,
        group: Group,
        help: str,
        more: str = "",
        completes: Completed | None = None,
        bare: str | None = None,
        aliases: tuple[str, ...] = (),
        is_rare: bool = False,
        called: str = "",
        conflicts: tuple[Conflict, ...] = (),
        **attributes: Any,
    ) -> None:
        super().__init__(names, **attributes)
        self.group, self.help, self.more = group, help, more
        self.bare, self.aliases, self.is_rare = bare, aliases, is_rare
        self.called = called or self.opts[-1]
        self.conflicts = conflicts
        self.completes = completes or _completed(self)

    @property
    def rules(self) -> list[Rule]:
        """What the row says of its option, or of some of its values."""
        return [(f"{self.called}={said.when}" if said.when else self.called, said) for said in self.conflicts]

    @property
    def value(self) -> str:
        """Return the value as it is shown after the name, with what stands before it."""
        if self.completes is None:
            return ""
        shown = self.metavar or ("|".join(self.type.choices) if isinstance(self.type, click.Choice) else "VALUE")
        return f" {shown}" if self.bare is None else f"[={shown}]"

    @property
    def default_shown(self) -> str:
        """The default in words; "" where there is none to show."""
        return self.show_default if isinstance(self.show_default, str) else f"{self.default}" * bool(self.show_default)

    def takes(self, word: str) -> bool:
        """Return whether a word after the option is its optional value: a choice, or a number, and no such file."""
        if isinstance(self.type, click.Choice):
            is_value = word in self.type.choices
        else:
            is_value = isinstance(self.type, click.types.IntParamType) and word.isascii() and word.isdecimal()
        return is_value and not os.path.lexists(word)

    @property
    def taken(self) -> str:
        """Return in words the values that `takes` accepts; "" where there are none."""
        if isinstance(self.type, click.Choice):
            return " or ".join(self.type.choices)
        return "a number" if isinstance(self.type, click.types.IntParamType) else ""


class RepeatedOption(Option):
    """An option that may be given several times; its environment variable holds one value, which may have spaces."""

    def value_from_envvar(self, ctx: click.Context) -> Any:
        value = self.resolve_envvar_value(ctx)
        return None if value is None else (value,)


class Argument(click.Argument):
    """The row of what a command takes beside options."""

    def __init__(self, name: str, *, help: str, completes: Completed, **attributes: Any) -> None:
        super().__init__((name,), **attributes)
        self.help, self.completes = help, completes


def _completed(row: Option) -> Completed | None:
    """Return what the value of an option is where its type says it."""
    if row.is_flag or row.count:
        return None
    return "choices" if isinstance(row.type, click.Choice) else "number" if _is_number(row.type) else "text"


def _is_number(kind: object) -> bool:
    return isinstance(kind, (click.types.IntParamType, click.types.FloatParamType))


@lru_cache(maxsize=1)
def help_option() -> Option:
    """Return the option -h, --help, which click asks for four times in a run; its own asks gettext for its text."""
    return Option(
        "-h", "--help", group="Running", is_flag=True, is_eager=True, expose_value=False, callback=_show_help,
        help="Show this message and exit.",
    )  # fmt: skip


def _show_help(ctx: click.Context, _: click.Parameter, wanted: bool) -> None:
    if wanted and not ctx.resilient_parsing:
        click.echo(ctx.get_help(), color=ctx.color)
        ctx.exit()
