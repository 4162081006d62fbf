"""The options of `tokcli split`: as the command line declares them, as values, and which cannot be combined."""

from __future__ import annotations

from typing import TypeAlias

import click

from tokcli.cli import options
from tokcli.cli.declare.conflicts import Apart, Needs, one_of
from tokcli.cli.declare.option import group, option
from tokcli.cli.request import TextRequest


class SplitOptions(options.TextOptions):
    """The options of `tokcli split`, as values."""

    pattern_file: str | None
    table: bool
    why: str | None
    diff: str | None
    stats: bool
    lint: bool
    identify: bool
    find_witness: bool
    witnesses: int
    emit: str | None
    watch: bool
    html: str | None


SplitRequest: TypeAlias = TextRequest[SplitOptions]

MOST_WITNESSES = 1000
ENGINES = ("rust", "rust-regex", "python", "python-regex", "oniguruma", "pcre2", "js", "re2")

declared = group(
    options.takes_files,
    options.takes_folders,
    options.takes_encoding,
    option("--pattern-file", group="Tokenizer", completes="file", metavar="F",
           help="Read the pattern from F; one trailing newline is ignored."),
    options.takes_text("text"),
    options.takes_records,
    option("--table", group="View", is_flag=True, help="Show a table: # bytes chars alternative text tokens."),
    option("--why", group="View", metavar="POS|TEXT",
           help="Show each alternative tried at byte POS, from 0, or where TEXT first is, and why one won.",
           more="A number is a byte; text:42 looks for the text 42. A TEXT that several pieces share is explained at "
                "the beginning of each of them."),
    option("--diff", group="View", completes="encoding", metavar="ENCODING|P",
           help="Show only where this encoding or pattern splits differently."),
    option("--stats", group="View", is_flag=True,
           help="Show hits per alternative, the longest pieces, and pieces of several tokens."),
    option("--lint", group="View", is_flag=True,
           help="Check the pattern itself, and which other engines could run it."),
    option("--identify", group="View", is_flag=True,
           help="Say which known pattern this is, or is nearest to; FILE is a vocabulary file."),
    option("--find-witness", group="View", is_flag=True,
           help="Find the shortest text that the pattern and that of --diff split differently; no text is read."),
    option("--witnesses", group="View", metavar="N", type=click.IntRange(1, MOST_WITNESSES), default=1,
           help="Find up to N such texts, none of which contains another."),
    option("--emit", group="Output", metavar="ENGINE", type=click.Choice(ENGINES),
           help=f"Write the pattern for another engine: {', '.join(ENGINES)}."),
    option("--watch", group="View", is_flag=True, help="Redraw whenever the pattern file or an input changes."),
    options.takes_html,
    options.takes_output,
    options.common,
)  # fmt: skip

VIEWS = ("--table", "--why", "--diff", "--stats", "--lint", "--identify", "--emit")
NO_PAGE = ("--diff", "--lint", "--identify", "--emit", "--watch")
# What says how text is read, and has nothing to say where none is.
TEXT_ONLY = ("--no-decompress", "--errors", "--special", "--allow-special", "--add-special-tokens")
CONFLICTS = (
    *options.TEXT_CONFLICTS,
    *one_of(*((view,) for view in VIEWS)),
    Apart("--pattern-file", ("--pattern",)),
    Apart("-r", ("--why", "--lint", "--watch")),
    Apart("--watch", options.LISTS, "Name the FILEs to watch."),
    *(Apart(view, ("--records",), "Views show whole inputs.") for view in VIEWS),
    *(
        Apart(view, TEXT_ONLY, f"{view} reads no text.")
        for view in ("--lint", "--identify", "--emit", "--find-witness")
    ),
    Apart("--lint", ("FILE", "--text", *options.LISTS), "--lint reads no text; --stats does."),
    Apart("--identify", ("--text", *options.LISTS, "-r", "--watch"), "--identify reads no text."),
    Apart("--emit", ("FILE", "--text", *options.LISTS, "-r"), "--emit reads no text."),
    Needs("--find-witness", "--diff"),
    Needs("--witnesses", "--find-witness"),
    Apart("--find-witness", ("FILE", "--text", *options.LISTS, "-r"), "--find-witness reads no text."),
    Apart("--html", ("--records", "--field", "--json", "--output"), "The page has its own format."),
    Apart("--html", NO_PAGE, "The page shows pieces and what made them, as --table, --stats and --why do."),
)
