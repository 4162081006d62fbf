"""The options of `tokcli inspect-ranks`: as the command line declares them, as values, and which cannot be combined."""

from __future__ import annotations

from typing import Literal, TypeAlias

import click

from tokcli.cli import options
from tokcli.cli.declare.conflicts import Excludes, Requires, one_of
from tokcli.cli.declare.numbers import WholeRange
from tokcli.cli.declare.option import Argument, Option, Rows
from tokcli.cli.request import Request


class InspectOptions(options.EncodingOptions):
    """The options of `tokcli inspect-ranks`, as values."""

    tokens: tuple[str, ...]
    ids: tuple[int, ...]
    hexes: tuple[str, ...]
    form: Literal["tiktoken", "gpt2", "huggingface", "minbpe"] | None
    grep: str | None
    prefix: str | None
    longest: int | None
    not_utf8: bool
    not_self: bool
    stats: bool
    merges: bool
    diff: tuple[str, str] | None
    byte_order: bool
    shards: str | None
    models: str | None
    coverage: str | None
    as_csv: bool
    html: str | None

    @property
    def names_tokens(self) -> bool:
        """Whether tokens are to be looked up one by one."""
        return bool(self.tokens or self.ids or self.hexes)

    @property
    def searches(self) -> bool:
        """Whether tokens are to be searched for."""
        named = (self.grep, self.prefix, self.longest)
        return self.not_utf8 or self.not_self or any(value is not None for value in named)

    @property
    def needs_pattern(self) -> bool:
        """Whether texts are encoded or the pattern is written; else the tokens themselves are all there is to show."""
        return self.not_self or self.coverage is not None or self.html is not None or self.form is not None


InspectRequest: TypeAlias = Request[InspectOptions]

MOST_USED = ("--encoding", "--model", "--id", "--grep", "--models")
LOOK_UPS = ("TOKEN", "--id", "--hex")
SEARCHES = ("--grep", "--prefix", "--longest", "--not-utf8", "--not-self")
VIEWS = ("--stats", "--merges", "--bytes", "--diff", "--shards", "--coverage")
OTHERS = (*SEARCHES, *VIEWS, "--id", "--hex", "--export")
ALL_BUT_THE_LIST = (*LOOK_UPS, *SEARCHES, *VIEWS, "--export", "--models", "--html")

_look_ups = (
    Argument("tokens", nargs=-1, metavar="[TOKEN]...", completes="text",
             help="The texts of tokens to look up, with the escapes that `tokcli split` prints (\\n, \\x00)."),
    Option("--id", "ids", group="Input", multiple=True, type=WholeRange(min=0), metavar="N",
           help="Look up the token with this id.",
           more="It may be combined with TOKENs and --hex."),
    Option("--hex", "hexes", group="Input", multiple=True, metavar="HEX",
           help="Look up the token of these bytes.",
           more="HEX has two digits for each byte, such as f09f."),
)  # fmt: skip
_searches = (
    Option("--grep", group="View", aliases=("--search",), metavar="REGEX",
           help="List the tokens whose text matches REGEX.",
           more="What is not UTF-8 in a token is compared as U+FFFD."),
    Option("--prefix", group="View", metavar="TEXT",
           help="List the tokens that begin with TEXT.",
           more="TEXT may have escapes, as TOKEN."),
    Option("--longest", group="View", type=WholeRange(min=1), metavar="N",
           help="List the N longest tokens.",
           more="With other searches, it is those of the tokens found."),
    Option("--not-utf8", group="View", is_rare=True, is_flag=True, help="List the tokens that are not valid UTF-8.",
           more="They are parts of characters, and bytes that no text has."),
    Option("--not-self", group="View", is_rare=True, is_flag=True,
           help="List the tokens that encode as other ids.",
           more="These are tokens whose own text, encoded by itself, gives other ids."),
)  # fmt: skip
_views = (
    Option("--stats", group="View", is_flag=True,
           help="Show the lengths and scripts of all tokens.",
           more="With the kinds of characters that they have."),
    Option("--merges", group="View", is_flag=True, help="List all merges in order.",
           more="Each has the two tokens that it merges, and the new one. For ranks alone, the merges are recovered "
                "from them."),
    Option("--diff", group="View", nargs=2, completes="encoding or model", metavar="A B",
           conflicts=(Excludes("--encoding", "--model", hint="--diff names the encodings itself."),),
           help="List the tokens that A and B do not share.",
           more="A and B are names of encodings or files, as for -e."),
    Option("--bytes", "byte_order", group="View", is_rare=True, is_flag=True,
           help="List the id of each byte.",
           more="This is what minbpe calls byte_shuffle."),
    Option("--shards", group="View", is_rare=True, completes="folder", metavar="DIR",
           conflicts=(Excludes("--encoding", "--model", "--pattern",
                            hint="The index of the shards names their encoding."),),
           help="Check the shards that encode wrote to DIR.",
           more="Each is listed with its tokens and documents, and whether it is as it was written."),
    Option("--coverage", group="View", completes="file", metavar="FILE",
           help="List the tokens that FILE uses, by frequency.",
           more="With what a character of each script costs in tokens."),
    Option("--models", group="View", metavar="GREP", bare="",
           conflicts=(
               Excludes(*OTHERS, "--html", "--encoding", "--model", "--pattern", hint="It lists what -m knows."),
           ),
           help="List the models that -m knows.",
           more="With their tokenizers and context windows. GREP is a regex, which may follow after a space, too: only "
                "models whose name or tokenizer it matches are listed, and with inside, cached, hub or file those "
                "whose tokenizer is there. For instance, `tokcli inspect-ranks --models llama`."),
    options.takes_html(Excludes(*SEARCHES, *VIEWS, "--export", "--json", "--csv", "--output",
                             hint="The page shows all tokens, in a form of its own.")),
)  # fmt: skip
_form = (
    Option("--json", "as_json", group="Output", is_flag=True, conflicts=(Excludes("--csv"),),
           help="Output JSON.",
           more="It is one document, with all that the table has."),
    Option("--csv", "as_csv", group="Output", is_flag=True,
           help="Output comma-separated values.",
           more="By default, a table has columns for people on a terminal, and is separated by tabs in a pipe."),
    Option("--export", "form", group="Output", type=click.Choice(["tiktoken", "gpt2", "huggingface", "minbpe"]),
           metavar="FORMAT", conflicts=(Requires("--output", hint="--export writes files: name one with -o FILE."),),
           help="Write the encoding to -o FILE in this format.",
           more="The choices are tiktoken, gpt2, huggingface and minbpe. Every token keeps its id; if the format "
                "cannot hold something of the encoding, the error says what would be lost."),
)  # fmt: skip
declared: Rows = (
    *_look_ups,
    *_searches,
    *_views,
    *options.takes_encoding(),
    *_form,
    options.takes_output(),
    *options.common,
)

CONFLICTS = (  # of many options with each other, or of options that other commands have, too
    *((option, Requires(*ALL_BUT_THE_LIST, phrase="something to look up",
                     hint="Name a TOKEN, or give --stats, --merges, --grep REGEX or another view."))
      for option in ("--encoding", "--model", "--pattern")),
    *one_of(*((view,) for view in VIEWS), SEARCHES, LOOK_UPS),
)  # fmt: skip
