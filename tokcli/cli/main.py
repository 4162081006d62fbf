"""The program: its commands, loaded only when they are called, and what becomes of an error.

Every way out is here: what is printed, on which stream, and with which exit status.
"""

from __future__ import annotations

import errno
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

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        command = import_module(COMMANDS[cmd_name][0]).command
        assert isinstance(command, click.Command)  # noqa: S101 - our own module
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and args[0] not in COMMANDS and not args[0].startswith("-"):
            from tokcli.cli.suggest import did_you_mean

            raise click.UsageError(f"no command {args[0]!r}{did_you_mean(args[0], COMMANDS)}", ctx)
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
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
    """Runs the program and ends the process."""
    streams.occupy_closed_streams()
    sys.exit(run(sys.argv[1:]))


def run(arguments: list[str]) -> int:
    """Runs a command line; its exit status. Errors are printed, none is raised."""
    try:
        status = cli.main(args=arguments, prog_name="tokcli", standalone_mode=False)
        streams.flush_standard_output()
        return status if isinstance(status, int) else 0
    except BrokenPipeError:
        streams.abandon_standard_output()
        return EXIT_PIPE_CLOSED
    except (KeyboardInterrupt, click.Abort):
        streams.abandon_standard_output()
        return EXIT_INTERRUPTED
    except BaseException as error:  # noqa: BLE001 - the user sees no traceback, whatever happens
        return _report(error)


def _report(error: BaseException) -> int:
    """Prints an error; the exit status."""
    if isinstance(error, click.exceptions.Exit):
        return error.exit_code
    what, hint, status = str(error), "", EXIT_ERROR
    if isinstance(error, TokcliError):
        what, hint, status = error.what, error.hint, error.exit_status
    elif isinstance(error, click.ClickException):
        what, context = error.format_message(), getattr(error, "ctx", None)
        hint = f"Try '{context.command_path} --help'." if context is not None else ""
    elif isinstance(error, MemoryError):
        what = "out of memory"
    elif isinstance(error, OSError):
        what, hint = _describe_os_error(error)
    elif os.environ.get("TOKCLI_DEBUG"):
        raise error
    else:
        what = f"internal error: {type(error).__name__}: {error}"
        hint = "This is a bug in tokcli; TOKCLI_DEBUG=1 shows where."
    from tokcli.render.visible import visible

    with suppress(OSError, ValueError):
        lines = [f"Error: {visible(what)}", *([visible(hint)] if hint else [])]
        sys.stderr.write("\n".join(lines) + "\n")
        sys.stderr.flush()
    streams.abandon_standard_output(flush_first=not isinstance(error, OSError))
    return status


def _describe_os_error(error: OSError) -> tuple[str, str]:
    reason = (error.strerror or str(error)).lower()
    where = os.fsdecode(error.filename) if isinstance(error.filename, (str, bytes)) else "standard output"
    hint = "Free some space, or write elsewhere with -o." if error.errno in (errno.ENOSPC, errno.EDQUOT) else ""
    return f"{where}: {reason}", hint
