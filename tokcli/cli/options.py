"""The options that commands share, and what they come to: a `Request` with its inputs, encoding and choices.

A command body reads a request, calls the engine and writes; what an option means is decided here, once.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, TypeVar

import click

from tokcli.cli import streams
from tokcli.cli.records import Record
from tokcli.errors import InputError

if TYPE_CHECKING:
    from tokcli.engine.encoding import Encoding
    from tokcli.engine.stream import Chunk, Errors
    from tokcli.engine.utf8_stream import Part

F = TypeVar("F", bound=Callable[..., Any])
Item = TypeVar("Item")
Made = TypeVar("Made")
Special = Literal["error", "text", "allow"]

DEFAULT_ENCODING = "o200k_base"
LARGE_BYTES = 1 << 17  # of a part of an input: as many more are likely to pay for starting threads
# Options that may stand without a value, and what that means. A word after them is a FILE.
OPTIONAL_VALUES = {"--visualise": "tokens", "--color": "always"}


def help_option() -> click.Option:
    """-h and --help; click's own asks gettext for its text."""
    return click.Option(
        ("-h", "--help"), is_flag=True, is_eager=True, expose_value=False, callback=_show_help,
        help="Show this message and exit.",
    )  # fmt: skip


def _show_help(ctx: click.Context, _: click.Parameter, wanted: bool) -> None:
    if wanted and not ctx.resilient_parsing:
        click.echo(ctx.get_help(), color=ctx.color)
        ctx.exit()


class Command(click.Command):
    """A command whose optional values are only taken with `=`, as in `--color=always`."""

    def get_help_option(self, ctx: click.Context) -> click.Option | None:  # noqa: ARG002
        return help_option()

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        takes_value = {
            name
            for param in self.params
            if isinstance(param, click.Option) and not param.is_flag and not param.count
            for name in (*param.opts, *param.secondary_opts)
        }
        # click takes `-e` for a long option first, and in vain composes an error with suggestions: 2 ms
        long_form = {param.opts[0]: param.opts[1] for param in self.params if len(param.opts) == 2}
        out: list[str] = []
        rest = iter(args)
        for given in rest:
            arg = long_form.get(given, given)
            if arg in OPTIONAL_VALUES and arg in takes_value:
                arg = f"{arg}={OPTIONAL_VALUES[arg]}"
            out.append(arg)
            if arg == "--":
                break
            if arg in takes_value and (value := next(rest, None)) is not None:
                out.append(value)
        return super().parse_args(ctx, [*out, *rest])


def _group(*options: Callable[[F], F]) -> Callable[[F], F]:
    def decorate(function: F) -> F:
        for option in reversed(options):
            function = option(function)
        return function

    return decorate


def complete_encoding(_: click.Context, __: click.Parameter, incomplete: str) -> list[Any]:
    """Names of encodings, and files, for the shell."""
    from click.shell_completion import CompletionItem

    from tokcli.registry.catalog import CATALOG

    names = [name for name in CATALOG if name.startswith(incomplete)]
    return [CompletionItem(name) for name in names] or [CompletionItem(incomplete, type="file")]


def complete_file(_: click.Context, __: click.Parameter, incomplete: str) -> list[Any]:
    """Files, for the shell. (click.Path does so too, and asks gettext for its name, which takes 2 ms of every run.)"""
    from click.shell_completion import CompletionItem

    return [CompletionItem(incomplete, type="file")]


def complete_model(_: click.Context, __: click.Parameter, incomplete: str) -> list[str]:
    """Names of models, for the shell."""
    from tokcli.registry.models import MODEL_TO_ENCODING

    return [name for name in MODEL_TO_ENCODING if name.startswith(incomplete)]


