"""The program `tokcli`: its commands, each imported only when it is called, and every way in which a run ends.

How a run ends is decided here: what is printed, on which stream, and with which exit status.
"""

from __future__ import annotations

import _signal as signal  # type: ignore[import-not-found]  # as in __main__.py
import atexit
import errno
import os
import sys
from contextlib import suppress
from importlib import import_module
from typing import TYPE_CHECKING, NoReturn

import click

from tokcli import __version__
from tokcli.cli import messages, streams
from tokcli.cli.declare.option import Option, Rows, help_option
from tokcli.engine import backend
from tokcli.errors import (
    EXIT_ERROR,
    InputError,
    OutputError,
    TokcliError,
    WrongUse,
    did_you_mean,
    is_memory_short,
    reason_of,
)

if TYPE_CHECKING:
    from types import ModuleType

EXIT_INTERRUPTED = 130  # 128 + SIGINT, as shells do
EXIT_PIPE_CLOSED = 141  # 128 + SIGPIPE
ENDED = {128 + number: number for number in (signal.SIGTERM, signal.SIGHUP)}

_RESERVE_BYTES = 1 << 22  # freed before an error is reported, because its message takes memory, too

PROGRAM = "tokcli"
MAX_WIDTH = 100  # of --help, in columns: longer lines are hard to read
COMPLETE = "_TOKCLI_COMPLETE"  # set by the shell when it asks for completions; see completions/

# name -> (module, what `tokcli --help` says); the modules are imported when the command is called
COMMANDS = {
    "encode": ("tokcli.cli.encode.encode", "Encode text into token ids, or show its tokens in colour."),
    "decode": ("tokcli.cli.decode", "Decode ids back to the exact bytes."),
    "count": ("tokcli.cli.count.count", "Count tokens, like wc."),
    "train": ("tokcli.cli.train.train", "Train a vocabulary on a corpus."),
    "inspect-ranks": ("tokcli.cli.inspect_ranks.inspect_ranks", "List encodings; look up tokens."),
    "split": ("tokcli.cli.split.split", "Split text into pieces with the encoding's pattern."),
}

# what other programs call what an option does here -> what to type
ELSEWHERE = {
    "budget": "tokcli count --budget -m MODEL FILE",
    "chat": "tokcli count --chat FILE",
    "chunk": "tokcli encode --chunk N FILE",
    "compare": "tokcli encode --compare ENCODING,ENCODING FILE",
    "convert": "tokcli inspect-ranks -e NAME|PATH --export FORMAT -o FILE",
    "cost": "tokcli count --price P FILE",
    "detokenize": "tokcli decode FILE",
    "diff": "tokcli inspect-ranks --diff ENCODING ENCODING, or tokcli encode --compare ENCODING,ENCODING FILE",
    "encodings": "tokcli inspect-ranks",
    "explain": "tokcli split --why TEXT FILE",
    "export": "tokcli inspect-ranks -e NAME|PATH --export FORMAT -o FILE",
    "find": "tokcli inspect-ranks TOKEN, or tokcli inspect-ranks --grep REGEX",
    "grep": "tokcli inspect-ranks --grep REGEX",
    "inspect": "tokcli inspect-ranks TOKEN",
    "list": "tokcli inspect-ranks",
    "lookup": "tokcli inspect-ranks TOKEN, or tokcli inspect-ranks --id N",
    "ls": "tokcli inspect-ranks",
    "models": "tokcli inspect-ranks --models",
    "price": "tokcli count --price P FILE",
    "search": "tokcli inspect-ranks TOKEN, or tokcli inspect-ranks --grep REGEX",
    "show": "tokcli encode --visualise FILE",
    "tokenize": "tokcli encode FILE",
    "tokens": "tokcli count FILE, or tokcli encode --visualise FILE",
    "tree": "tokcli count --tree DIR",
    "truncate": "tokcli encode -n N --as-text FILE",
    "version": "tokcli --version",
    "visualise": "tokcli encode --visualise FILE",
    "visualize": "tokcli encode --visualise FILE",
    "vocab": "tokcli inspect-ranks -e NAME|PATH --html FILE",
    "wc": "tokcli count FILE",
}

