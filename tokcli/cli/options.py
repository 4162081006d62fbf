"""The options that commands share: the rows that declare them, and the frozen dataclasses that hold their values.

What a row is, declare/option.py says; what an option leads to is decided in request.py.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Literal

import click

from tokcli.cli import messages
from tokcli.cli.declare.conflicts import Apart, Needs
from tokcli.cli.declare.option import F, Option, RepeatedOption, argument, group, option
from tokcli.cli.values.numbers import NumberRange
from tokcli.engine.base.time_limit import time_limit

if TYPE_CHECKING:
    from typing_extensions import Self, dataclass_transform

    from tokcli.engine.stream.chunks import Utf8Errors
    from tokcli.render.console import Color

else:

    def dataclass_transform(**_: bool) -> Callable[[F], F]:
        """Return a decorator that does nothing: only type checkers use it."""
        return lambda kind: kind


Special = Literal["error", "text", "allow"]
RecordKind = Literal["lines", "nul", "jsonl"]

DEFAULT_ENCODING = "o200k_base"
DEFAULT_SECONDS = 5  # as in engine/base/time_limit.py; a test compares the two
MAX_SECONDS = 1e9  # 32 years; `regex` takes more, or infinity, for no time at all


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
    files_from: str | None
    no_decompress: bool
    skip_invalid: bool
    quiet: bool

    @property
    def list_of_names(self) -> str | None:
        """The file that lists the names of the inputs."""
        return self.files_from if self.files0_from is None else self.files0_from


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


def limit_patterns(context: click.Context, _: click.Parameter, seconds: float) -> float:
    """Limit the seconds that every pattern may take until the command ends, wherever the pattern comes from."""
    if seconds != DEFAULT_SECONDS:
        context.with_resource(time_limit(seconds))
    return seconds


takes_timeout = option(
    "--timeout", is_rare=True, group="Tokenizer", metavar="S", default=DEFAULT_SECONDS, show_default=True,
    type=NumberRange(min=0, min_open=True, max=MAX_SECONDS),
    callback=limit_patterns, help="Allow a pattern S seconds for each block of text.",
)  # fmt: skip
takes_files = group(
    argument(
        "files",
        nargs=-1,
        metavar="[FILE]...",
        completes="file",
        help="What is read: files, or folders of files; - or nothing is standard input.",
    ),
    option("-t", "--text", group="Input", metavar="TEXT", help="Read TEXT instead of files."),
    option(
        "--files-from",
        group="Input",
        completes="file",
        metavar="F",
        help="Read file names from the lines of F; - is standard input.",
    ),
    option(
        "--files0-from",
        group="Input",
        completes="file",
        metavar="F",
        help="Read NUL-separated file names from F; - is standard input.",
    ),
    option(
        "--no-decompress",
        is_rare=True,
        group="Input",
        is_flag=True,
        help="Take .gz, .bz2, .xz and .zst data as they are.",
    ),
)
takes_folders = group(
    option("-r", "--recursive", group="Input", is_flag=True,
           help="Read the text files in folders (in the current one without FILE), but those that .gitignore or "
                ".ignore leaves out; a folder that is a FILE needs no -r."),
    option("-g", "--glob", "globs", group="Input", multiple=True, metavar="GLOB",
           help="In folders, read only files that match GLOB, or with !GLOB none of them; may be repeated."),
    option("--no-ignore", is_rare=True, group="Input", is_flag=True, help="In folders, heed no .gitignore or .ignore."),
    option("--hidden", group="Input", is_flag=True, help="In folders, read hidden files and folders, too."),
    option("--follow", is_rare=True, group="Input", is_flag=True, help="In folders, follow symbolic links."),
    option("-v", "--verbose", group="Input", is_flag=True,
           help="In folders and lists, name the binary files that are skipped."),
)  # fmt: skip


def _takes_encoding(*, several: bool) -> Callable[[F], F]:
    """Declare the options of the encoding; with `several`, -e and -m may be repeated."""
    return group(
        option("-e", "--encoding", group="Tokenizer", completes="encoding", metavar="NAME|PATH",
               envvar="TOKCLI_ENCODING",
               multiple=several, cls=RepeatedOption if several else Option,
               help="Use this encoding: a name, a file, org/name on the Hugging Face Hub, or "
                    f"https://...#sha256=HEX{'; may be repeated' if several else ''}.",
               show_default=DEFAULT_ENCODING),
        option("-m", "--model", group="Tokenizer", completes="model", metavar="MODEL", multiple=several,
               help=f"Use the encoding of this model{'; may be repeated' if several else ''}."),
        option("--pattern", group="Tokenizer", completes="pattern", metavar="P",
               help="Split with this regex, or with the pattern of the encoding P."),
        takes_timeout,
        option("--offline", group="Tokenizer", is_flag=True,
               help="Never use the network."),  # network/ reads TOKCLI_OFFLINE
    )  # fmt: skip


takes_encoding = _takes_encoding(several=False)
takes_encodings = _takes_encoding(several=True)
takes_json = option("--json", "as_json", group="Output", is_flag=True, help="Output JSON.")
takes_skip_invalid = option(
    "--skip-invalid", is_rare=True, group="Input", is_flag=True,
    help="Leave out jsonl records that are not JSON, or have no text; a note says how many.",
)  # fmt: skip
takes_records = group(
    option("--records", group="Input", type=click.Choice(["lines", "nul", "jsonl"]),
           help="Treat each line, NUL-ended string or JSON object as a record of its own; with jsonl, rows of "
                "Parquet and Arrow files, too."),
    option("--field", group="Input", metavar="NAME",
           help="Read this member of each jsonl record; a.b is member b of the object in a."),
    option("--all-fields", is_rare=True, group="Input", is_flag=True,
           help="Keep all other members of each jsonl record in its answer."),
    takes_skip_invalid,
    takes_json,
)  # fmt: skip
takes_output = option(
    "-o", "--output", group="Output", completes="file", metavar="FILE", help="Write to FILE atomically."
)
takes_cluster = option(
    "--dask",
    group="Running",
    completes="cluster",
    metavar="ADDRESS|local",
    help="Let a Dask cluster do the work (extra `dask`); FILEs may be urls.",
)
takes_html = option(
    "--html", group="View", completes="file", metavar="FILE", help="Write the view to FILE as a web page."
)
common = group(
    option("-j", "--jobs", group="Running", type=click.IntRange(min=1), metavar="N", help="Use N threads.",
           show_default="all cores"),
    option("-q", "--quiet", group="Running", is_flag=True, callback=messages.note_when_closed, help="Suppress notes."),
    option("--color", group="View", type=click.Choice(["auto", "always", "never"]), default="auto",
           aliases=("--colour",), help="Choose when to use colour: by default on a terminal only."),
)  # fmt: skip


def takes_text(special: str) -> Callable[[F], F]:
    """Declare the options of a command that reads text; `special` says what its default for special tokens is."""
    return group(
        option("--errors", group="Input", type=click.Choice(["strict", "replace", "bytes"]), default="strict",
               show_default=True,
               help="Reject input that is not UTF-8, replace bad bytes by U+FFFD, or keep them."),
        option("--special", group="Special tokens", type=click.Choice(["error", "text", "allow"]), show_default=special,
               help="Reject special tokens in the text, take them as plain text, or as special tokens."),
        option("--allow-special", group="Special tokens", completes="special token", metavar="NAME", multiple=True,
               help="Allow this special token; may be repeated."),
        option("--add-special-tokens", group="Special tokens", is_flag=True,
               help="Add BOS/EOS as the tokenizer's template defines."),
    )  # fmt: skip


# What cannot be combined in any command with these options.
ENCODING_CONFLICTS = (Apart("--model", ("--encoding",)),)
LISTS = ("--files0-from", "--files-from")
FILE_CONFLICTS = (
    Apart("--text", ("FILE", *LISTS)),
    Apart("--files0-from", ("FILE", "--files-from")),
    Apart("--files-from", ("FILE",)),
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
    *(Needs(name, "-r", "Or name a folder.") for name in ("-g", "--no-ignore", "--hidden", "--follow")),
    Needs("--verbose", ("-r", *LISTS), "Or name a folder."),
)
TEXT_CONFLICTS = (*ANSWER_CONFLICTS, *FOLDER_CONFLICTS, *ENCODING_CONFLICTS)