takes_files = _group(
    click.argument("files", nargs=-1, metavar="[FILE]...", shell_complete=complete_file),
    click.option("-t", "--text", metavar="TEXT", help="This text instead of files."),
    click.option("--files0-from", metavar="F", help="Read NUL-separated file names from F (- is standard input)."),
)
takes_encoding = _group(
    click.option(
        "-e",
        "--encoding",
        metavar="NAME|PATH",
        envvar="TOKCLI_ENCODING",
        shell_complete=complete_encoding,
        help=f"A registered name, a file, org/name, https://...#sha256=HEX.  [default: {DEFAULT_ENCODING}]",
    ),
    click.option("-m", "--model", metavar="MODEL", shell_complete=complete_model, help="The encoding of a model."),
    click.option("--pattern", metavar="P", help="Split by this regex (or an encoding's, by name) instead."),
    click.option("--timeout", metavar="S", type=click.FloatRange(min=0, min_open=True), default=5,
                 show_default=True, help="Seconds a pattern may take for a block of text."),
    click.option("--offline", is_flag=True, envvar="TOKCLI_OFFLINE", help="Never use the network."),
)  # fmt: skip
takes_records = _group(
    click.option("--records", type=click.Choice(["lines", "nul", "jsonl"]), help="One record in, one record out."),
    click.option("--field", metavar="NAME", help="Member of a jsonl record that is read."),
    click.option("--json", "as_json", is_flag=True, help="JSON out."),
)
takes_output = click.option(
    "-o", "--output", metavar="FILE", shell_complete=complete_file, help="Write to FILE, whole or not."
)
takes_html = click.option(
    "--html", metavar="FILE", shell_complete=complete_file, help="Write it as a page for a browser."
)
takes_svg = click.option("--svg", metavar="FILE", shell_complete=complete_file, help="Write the view as a picture.")
common = _group(
    click.option("-j", "--jobs", type=click.IntRange(min=1), metavar="N", help="Threads.",
                 show_default="all cores"),
    click.option("-q", "--quiet", is_flag=True, help="No notes."),
    click.option("--color", type=click.Choice(["auto", "always", "never"]), default="auto", is_flag=False,
                 metavar="[auto|always|never]", help="Colour; without =WHEN: always."),
)  # fmt: skip


def takes_text(special: Special) -> Callable[[F], F]:
    """How text is taken; `special` is the command's default for special tokens."""
    return _group(
        click.option("--errors", type=click.Choice(["strict", "replace", "bytes"]), default="strict", show_default=True,
                     help="Input that is not UTF-8: refuse, U+FFFD, or keep the bytes."),
        click.option("--special", type=click.Choice(["error", "text", "allow"]), default=special, show_default=True,
                     help="Special tokens in the text: refuse, as text, as their id."),
        click.option("--allow-special", metavar="NAME", multiple=True, help="Allow this special token."),
        click.option("--add-special-tokens", is_flag=True, help="BOS/EOS as the vocabulary's template has them."),
    )  # fmt: skip