HELP = """Byte pair encoding in the shell: exact ids, any bytes, no network.

\b
  tokcli count prompt.txt                      count the tokens
  tokcli encode -m gpt-4o prompt.txt           print their ids
  tokcli encode prompt.txt | tokcli decode     get the same bytes back
  tokcli encode -n 1000 --as-text prompt.txt   cut the text after 1000 tokens
  tokcli encode --chunk 512 --json notes.md    cut into chunks of 512 tokens
  tokcli encode --visualise prompt.txt         see the tokens
"""


class LazyGroup(click.Group):
    """A group whose commands are imported only when they are called, and are suggested when misspelt."""

    def get_help_option(self, ctx: click.Context) -> click.Option | None:  # noqa: ARG002
        return help_option()

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        if cmd_name not in COMMANDS:
            return None
        module, short_help = COMMANDS[cmd_name]
        command: click.Command = import_module(module).command
        command.short_help = short_help
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args[:1] == ["help"] and not ctx.resilient_parsing:
            if args[1:2] in ([], ["help"]) or args[1].startswith("-"):
                click.echo(ctx.get_help(), color=ctx.color)
                ctx.exit()
            args = [args[1], "--help"]
        if args and (typed := ELSEWHERE.get(args[0])):
            raise InputError(f"there is no command {args[0]!r}", f"Type {typed}.")
        if args and args[0] not in COMMANDS and not args[0].startswith("-"):
            what = f"there is no command {args[0]!r}{did_you_mean(args[0], COMMANDS)}"
            raise WrongUse(what, f"Try '{PROGRAM} --help'.", "", args[0])
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        with formatter.section("Commands"):
            formatter.write_dl([(name, line) for name, (_, line) in COMMANDS.items()])


def _print_version(ctx: click.Context, _: click.Parameter, wanted: bool) -> None:
    if not wanted or ctx.resilient_parsing:
        return
    reason = backend.missing()
    without = "" if reason is None else f", no native backend: {reason}"
    click.echo(f"tokcli {__version__}{without} ({backend.name()})")
    ctx.exit()


def _print_completion(ctx: click.Context, _: click.Parameter, shell: str | None) -> None:
    if shell is None or ctx.resilient_parsing:
        return
    click.echo(_completion()[1].SCRIPTS[shell], nl=False)
    ctx.exit()


def _completion() -> tuple[ModuleType, ModuleType]:
    """Return what answers shells, and the scripts with which they ask; they are imported as a command is."""
    from tokcli.cli.completion import complete, scripts

    return complete, scripts


_ROWS: Rows = (
    Option("-V", "--version", group="Running", is_flag=True, is_eager=True, expose_value=False, callback=_print_version,
           help="Show version and backend."),
    Option("--completion", group="Running", type=click.Choice(["bash", "zsh", "fish"]), is_eager=True,
           expose_value=False, callback=_print_completion, metavar="SHELL",
           help='Print completions: eval "$(tokcli --completion bash)".',
           more="SHELL is bash, zsh or fish. An installation has these files where the shells look; see COMPLETION "
                "below."),
)  # fmt: skip


@click.group(cls=LazyGroup, params=[*_ROWS], help=HELP, context_settings={"max_content_width": MAX_WIDTH})
def cli() -> None:
    """Run the command that is named."""


def main() -> NoReturn:
    """Run the program and end the process.

    The interpreter is not torn down: that takes 1.8 ms of `tokcli count`, more after a large vocabulary, and after
    Ctrl-C threads may still be at work. Only what was registered with atexit runs.
    """
    streams.occupy_closed_streams()
    streams.watch_signals()
    backend.is_program = True
    try:
        status = run(sys.argv[1:])
    except KeyboardInterrupt:  # once more, while the first is reported
        status = EXIT_INTERRUPTED
    atexit._run_exitfuncs()
    if status in ENDED:  # so that the parent sees what ended it
        signal.signal(ENDED[status], signal.SIG_DFL)
        os.kill(os.getpid(), ENDED[status])
    os._exit(status)


def run(arguments: list[str]) -> int:
    """Run a command line and return its exit status; output is flushed, and errors are printed, never raised."""
    reserve = bytes(_RESERVE_BYTES)
    try:
        status = _invoke(arguments)
        if streams.is_standard_output_open():
            _flush_standard_output()
        return status
    except BaseException as error:  # noqa: BLE001 - the user sees no traceback, whatever happens
        del reserve
        streams.forget_signals()
        _abandon_standard_output()
        try:
            return _report(error)
        except (MemoryError, ImportError, SystemError):  # reporting an error takes some memory, too
            os.write(2, b"Error: out of memory\n")
            return EXIT_ERROR


