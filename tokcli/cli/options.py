"""The options that commands share: how the command line declares them, and the frozen dataclasses that hold them.

What an option leads to is decided in request.py; what cannot be combined, in conflicts.py.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any, Literal, TypeVar

import click

from tokcli.cli import messages
from tokcli.cli.conflicts import Apart, Conflict, Needs, check, take_folders
from tokcli.cli.values.numbers import NumberRange, notes_on_units
from tokcli.engine.base.time_limit import time_limit
from tokcli.errors import InputError
from tokcli.registry.catalog import CATALOG
from tokcli.registry.model_names import MODEL_TO_ENCODING

if TYPE_CHECKING:
    from typing_extensions import Self, dataclass_transform

    from tokcli.engine.stream.chunks import Utf8Errors
    from tokcli.render.console import Color

else:

    def dataclass_transform(**_: bool) -> Callable[[F], F]:
        """Return a decorator that does nothing: only type checkers use it."""
        return lambda kind: kind


F = TypeVar("F", bound=Callable[..., Any])
Special = Literal["error", "text", "allow"]
RecordKind = Literal["lines", "nul", "jsonl"]

DEFAULT_ENCODING = "o200k_base"
DEFAULT_SECONDS = 5  # as in engine/base/time_limit.py; a test compares the two
MAX_SECONDS = 1e9  # 32 years; `regex` takes more, or infinity, for no time at all
# Options whose value may be left out, and the value that they have then (no path has more levels than --tree's).
OPTIONAL_VALUES = {"--visualise": "tokens", "--tree": "4096", "--sort": "tokens", "--models": ""}
# The values that may also be the next word, where no FILE has such a name; any other word is a FILE.
NEXT_WORDS = {"--sort": ("name", "tokens"), "--visualise": ("tokens", "merges")}
PATHS = {"FILE": "file", "F": "file", "DIR": "folder"}  # what the value of an option names, by its metavar
# Other spellings of options, which the help does not list.
SPELLINGS = {"--visualize": "--visualise", "--colour": "--color"}


# --- what was asked for ----------------------------------------------------------------------------------------------


@dataclass_transform(kw_only_default=True, frozen_default=True)
class Options:
    """Values that cannot change, annotated in a subclass and given by name: a frozen dataclass without the import.

    (`dataclasses` and the classes it would make take 2.5 ms of `tokcli count`. Type checkers see no difference.)

    >>> class Point(Options):
    ...     x: int
    ...     y: int
    >>> Point(x=1, y=2).replace(y=3).y
    3
    """

    def __init__(self, **values: Any) -> None:
        names = {name for kind in type(self).__mro__ for name in vars(kind).get("__annotations__", ())}
        if names != values.keys():
            raise TypeError(f"{type(self).__name__}: not one value for each of its options: {names ^ values.keys()}")
        self.__dict__.update(values)

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"{name} cannot change")

    def replace(self, **changes: Any) -> Self:
        """Return a copy of the options with some changed."""
        return type(self)(**{**self.__dict__, **changes})


class EncodingOptions(Options):
    """The options of every command that uses an encoding."""

    encoding: str | None
    model: str | None
    pattern: str | None
    timeout: float
    offline: bool
    as_json: bool
    output: str | None
    jobs: int | None
    quiet: bool
    color: Color


class NamedInputs(Options):
    """The options that name what is read."""

    files: tuple[str, ...]
    text: str | None
    files0_from: str | None
    no_decompress: bool
    skip_invalid: bool
    quiet: bool


class FolderOptions(NamedInputs):
    """The options of a command that also takes folders."""

    recursive: bool
    globs: tuple[str, ...]
    no_ignore: bool
    hidden: bool
    follow: bool
    verbose: bool


class InputOptions(EncodingOptions, NamedInputs):
    """The options of a command that reads FILEs, whole or as records."""

    records: RecordKind | None
    field: str | None
    all_fields: bool


class TextOptions(InputOptions, FolderOptions):
    """The options of a command whose input is text."""

    errors: Utf8Errors
    special: Special | None  # None: as `is_for_ids` says
    allow_special: tuple[str, ...]
    add_special_tokens: bool

    @property
    def is_for_ids(self) -> bool:
        """Whether ids alone are asked for: then special tokens in the text are an error by default, else text."""
        return False


class ClusterOptions(TextOptions):
    """The options of a command whose work a cluster can do."""

    dask: str | None


# --- how the command line declares them ------------------------------------------------------------------------------


class Command(click.Command):
    """A command that knows which of its options cannot be combined, and takes optional values only with `=`."""

    def __init__(self, *args: Any, conflicts: Iterable[Conflict] = (), **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.conflicts = tuple(conflicts)

    def get_help_option(self, ctx: click.Context) -> click.Option | None:  # noqa: ARG002
        return help_option()

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
                        raise InputError(f"{param.opts[-1]} is given twice", "Give it once.")
                    seen.add(param)
            return parsed

        parser.parse_args = parse_once
        return parser

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        rest = super().parse_args(ctx, list(self._with_values(args)))
        if not ctx.resilient_parsing:
            for param in self.params:
                if param.metavar in PATHS and ctx.params.get(param.name or "") == "":
                    raise InputError(f"{param.opts[-1]}: the name is empty", f"Name a {PATHS[param.metavar]}.")
            messages.FILES[:] = ctx.params.get("files", ())
            take_folders(ctx)
            check(self.conflicts, ctx, OPTIONAL_VALUES)
            for note in () if ctx.params.get("quiet") else notes_on_units(ctx):
                messages.print_note(note)
        return rest

    def _with_values(self, args: list[str]) -> Iterator[str]:
        """Yield the arguments with options in one spelling, and with each optional value that was left out."""
        options = [param for param in self.params if isinstance(param, click.Option)]
        with_value = {name for option in options if not option.is_flag and not option.count for name in option.opts}
        # click tries -e as a long option first, and words an error with suggestions that nobody sees: 1.2 ms
        long_form = {option.opts[0]: option.opts[1] for option in options if len(option.opts) == 2}
        rest = args[::-1]
        while rest:
            given = rest.pop()
            name, equals, joined = given.partition("=")
            arg = long_form.get(given) or SPELLINGS.get(name, name) + equals + joined
            if arg in OPTIONAL_VALUES and arg in with_value:
                arg = f"{arg}={rest.pop() if rest and is_value(arg, rest[-1]) else OPTIONAL_VALUES[arg]}"
            yield arg
            if arg == "--":
                break
            if arg in with_value and rest:
                yield rest.pop()
        yield from reversed(rest)


def is_value(option: str, word: str) -> bool:
    """Return whether the word after an option is its optional value: one of the choices, or a number, and no file."""
    is_choice = (word.isascii() and word.isdecimal()) if option == "--tree" else word in NEXT_WORDS.get(option, ())
    return is_choice and not os.path.lexists(word)


class Option(click.Option):
    """An option whose help needs no cleaning, for which click would load `inspect`: 4.5 ms of every run."""

    def __init__(self, *args: Any, help: str | None = None, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.help = help


def option(*names: str, cls: type[Option] = Option, **attributes: Any) -> Callable[[F], F]:
    """Declare an option, as `click.option` does."""
    return click.option(*names, cls=cls, **attributes)


def help_option() -> click.Option:
    """Return the option -h, --help; click's own asks gettext for its text."""
    return Option(
        ("-h", "--help"), is_flag=True, is_eager=True, expose_value=False, callback=_show_help,
        help="Show this message and exit.",
    )  # fmt: skip