class Request:
    """What was asked for, read from a command's options; the encoding is loaded on first use."""

    def __init__(self, options: dict[str, Any]) -> None:
        self.options = options

    @cached_property
    def inputs(self) -> list[streams.Input]:
        """The inputs, in order."""
        return streams.inputs(self.options["files"], self.options["text"], self.options["files0_from"])

    @cached_property
    def encoding(self) -> Encoding:
        """The encoding that the options name."""
        from tokcli.registry.encodings import resolve_encoding
        from tokcli.registry.models import encoding_name_for_model

        spec, model = self.options["encoding"], self.options["model"]
        if model is not None:
            source = click.get_current_context().get_parameter_source("encoding")
            if spec is not None and source is click.core.ParameterSource.COMMANDLINE:
                raise InputError("both --encoding and --model were given", "Use one of them.")
            spec = encoding_name_for_model(model)
        encoding = resolve_encoding(
            spec or DEFAULT_ENCODING,
            pattern=self.options["pattern"],
            offline=self.options["offline"],
            note=self.note,
            progress=self.progress if sys.stderr.isatty() and not self.options["quiet"] else None,
        )
        encoding.pretokenizer.timeout = self.options["timeout"]
        return encoding

    @cached_property
    def allowed(self) -> frozenset[str]:
        """The special tokens that get their id."""
        tokens = self.encoding.special_tokens_set
        if "special" not in self.options:  # a command that takes no text
            return frozenset()
        if self.options["special"] == "allow":
            return frozenset(tokens)
        for name in self.options["allow_special"]:
            if name not in tokens:
                from tokcli.registry.suggest import did_you_mean

                raise InputError(
                    f"{name!r} is no special token of {self.encoding.name}{did_you_mean(name, tokens)}",
                    "Its special tokens: " + ", ".join(sorted(tokens)[:8]) + (", ..." if len(tokens) > 8 else ""),
                )
        return frozenset(self.options["allow_special"])

    @cached_property
    def refused(self) -> frozenset[str]:
        """The special tokens that are an error."""
        if self.options["special"] != "error":
            return frozenset()
        return frozenset(self.encoding.special_tokens_set - self.allowed)

    @property
    def errors(self) -> Errors:
        """What becomes of bytes that are not UTF-8."""
        errors: Errors = self.options["errors"]
        return errors

    @property
    def field(self) -> str | None:
        """The member of a jsonl record to read, where it was named."""
        name: str | None = self.options["field"]
        if name is not None and self.options["records"] != "jsonl":
            raise InputError("--field goes with --records jsonl", "Only there records have members with names.")
        return name

    @cached_property
    def threads(self) -> int:
        """How many threads may work: --jobs, or all cores that this process has; 1 where only Python code runs."""
        if not self.encoding.is_native:
            return 1
        if jobs := self.options["jobs"]:
            return int(jobs)
        return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1

    def chunks(self, source: streams.Input | Record) -> Iterator[Chunk]:
        """An input or a record as chunks for the encoding."""
        return self.encoding.read_chunks(
            source.blocks(), errors=self.errors, allowed=self.allowed, refused=self.refused
        )

    def parts(self, source: streams.Input | Record) -> Iterator[Part]:
        """The same as parts, for whoever wants ids and no text."""
        return self.encoding.read_parts(source.blocks(), errors=self.errors, allowed=self.allowed, refused=self.refused)

    def shared(
        self, work: Callable[[Item], Made], items: Iterator[Item], size: Callable[[Item], int]
    ) -> Iterator[Made]:
        """`map(work, items)`, by --jobs threads from the first item of more than LARGE_BYTES on."""
        if self.threads == 1:
            return map(work, items)
        from tokcli.engine.parallel import ordered

        return ordered(work, items, self.threads, is_large=lambda item: size(item) > LARGE_BYTES)

    def shared_parts(self, work: Callable[[Part], Made], source: streams.Input | Record) -> Iterator[Made]:
        """`work` of each part of an input or a record."""
        if isinstance(source, Record):
            return map(work, self.parts(source))
        return self.shared(work, self.parts(source), lambda part: part.nbytes if isinstance(part, memoryview) else 0)

    def open_output(self) -> streams.Output:
        """Where the answer goes. What is wrong with the options is said before: it is no input's fault."""
        _ = self.encoding, self.allowed, self.field
        return streams.Output(self.options["output"], self.inputs)

    def progress(self, received: int, total: int | None) -> None:
        """How far a download is, on a line of standard error that is written again and again."""
        is_done = received == total
        of = f" of {total / 1e6:.1f}" if total else ""
        sys.stderr.write(f"\rdownloading the vocabulary: {received / 1e6:.1f}{of} MB" + "\n" * is_done)
        sys.stderr.flush()

    def note(self, text: str) -> None:
        """Tells the user something that is neither data nor an error."""
        if not self.options["quiet"]:
            from tokcli.render.visible import visible

            sys.stderr.write(f"Note: {visible(text)}\n")

    def note_template(self) -> None:
        """Says so where --add-special-tokens has nothing to add."""
        if self.options["add_special_tokens"] and not self.encoding.has_template:
            self.note(f"{self.encoding.name} has no template of special tokens; nothing is added.")