def _invoke(arguments: list[str]) -> int:
    """Do what click's own `main` does, but raise errors: click would end the process for a broken pipe."""
    if shell := os.environ.get(COMPLETE):
        text = _completion()[0].complete(shell, arguments, cli, {name: line for name, (_, line) in COMMANDS.items()})
        if text is None:
            raise InputError(f"{COMPLETE} is set, but not by a shell that asks for completions", f"Unset {COMPLETE}.")
        click.echo(os.fsencode(text), nl=False)
        return 0
    try:
        with cli.make_context(PROGRAM, list(arguments)) as context:
            status = cli.invoke(context)
    except click.exceptions.Exit as end:  # --help and --version have been printed
        _flush_standard_output()
        return end.exit_code
    return status if isinstance(status, int) else 0


def _flush_standard_output() -> None:
    """Flush what Python buffers (help, a version), so that an error shows before the exit status is chosen."""
    if not streams.is_standard_output_open():
        raise OutputError(*streams.CLOSED_OUTPUT)
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        raise
    except OSError as error:
        raise OutputError(f"standard output: {reason_of(error)}") from None


def _abandon_standard_output() -> None:
    """Drop output that nobody can take any more, so that the interpreter ends without complaint."""
    with suppress(OSError):
        devnull = os.open(os.devnull, os.O_WRONLY)
        os.dup2(devnull, streams.STDOUT)
        os.close(devnull)


def _report(error: BaseException) -> int:
    """Print an error, unless it is silent; return the exit status."""
    if isinstance(error, BrokenPipeError):
        return EXIT_PIPE_CLOSED
    if isinstance(error, KeyboardInterrupt):
        return EXIT_INTERRUPTED
    if isinstance(error, streams.Terminated):
        return 128 + error.number
    if os.environ.get("TOKCLI_DEBUG"):
        raise error
    if isinstance(error, click.exceptions.NoArgsIsHelpError) and error.ctx is not None:
        with suppress(OSError, ValueError):
            sys.stderr.write(f"{error.ctx.get_help()}\n")
        return EXIT_ERROR
    if isinstance(error, TokcliError):
        messages.report(error)
        return error.exit_status
    if isinstance(error, click.NoSuchOption):
        messages.report(_no_such_option(error))
    else:
        messages.print_error(*_words_for(error))
    return EXIT_ERROR


def _no_such_option(error: click.NoSuchOption) -> WrongUse:
    """Return the error for an option that a command lacks; it names those spelled alike, and commands that have it."""
    command, name = (error.ctx.info_name or "" if error.ctx else ""), error.option_name
    bare = name.lstrip("-")  # click compares names with their dashes, and so finds --recursive like --csv
    near = [one for one in error.possibilities or () if did_you_mean(bare, [one.lstrip("-")])]
    what, hint = click.NoSuchOption(name, possibilities=near).format_message(), _words_for(error)[1]
    if command in COMMANDS:
        commands = {other: import_module(module).command for other, (module, _) in COMMANDS.items()}
        having = [other for other, found in commands.items() if any(name in option.opts for option in found.params)]
        hint = f"It is an option of tokcli {' and tokcli '.join(having)}." if having else hint
    return WrongUse(what, hint, command, name)


def is_short_of_memory(error: BaseException) -> bool:
    """Return whether an error means that memory is short; imports and threads report that by errors of other types."""
    if isinstance(error, MemoryError):
        return True
    if isinstance(error, (TokcliError, click.ClickException)):
        return False
    return is_memory_short() or (isinstance(error, OSError) and error.errno == errno.ENOMEM)


def _words_for(error: BaseException) -> tuple[str, str]:
    """Return the message for an error that is not a TokcliError, and a hint on what to do next, or ""."""
    if isinstance(error, click.ClickException):
        context = getattr(error, "ctx", None)
        return error.format_message(), f"Try '{context.command_path} --help'." if context is not None else ""
    if is_short_of_memory(error):
        return "out of memory", ""
    if isinstance(error, OSError):
        where = f"{os.fsdecode(error.filename)}: " if isinstance(error.filename, (str, bytes)) else ""
        return where + reason_of(error), ""
    what = f"internal error: {type(error).__name__}: {error}"
    return what, "This is a bug in tokcli; TOKCLI_DEBUG=1 shows where."
