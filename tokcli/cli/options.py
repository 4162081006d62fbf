"""The options that commands share: the rows that declare them, and the frozen dataclasses that hold their values.

What a row is, declare/option.py says; what an option leads to is decided in request.py.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click

from tokcli.cli import messages
from tokcli.cli.declare.conflicts import Conflict, Excludes, Requires
from tokcli.cli.declare.numbers import NumberRange, WholeRange
from tokcli.cli.declare.option import Argument, Option, RepeatedOption, Rows
from tokcli.engine.base.time_limit import time_limit

if TYPE_CHECKING:
    from typing import Literal, TypeAlias

    from typing_extensions import Self, dataclass_transform

    from tokcli.engine.stream.chunks import Utf8Errors
    from tokcli.render.console import Color

    Special: TypeAlias = Literal["error", "text", "allow"]
    RecordKind: TypeAlias = Literal["lines", "nul", "jsonl"]

else:

    def dataclass_transform(**_: bool) -> Callable[[type], type]:
        """Return a decorator that does nothing: only type checkers use it."""
        return lambda kind: kind


DEFAULT_ENCODING = "o200k_base"
DEFAULT_SECONDS = 5  # as in engine/base/time_limit.py; a test compares the two
MAX_SECONDS = 1e9  # 32 years; `regex` takes more, or infinity, for no time at all


# --- what was asked for ----------------------------------------------------------------------------------------------


@dataclass_transform(kw_only_default=True, frozen_default=True)
class Options:
    """Values that cannot change, annotated in a subclass and given by name: a frozen dataclass without the import.

    A value in the class is a default. (`dataclasses` and the classes it would make take 2.5 ms of `tokcli count`. Type
    checkers see no difference.)

    >>> class Point(Options):
    ...     x: int
    ...     y: int = 0
    >>> Point(x=1).replace(y=3).y
    3
    """

    def __init__(self, **values: Any) -> None:
        kind = type(self)
        names = {name for base in kind.__mro__ for name in vars(base).get("__annotations__", ())}
        missing = {name for name in names - values.keys() if not hasattr(kind, name)}
        if wrong := missing | (values.keys() - names):
            raise TypeError(f"{kind.__name__}: not one value for each of its options: {wrong}")
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


class ChatOptions(EncodingOptions):
    """The options of commands that render requests to chat models, as values."""

    chat: bool
    chat_template: str | None
    no_generation_prompt: bool


class ClusterOptions(TextOptions):
    """The options of a command whose work a cluster can do."""

    dask: str | None


# --- how the command line declares them ------------------------------------------------------------------------------


def limit_patterns(context: click.Context, _: click.Parameter, seconds: float) -> float:
    """Limit the seconds that every pattern may take until the command ends, wherever the pattern comes from."""
    if seconds != DEFAULT_SECONDS:
        context.with_resource(time_limit(seconds))
    return seconds


takes_timeout = Option(
    "--timeout", group="Tokenizer", is_rare=True, metavar="S", default=DEFAULT_SECONDS, show_default=True,
    type=NumberRange(min=0, min_open=True, max=MAX_SECONDS), callback=limit_patterns,
    help="Limit the time of a pattern to S seconds.",
    more="It is the time for one block of text. The limit holds for each pattern wherever it comes from (an option, a "
         "tokenizer file, a chat template), and for compiling it. A pattern that takes longer ends the run with exit "
         "status 2 and a message that says where.",
)  # fmt: skip
LISTS = ("--files0-from", "--files-from")
takes_files = (
    Argument("files", nargs=-1, metavar="[FILE]...", completes="file",
             help="What is read: files or folders. - is standard input, which is read where no FILE is named, too. "
                  "Compressed files are read as what they hold."),
    Option("-t", "--text", group="Input", metavar="TEXT", conflicts=(Excludes("FILE", *LISTS),),
           help="Read TEXT instead of files.",
           more="The input is the bytes of TEXT, with no newline after them."),
    Option("--files-from", group="Input", is_rare=True, completes="file", metavar="F", conflicts=(Excludes("FILE"),),
           help="Read the files named in F, one a line.",
           more="- is standard input. Binary files are skipped, as in folders. For instance: `git ls-files | tokcli "
                "count --files-from -`. If a name has a newline in it, use --files0-from."),
    Option("--files0-from", group="Input", is_rare=True, completes="file", metavar="F",
           conflicts=(Excludes("FILE", "--files-from"),),
           help="Read the files named in F, separated by NULs.",
           more="F is a list as `find -print0` and `git ls-files -z` write it; - is standard input. Binary files are "
                "skipped, as in folders. For instance: `git ls-files -z | tokcli count --files0-from -`."),
    Option("--no-decompress", group="Input", is_rare=True, is_flag=True,
           help="Take compressed data as they are.",
           more="Otherwise data in the formats of gzip, bzip2, xz and Zstandard, which are told by their content, are "
                "read as what they hold."),
)  # fmt: skip
_in_folders = Requires("-r", hint="Or name a folder, such as . for the current one.")
takes_folders = (
    Option("-r", "--recursive", group="Input", called="-r", is_flag=True, conflicts=(Excludes("--text"),),
           help="Read the text files in folders.",
           more="A folder that is a FILE is read with or without -r; without FILE, -r reads the current folder. Files "
                "are chosen as ripgrep chooses them: those that .gitignore (inside a repository) or .ignore leaves "
                "out are not read, nor are hidden files, symbolic links and binary files. A note says how many binary "
                "files were skipped."),
    Option("-g", "--glob", "globs", group="Input", called="-g", multiple=True, metavar="GLOB", conflicts=(_in_folders,),
           help="Read only files in folders that match GLOB.",
           more="With !GLOB, read all but these. A GLOB without a slash, such as `*.py`, is compared with the names "
                "of files; one with a slash, such as `docs/**`, with their paths. The last GLOB that matches a file "
                "decides."),
    Option("--no-ignore", group="Input", is_rare=True, is_flag=True, conflicts=(_in_folders,),
           help="Read files in folders that .gitignore leaves out.",
           more="The rules of .gitignore and .ignore files are not heeded then. Hidden files need --hidden, too."),
    Option("--hidden", group="Input", is_rare=True, is_flag=True, conflicts=(_in_folders,),
           help="Read hidden files in folders, too.",
           more="Hidden files and folders are those whose names begin with a dot. A folder named .git is never read."),
    Option("--follow", group="Input", is_rare=True, is_flag=True, conflicts=(_in_folders,),
           help="Follow symbolic links in folders.",
           more="Otherwise links are skipped; a link that is a FILE is always followed."),
    Option("-v", "--verbose", group="Input", is_rare=True, is_flag=True,
           conflicts=(Requires("-r", *LISTS, hint="Or name a folder."),),
           help="Name the binary files that are skipped.",
           more="Files in folders and in lists are skipped if they are binary; without this option, a note has only "
                "their number."),
)  # fmt: skip


_takes_pattern = Option(
    "--pattern", group="Tokenizer", completes="pattern", metavar="P",
    help="Split with the regex P, or as the encoding P.",
    more="P takes the place of the encoding's pattern; its merges stay. A file of ranks without a sidecar needs one. "
         "The syntax is that of tiktoken's patterns; `tokcli split --lint --pattern P` checks one.",
)  # fmt: skip


def takes_encoding(*, several: bool = False, pattern: bool = True) -> Rows:
    """Declare the options of the encoding; with `several`, -e and -m may be repeated."""
    repeated = " Each encoding or model has a column or member of its own." * several
    option = RepeatedOption if several else Option
    return (
        option("-e", "--encoding", group="Tokenizer", completes="encoding", metavar="NAME|PATH",
               envvar="TOKCLI_ENCODING", multiple=several,
               show_default=DEFAULT_ENCODING,
               help="Use this encoding: a name or a file.",
               more="`tokcli inspect-ranks` lists the names. A file may have any format that is known (tokenizer.json, "
                    ".tiktoken, a SentencePiece .model, GGUF, tekken.json, GPT-2's pairs of files, a minbpe .model), "
                    "which is told by its content; a folder is searched for one. It may also be the name of a "
                    "repository on the Hugging Face Hub, `org/name[@revision]`, or https://HOST/FILE#sha256=HEX for a "
                    "file with that SHA-256. A name wins over a file of the same name: ./NAME is the file." + repeated),
        Option("-m", "--model", group="Tokenizer", completes="model", metavar="MODEL", multiple=several,
               conflicts=() if several else (Excludes("--encoding"),),
               help="Use the encoding of this model.",
               more="`tokcli inspect-ranks --models` lists the models; their case is ignored, and Ollama's name:tag "
                    "is known. A model whose tokenizer is not public is an error." + repeated),
        *((_takes_pattern,) if pattern else ()),
        takes_timeout,
        Option("--offline", group="Tokenizer", is_rare=True, is_flag=True,
               help="Use no network.",  # network/ reads TOKCLI_OFFLINE
               more="Vocabularies are then found among those that ship with tokcli, in files and in the cache. "
                    "TOKCLI_OFFLINE=1 in the environment means the same."),
    )  # fmt: skip


takes_skip_invalid = Option(
    "--skip-invalid", group="Input", is_rare=True, is_flag=True,
    conflicts=(Requires("--records=jsonl", hint="Lines and NUL-ended strings are always valid."),),
    help="Leave out invalid jsonl records.",
    more="These are records that are not JSON, or whose member is missing or no text. A note at the end says how many "
         "there were, and where one is. Without this option, the first such record is an error.",
)  # fmt: skip
_names_a_member = Requires("--records=jsonl", hint="Only JSON records have members with names.")
takes_field = Option(
    "--field", group="Input", metavar="NAME", conflicts=(_names_a_member,),
    help="Read this member of jsonl records.",
    more="The default is text, and ids for `decode`. With `a.b`, it is the member b of the object in a; a member "
         "with the name itself wins.",
)  # fmt: skip


def takes_records(members: str) -> Rows:
    """Declare the options of a command that reads records; `members` says which members its JSON has."""
    return (
        Option("--records", group="Input", type=click.Choice(["lines", "nul", "jsonl"]),
               help="Treat each line, string or object separately.",
               more="A record is a line (lines), a string that ends with a NUL byte (nul), or a JSON object on a line "
                    "of its own (jsonl), of which the member that --field names is read. With jsonl, each row of a "
                    "Parquet or Arrow file is a record, too. There is one answer for each record, in order."),
        takes_field,
        Option("--all-fields", group="Input", is_rare=True, is_flag=True,
               conflicts=(_names_a_member, Requires("--json", hint="Only JSON answers have members with names.")),
               help="Keep the other members of jsonl records.",
               more="The answer to each record, with --json, then has all other members of its object, too."),
        takes_skip_invalid,
        Option("--json", "as_json", group="Output", is_flag=True,
               help="Output JSON.",
               more=f"{members} There is one document for the whole run; with --records jsonl, an object a line for "
                    f"each "
                    "record."),
    )  # fmt: skip


_of_chat = Requires("--chat")
takes_template = (
    Option("--chat-template", group="Input", is_rare=True, completes="file", metavar="FILE", conflicts=(_of_chat,),
           help="Render --chat with the template in FILE.",
           more="FILE is a Jinja template. Where the tokenizer has several templates, FILE may be the name of one."),
    Option("--no-generation-prompt", group="Input", is_rare=True, is_flag=True, conflicts=(_of_chat,),
           help="Leave out the beginning of the answer.",
           more="Many templates end with what a model's answer begins with; with this option, they end after the last "
                "message."),
)  # fmt: skip


def takes_output(*conflicts: Conflict) -> Option:
    """Declare the option of a file to write."""
    return Option(
        "-o", "--output", group="Output", completes="file", metavar="FILE", conflicts=conflicts,
        help="Write to FILE, whole or not at all.",
        more="FILE is replaced at the end of a run that succeeds, and stays as it is if the run fails. FILE may not be "
             "anything that the run reads. What is not a regular file, such as a pipe, is written in place.",
    )  # fmt: skip


def takes_cluster(*conflicts: Conflict) -> Option:
    """Declare the option of a cluster."""
    return Option(
        "--dask", group="Running", is_rare=True, completes="cluster", metavar="ADDRESS|local", conflicts=conflicts,
        help="Let a Dask cluster do the work.",
        more="ADDRESS is that of the cluster's scheduler, such as tcp://10.0.0.1:8786; local starts processes on this "
             "machine. FILEs may then be urls that fsspec opens, such as s3://bucket/a.jsonl. The output is that of a "
             "run without a cluster. This needs the extra `dask`: pip install 'tokcli[dask]'.",
    )  # fmt: skip


def takes_html(*conflicts: Conflict) -> Option:
    """Declare the option of a page."""
    return Option(
        "--html", group="View", completes="file", metavar="FILE", conflicts=conflicts,
        help="Write the view to FILE as a web page.",
        more="The page is a single file, which needs no network and no other file.",
    )  # fmt: skip


common = (
    Option("-j", "--jobs", group="Running", type=WholeRange(min=1), metavar="N", show_default="all cores",
           help="Use N threads.",
           more="The output does not depend on N."),
    Option("-q", "--quiet", group="Running", is_flag=True, callback=messages.note_when_closed,
           help="Suppress notes.",
           more="Errors are printed all the same."),
    Option("--color", group="View", type=click.Choice(["auto", "always", "never"]), default="auto", show_default=True,
           aliases=("--colour",),
           help="Use colour on a terminal, always or never.",
           more="With auto, NO_COLOR in the environment suppresses colour, and FORCE_COLOR asks for it in a pipe, "
                "too."),
)  # fmt: skip


takes_errors = Option(
    "--errors", group="Input", type=click.Choice(["strict", "replace", "bytes"]), default="strict", show_default=True,
    help="Reject, replace or keep bad UTF-8.",
    more="With strict, such input is an error that names the file and the byte. With replace, U+FFFD takes the place "
         "of what is not UTF-8. With bytes, these bytes are kept as they are, and `tokcli decode` returns them; that "
         "needs an encoding whose tokens are bytes.",
)  # fmt: skip


def takes_text(special: str = "text", more: str = "By default it is text, and a note counts them.") -> Rows:
    """Declare the options of a command that reads text; `special` says what is done to special tokens by default."""
    return (
        takes_errors,
        Option("--special", group="Special tokens", type=click.Choice(["error", "text", "allow"]), show_default=special,
               help="Say what special tokens in the text mean.",
               more="If the text contains the name of a special token, such as <|endoftext|>, that is an error "
                    f"(error), text like any other (text), or the special token (allow). {more}"),
        Option("--allow-special", group="Special tokens", completes="special token", metavar="NAME", multiple=True,
               help="Allow this special token; may be repeated.",
               more="This special token of the encoding is found in the text; all others are treated as --special "
                    "says."),
        Option("--add-special-tokens", group="Special tokens", is_flag=True,
               help="Add the tokens of the template, such as BOS.",
               more="The post-processor of a tokenizer.json, or add_bos_token and add_eos_token in the "
                    "tokenizer_config.json of a folder, says which these are and where they go."),
    )  # fmt: skip
