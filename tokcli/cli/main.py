"""The program: its commands, loaded only when they are called, and what becomes of an error.

Every way out is here: what is printed, on which stream, and with which exit status.
"""

from __future__ import annotations

import atexit
import os
import sys
from contextlib import suppress
from importlib import import_module
from typing import NoReturn

import click

from tokcli import __version__
from tokcli.cli import streams
from tokcli.errors import EXIT_ERROR, TokcliError

EXIT_INTERRUPTED = 130  # 128 + SIGINT, as shells do
EXIT_PIPE_CLOSED = 141  # 128 + SIGPIPE

PROGRAM = "tokcli"
COMPLETE = "_TOKCLI_COMPLETE"  # the shell asks for completions with it: completions/

# name -> (module, what `tokcli --help` says); the modules are imported when the command is called
COMMANDS = {
    "encode": ("tokcli.cli.encode", "Text to ids, as numbers, binary or JSON; or coloured tokens."),
    "decode": ("tokcli.cli.decode", "Ids to exactly the bytes they stand for."),
    "count": ("tokcli.cli.count", "How many tokens, like wc."),
    "train": ("tokcli.cli.train", "Learn a vocabulary from a corpus."),
    "inspect-ranks": ("tokcli.cli.inspect_ranks", "Which encodings there are; look tokens up."),
    "split": ("tokcli.cli.split", "The pieces that the pattern cuts a text into."),
}

HELP = """Byte pair encoding in the shell: exact ids, any bytes, no network.

\b
  tokcli count prompt.txt                    how many tokens
  tokcli encode -m gpt-4 prompt.txt          their ids
  tokcli encode prompt.txt | tokcli decode   and back, to the byte
  tokcli encode --visualise prompt.txt       see them
  tokcli split --table -t "it's 2024"        why it split there
  tokcli train corpus.txt --vocab-size 4096 -o my.tiktoken
"""


class LazyGroup(click.Group):
    """A group whose commands are imported when they are called, and still suggested when misspelt."""

    def get_help_option(self, ctx: click.Context) -> click.Option | None:  # noqa: ARG002
        from tokcli.cli.options import help_option

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
        if args and args[0] not in COMMANDS and not args[0].startswith("-"):
            from tokcli.registry.suggest import did_you_mean

            raise click.UsageError(f"no command {args[0]!r}{did_you_mean(args[0], COMMANDS)}", ctx)
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        with formatter.section("Commands"):
            formatter.write_dl([(name, line) for name, (_, line) in COMMANDS.items()])


def _print_version(ctx: click.Context, _: click.Parameter, wanted: bool) -> None:
    if not wanted or ctx.resilient_parsing:
        return
    from tokcli.engine import backend

    click.echo(f"tokcli {__version__} ({backend.name()})")
    ctx.exit()


@click.group(cls=LazyGroup, help=HELP, context_settings={"help_option_names": ["-h", "--help"]})
@click.option(
    "--version", is_flag=True, is_eager=True, expose_value=False, callback=_print_version, help="Version and backend."
)
def cli() -> None:
    """The program."""


def main() -> NoReturn:
    """Runs the program and ends the process.

    Without taking the interpreter apart: that takes 8 ms, and after Ctrl-C threads may still be at work in native code.
    """
    streams.occupy_closed_streams()
    status = run(sys.argv[1:])
    atexit._run_exitfuncs()
    os._exit(status)


def run(arguments: list[str]) -> int:
    """Runs a command line; its exit status. What was written has been flushed. Errors are printed, none is raised."""
    try:
        status = _invoke(arguments)
        if streams.is_standard_output_open():
            streams.flush_standard_output()
        return status
    except BaseException as error:  # noqa: BLE001 - the user sees no traceback, whatever happens
        streams.abandon_standard_output()
        return _report(error)


def _invoke(arguments: list[str]) -> int:
    """click's own `main` without its handling of errors, which would end the process for a broken pipe."""
    if instruction := os.environ.get(COMPLETE):
        from click.shell_completion import shell_complete

        return shell_complete(cli, {}, PROGRAM, COMPLETE, instruction)
    try:
        with cli.make_context(PROGRAM, list(arguments)) as context:
            status = cli.invoke(context)
    except click.exceptions.Exit as end:  # --help and --version have been printed
        streams.flush_standard_output()
        return end.exit_code
    return status if isinstance(status, int) else 0


def _report(error: BaseException) -> int:
    """Prints an error, unless it is silent; the exit status."""
    if isinstance(error, BrokenPipeError):
        return EXIT_PIPE_CLOSED
    if isinstance(error, KeyboardInterrupt):
        return EXIT_INTERRUPTED
    if os.environ.get("TOKCLI_DEBUG"):
        raise error
    if isinstance(error, click.exceptions.NoArgsIsHelpError) and error.ctx is not None:
        with suppress(OSError, ValueError):
            sys.stderr.write(f"{error.ctx.get_help()}\n")
        return EXIT_ERROR
    what, hint, status = str(error), "", EXIT_ERROR
    if isinstance(error, TokcliError):
        what, hint, status = error.what, error.hint, error.exit_status
    elif isinstance(error, click.ClickException):
        what, context = error.format_message(), getattr(error, "ctx", None)
        hint = f"Try '{context.command_path} --help'." if context is not None else ""
    elif isinstance(error, MemoryError):
        what = "out of memory"
    elif isinstance(error, OSError):
        what = (error.strerror or what).lower()
        if isinstance(error.filename, (str, bytes)):
            what = f"{os.fsdecode(error.filename)}: {what}"
    else:
        what = f"internal error: {type(error).__name__}: {what}"
        hint = "This is a bug in tokcli; TOKCLI_DEBUG=1 shows where."
    streams.print_error(what, hint)
    return status
