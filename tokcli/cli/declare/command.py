"""A command: it knows which of its options cannot be combined, and which values of options may be left out."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import click

from tokcli.cli import messages
from tokcli.cli.declare.conflicts import Rule, check, take_folders
from tokcli.cli.declare.help import write_options
from tokcli.cli.declare.numbers import notes_on_units
from tokcli.cli.declare.option import Option, help_option
from tokcli.errors import MAX_QUOTED, InputError

LONGEST_PATH = 255  # bytes of a name on the command line that is looked for


def _note_on_text(text: str | None) -> list[str]:
    """Return a note on a text that is also the name of a file, as who takes -t for an option of files types it."""
    if text is None or len(text) > LONGEST_PATH or not ("." in text or "/" in text) or not os.path.isfile(text):
        return []
    return [f"-t takes a text, and {text} is a file, too: name it without -t to read it."]


class Command(click.Command):
    """A command of rows (see option.py); `most_used` names the options that its help lists first."""

    def __init__(
        self, *args: Any, conflicts: Iterable[Rule] = (), most_used: tuple[str, ...] = (), **kwargs: Any
    ) -> None:
        super().__init__(*args, **kwargs)
        self.options = [param for param in self.params if isinstance(param, Option)]
        self.conflicts = (*(rule for option in self.options for rule in option.rules), *conflicts)
        self.most_used = most_used

    def get_help_option(self, ctx: click.Context) -> click.Option | None:  # noqa: ARG002
        return help_option()

    def format_help(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        self.format_usage(ctx, formatter)
        self.format_help_text(ctx, formatter)
        write_options(formatter, [*self.options, help_option()], self.most_used)
        formatter.write(f"\n`man {ctx.command_path.replace(' ', '-')}` says more of each option.\n")

    def make_parser(self, ctx: click.Context) -> Any:
        """Return click's parser, made to reject a repeated option with a single value; click takes the last value."""
        parser: Any = super().make_parser(ctx)
        parse = parser.parse_args

        def parse_once(args: list[str]) -> Any:
            parsed = parse(args)
            seen: set[click.Parameter] = set()
            for param in () if ctx.resilient_parsing else parsed[2]:
                if isinstance(param, click.Option) and not (param.multiple or param.is_flag or param.count):
                    if param in seen:
                        several = param.name in ("encoding", "model")
                        hint = "Give it once; `tokcli count` takes several." if several else "Give it once."
                        raise InputError(f"{param.opts[-1]} is given twice", hint)
                    seen.add(param)
            return parsed

        parser.parse_args = parse_once
        return parser

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        rest = super().parse_args(ctx, list(self._with_values(args)))
        if not ctx.resilient_parsing:
            for option in self.options:
                if option.completes in ("file", "folder") and ctx.params.get(option.name or "") == "":
                    raise InputError(f"{option.opts[-1]}: the name is empty", f"Name a {option.completes}.")
            messages.FILES[:] = ctx.params.get("files", ())
            take_folders(ctx)
            check(self.conflicts, ctx, self.optional_values)
            notes = (*notes_on_units(ctx), *_note_on_text(ctx.params.get("text")))
            for note in () if ctx.params.get("quiet") else notes:
                messages.print_note(note)
        return rest

    @property
    def optional_values(self) -> set[str]:
        """The names of the options whose value may be left out."""
        return {name for option in self.options if option.bare is not None for name in option.opts}

    def _with_values(self, args: list[str]) -> Iterator[str]:
        """Yield the arguments with options in one spelling, and with each optional value that was left out."""
        named = {name: option for option in self.options for name in (*option.opts, *option.aliases)}
        rest = args[::-1]
        while rest:
            arg = rest.pop()
            name, equals, joined = arg.partition("=")
            option = named.get(name) or (named.get(name.replace("_", "-")) if name.startswith("--") else None)
            if option is None or (equals and not name.startswith("--")):
                yield arg
                if arg == "--":
                    break
                if rest and _awaits_value(arg, named):
                    yield rest.pop()
                continue
            # a long name, since click tries -e as a long option first, and words an error with suggestions in vain
            long = option.opts[-1]
            if equals:
                yield f"{long}={joined}"
            elif option.bare is not None:
                word = rest[-1] if rest else ""
                if option.taken and word and not option.takes(word):
                    messages.READINGS[word] = (
                        f"{arg} takes {option.taken}, and any other word after it is a FILE: "
                        f"{word[:MAX_QUOTED]!r} is neither."
                    )
                yield f"{long}={rest.pop() if word and option.takes(word) else option.bare}"
            else:
                yield long
                if option.completes is not None and rest:
                    yield rest.pop()
        yield from reversed(rest)


def _awaits_value(arg: str, named: Mapping[str, Option]) -> bool:
    """Return whether an argument is several short options in one, of which the last takes the next word as its value.

    >>> letters = {"-q": Option("-q", group="Running", help="", is_flag=True)}
    >>> letters["-t"] = Option("-t", group="Input", help="")
    >>> [_awaits_value(arg, letters) for arg in ("-qt", "-qq", "-qtx", "-tq", "--qt", "-", "x")]
    [True, False, False, False, False, False, False]
    """
    if arg[:1] != "-" or arg[1:2] in ("-", ""):
        return False
    for place, letter in enumerate(arg[1:], 2):
        option = named.get(f"-{letter}")
        if option is None or option.completes is not None:
            return option is not None and place == len(arg)
    return False
