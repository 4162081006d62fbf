"""The options of `tokcli split`: as the command line declares them, as values, and which cannot be combined."""

from __future__ import annotations

from typing import TypeAlias

import click

from tokcli.cli import options
from tokcli.cli.declare.conflicts import Excludes, Requires, one_of
from tokcli.cli.declare.numbers import WholeRange
from tokcli.cli.declare.option import Option, Rows
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

MOST_USED = ("--text", "--encoding", "--table", "--why", "--diff")
VIEWS = ("--table", "--why", "--diff", "--stats", "--lint", "--identify", "--emit")
# What says how text is read, and has nothing to say where none is.
TEXT_ONLY = ("--no-decompress", "--errors", "--special", "--allow-special", "--add-special-tokens")


def _reads_no_text(view: str, *others: str, hint: str = "") -> tuple[Excludes, Excludes]:
    said = f"{view} reads no text."
    return Excludes(*TEXT_ONLY, hint=said), Excludes(*others, hint=hint or said)


_views = (
    Option("--table", group="View", is_flag=True,
           help="Show each piece, and what made it.",
           more="The columns are the number of the piece, its bytes and characters, the alternative of the pattern "
                "that matched (a1 is the first), the text, and the ids of its tokens."),
    Option("--why", group="View", aliases=("--explain",), metavar="POS|TEXT",
           help="Show why the text is cut at byte POS, or at TEXT.",
           more="Each alternative of the pattern is tried at that byte, counted from 0: what it matches, what stops "
                "it, and why one of them wins. TEXT is looked for in the input; a TEXT that several pieces share is "
                "explained at the beginning of each of them. A number is a byte; text:42 looks for the text 42."),
    Option("--diff", group="View", completes="encoding or model", metavar="ENCODING|P",
           help="Show where another encoding or pattern differs.",
           more="Only the regions that the two patterns cut differently are shown, both sides of each. P is a regex. "
                "If there are none, a note says so."),
    Option("--stats", group="View", is_flag=True,
           help="Count what each alternative matches.",
           more="With the longest pieces, and the pieces of several tokens. Alternatives that never match are named."),
    Option("--lint", group="View", is_flag=True,
           conflicts=_reads_no_text("--lint", "FILE", "--text", *options.LISTS, "-r",
                                    hint="--lint reads no text; --stats does."),
           help="Check the pattern for mistakes.",
           more="Reported are text that the pattern leaves out, alternatives that are dead or empty, repeats that "
                "backtrack, and engines that read the pattern differently. The exit status is 1 if there is an error."),
    Option("--identify", group="View", is_flag=True,
           conflicts=_reads_no_text("--identify", "--text", *options.LISTS, "-r", "--watch"),
           help="Name the known pattern that is nearest.",
           more="It is the pattern of the encoding, or of the vocabulary FILE. What was changed is shown."),
    Option("--find-witness", group="View", is_rare=True, is_flag=True,
           conflicts=(Requires("--diff"),
                      *_reads_no_text("--find-witness", "FILE", "--text", *options.LISTS, "-r")),
           help="Find a text that --diff's pattern cuts otherwise.",
           more="It is the shortest text that the two patterns split differently; if there is none, up to which length "
                "is said. No input is read. For instance: `tokcli split -m gpt-4 --diff o200k_base --find-witness`."),
    Option("--witnesses", group="View", is_rare=True, metavar="N", type=WholeRange(1, MOST_WITNESSES), default=1,
           conflicts=(Requires("--find-witness"),),
           help="Find up to N such texts.",
           more=f"None of them contains another. N is at most {MOST_WITNESSES:,}."),
    Option("--emit", group="Output", is_rare=True, metavar="ENGINE", type=click.Choice(ENGINES),
           conflicts=_reads_no_text("--emit", "FILE", "--text", *options.LISTS, "-r"),
           help="Write the pattern for another regex engine.",
           more=f"ENGINE is one of {', '.join(ENGINES)}. The pattern has the same classes of characters there; if "
                "something stands in the way, the error says what."),
    Option("--watch", group="View", is_rare=True, is_flag=True,
           conflicts=(Excludes(*options.LISTS, hint="Name the FILEs to watch."),),
           help="Draw the view again when a file changes.",
           more="Watched are the inputs, and the file of --pattern-file."),
    options.takes_html(
        Excludes("--records", "--field", "--json", "--output", hint="The page has its own format."),
        Excludes("--diff", "--lint", "--identify", "--emit", "--watch",
              hint="The page shows pieces and what made them, as --table, --stats and --why do."),
    ),
)  # fmt: skip

declared: Rows = (
    *options.takes_files,
    *options.takes_folders,
    *options.takes_encoding(),
    Option("--pattern-file", group="Tokenizer", completes="file", metavar="F", conflicts=(Excludes("--pattern"),),
           help="Read the pattern from the file F.",
           more="One newline at its end is ignored."),
    *options.takes_text(),
    *options.takes_records("An answer has the member pieces, whose strings joined are the text."),
    *_views,
    options.takes_output(),
    *options.common,
)  # fmt: skip

CONFLICTS = (  # of many options with each other, or of options that other commands have, too
    *one_of(*((view,) for view in VIEWS)),
    ("-r", Excludes("--why", "--lint", "--watch")),
    *((view, Excludes("--records", hint="Views show whole inputs.")) for view in VIEWS),
)