def _show_help(ctx: click.Context, _: click.Parameter, wanted: bool) -> None:
    if wanted and not ctx.resilient_parsing:
        click.echo(ctx.get_help(), color=ctx.color)
        ctx.exit()


def complete_encoding(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[Any]:
    """Return the encodings whose names begin with `incomplete`, for the shell; where there are none, ask for files."""
    return [name for name in CATALOG if name.startswith(incomplete)] or complete_file(ctx, param, incomplete)


def complete_file(_: click.Context, __: click.Parameter, incomplete: str) -> list[Any]:
    """Ask the shell for files. (click.Path does so, too, but asks gettext for its name: 2 ms of every run.)"""
    from click.shell_completion import CompletionItem  # needed only to answer the shell

    return [CompletionItem(incomplete, type="file")]


def complete_model(_: click.Context, __: click.Parameter, incomplete: str) -> list[str]:
    """Return the models whose names begin with `incomplete`, for the shell."""
    return [name for name in MODEL_TO_ENCODING if name.startswith(incomplete)]


def group(*options: Callable[[F], F]) -> Callable[[F], F]:
    """Return one decorator for several options, which `--help` lists in this order."""

    def decorate(function: F) -> F:
        for option in reversed(options):
            function = option(function)
        return function

    return decorate


def limit_patterns(context: click.Context, _: click.Parameter, seconds: float) -> float:
    """Limit the seconds that every pattern may take until the command ends, wherever the pattern comes from."""
    if seconds != DEFAULT_SECONDS:
        context.with_resource(time_limit(seconds))
    return seconds


takes_timeout = option(
    "--timeout", metavar="S", default=DEFAULT_SECONDS, show_default=True,
    type=NumberRange(min=0, min_open=True, max=MAX_SECONDS),
    callback=limit_patterns, help="Allow a pattern S seconds for each block of text.",
)  # fmt: skip
takes_files = group(
    click.argument("files", nargs=-1, metavar="[FILE]...", shell_complete=complete_file),
    option("-t", "--text", metavar="TEXT", help="Read TEXT instead of files."),
    option("--files0-from", metavar="F", help="Read NUL-separated file names from F; - is standard input."),
    option("--no-decompress", is_flag=True, help="Take .gz, .bz2, .xz and .zst data as they are."),
)
takes_folders = group(
    option("-r", "--recursive", is_flag=True,
           help="Read the text files in folders (in the current one without FILE), but those that .gitignore or "
                ".ignore leaves out; a folder that is a FILE needs no -r."),
    option("-g", "--glob", "globs", multiple=True, metavar="GLOB",
           help="In folders, read only files that match GLOB, or with !GLOB none of them; may be repeated."),
    option("--no-ignore", is_flag=True, help="In folders, heed no .gitignore or .ignore."),
    option("--hidden", is_flag=True, help="In folders, read hidden files and folders, too."),
    option("--follow", is_flag=True, help="In folders, follow symbolic links."),
    option("-v", "--verbose", is_flag=True, help="In folders, name the binary files that are skipped."),
)  # fmt: skip


class RepeatedOption(Option):
    """An option that may be given several times; its environment variable holds one value, which may have spaces."""

    def value_from_envvar(self, ctx: click.Context) -> Any:
        value = self.resolve_envvar_value(ctx)
        return None if value is None else (value,)


def _takes_encoding(*, several: bool) -> Callable[[F], F]:
    """Declare the options of the encoding; with `several`, -e and -m may be repeated."""
    return group(
        option("-e", "--encoding", metavar="NAME|PATH", envvar="TOKCLI_ENCODING",
               shell_complete=complete_encoding,
               multiple=several, cls=RepeatedOption if several else Option,
               help="Use this encoding: a name, a file, org/name on the Hugging Face Hub, or "
                    f"https://...#sha256=HEX{'; may be repeated' if several else ''}.  "
                    f"[default: {DEFAULT_ENCODING}]"),
        option("-m", "--model", metavar="MODEL", shell_complete=complete_model, multiple=several,
               help=f"Use the encoding of this model{'; may be repeated' if several else ''}."),
        option("--pattern", metavar="P", help="Split with this regex, or with the pattern of the encoding P."),
        takes_timeout,
        option("--offline", is_flag=True, help="Never use the network."),  # network/ reads TOKCLI_OFFLINE
    )  # fmt: skip


takes_encoding = _takes_encoding(several=False)
takes_encodings = _takes_encoding(several=True)
takes_json = option("--json", "as_json", is_flag=True, help="Output JSON.")
takes_skip_invalid = option(
    "--skip-invalid", is_flag=True,
    help="Leave out jsonl records that are not JSON, or have no text; a note says how many.",
)  # fmt: skip
takes_records = group(
    option("--records", type=click.Choice(["lines", "nul", "jsonl"]),
           help="Treat each line, NUL-ended string or JSON object as a record of its own; with jsonl, rows of "
                "Parquet and Arrow files, too."),
    option("--field", metavar="NAME",
           help="Read this member of each jsonl record; a.b is member b of the object in a."),
    option("--all-fields", is_flag=True, help="Keep all other members of each jsonl record in its answer."),
    takes_skip_invalid,
    takes_json,
)  # fmt: skip
takes_output = option("-o", "--output", metavar="FILE", shell_complete=complete_file, help="Write to FILE atomically.")
takes_cluster = option(
    "--dask", metavar="ADDRESS|local", help="Let a Dask cluster do the work (extra `dask`); FILEs may be urls."
)
takes_html = option(
    "--html", metavar="FILE", shell_complete=complete_file, help="Write the view to FILE as a web page."
)
common = group(
    option("-j", "--jobs", type=click.IntRange(min=1), metavar="N", help="Use N threads.",
           show_default="all cores"),
    option("-q", "--quiet", is_flag=True, callback=messages.note_when_closed, help="Suppress notes."),
    option("--color", type=click.Choice(["auto", "always", "never"]), default="auto",
           metavar="[auto|always|never]", help="Choose when to use colour: by default on a terminal only."),
)  # fmt: skip


def takes_text(special: str) -> Callable[[F], F]:
    """Declare the options of a command that reads text; `special` says what its default for special tokens is."""
    return group(
        option("--errors", type=click.Choice(["strict", "replace", "bytes"]), default="strict", show_default=True,
               help="Reject input that is not UTF-8, replace bad bytes by U+FFFD, or keep them."),
        option("--special", type=click.Choice(["error", "text", "allow"]), show_default=special,
               help="Reject special tokens in the text, take them as plain text, or as special tokens."),
        option("--allow-special", metavar="NAME", multiple=True,
               help="Allow this special token; may be repeated."),
        option("--add-special-tokens", is_flag=True, help="Add BOS/EOS as the tokenizer's template defines."),
    )  # fmt: skip


# What cannot be combined in any command with these options.
ENCODING_CONFLICTS = (Apart("--model", ("--encoding",)),)
FILE_CONFLICTS = (
    Apart("--text", ("FILE", "--files0-from")),
    Apart("--files0-from", ("FILE",)),
    Needs("--field", "--records=jsonl", "Only JSON records have members with names."),
    Needs("--skip-invalid", "--records=jsonl", "Lines and NUL-ended strings are always valid."),
)
ANSWER_CONFLICTS = (
    *FILE_CONFLICTS,
    Needs("--all-fields", "--records=jsonl", "Only JSON records have members with names."),
    Needs("--all-fields", "--json", "Only JSON answers have members with names."),
)
FOLDER_CONFLICTS = (
    Apart("-r", ("--text",)),
    *(Needs(name, "-r", "Or name a folder.") for name in ("-g", "--no-ignore", "--hidden", "--follow", "--verbose")),
)
TEXT_CONFLICTS = (*ANSWER_CONFLICTS, *FOLDER_CONFLICTS, *ENCODING_CONFLICTS)
