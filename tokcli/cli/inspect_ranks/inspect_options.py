"""The options of `tokcli inspect-ranks`: as the command line declares them, as values, and which cannot be combined."""

from __future__ import annotations

from typing import Literal, TypeAlias

import click

from tokcli.cli import options
from tokcli.cli.declare.conflicts import Apart, Needs, one_of
from tokcli.cli.declare.option import argument, group, option
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

declared = group(
    argument("tokens", nargs=-1, metavar="[TOKEN]...", completes="text",
             help="The tokens to look up, as text; \\n, \\x00 and the like are escapes."),
    option("--id", "ids", group="View", multiple=True, type=click.IntRange(min=0), metavar="N",
           help="Look up the token with this id."),
    option("--hex", "hexes", group="View", multiple=True, metavar="HEX", help="Look up the token of these bytes."),
    option("--export", "form", group="Output", type=click.Choice(["tiktoken", "gpt2", "huggingface", "minbpe"]),
           help="Write the encoding to -o FILE in this format, or say what would be lost."),
    option("--grep", group="View", metavar="REGEX", help="List the tokens whose text matches this regex."),
    option("--prefix", group="View", metavar="TEXT", help="List the tokens that begin with TEXT."),
    option("--longest", group="View", type=click.IntRange(min=1), metavar="N",
           help="List the N longest tokens (of those found)."),
    option("--not-utf8", group="View", is_flag=True, help="List the tokens that are not valid UTF-8."),
    option("--not-self", group="View", is_flag=True, help="List the tokens whose own text is encoded as other ids."),
    option("--stats", group="View", is_flag=True,
           help="Show the lengths, scripts and kinds of characters of all tokens."),
    option("--merges", group="View", is_flag=True, help="List all merges in order."),
    option("--diff", group="View", completes="encoding", nargs=2, metavar="A B",
           help="List the tokens that two encodings do not share."),
    option("--bytes", "byte_order", group="View", is_flag=True,
           help="List the id of each byte (minbpe's byte_shuffle)."),
    option("--shards", group="View", completes="folder", metavar="DIR",
           help="List the shards that encode wrote to DIR, and check that they are as they were written."),
    option("--coverage", group="View", completes="file", metavar="FILE",
           help="List the tokens that FILE uses, the most frequent first, and what each script costs."),
    option("--models", group="View", metavar="GREP", bare="",
           help="List the models that -m knows, and their tokenizers; with GREP those that match this regex."),
    options.takes_encoding,
    options.takes_json,
    option("--csv", "as_csv", group="Output", is_flag=True, help="Output comma-separated values."),
    options.takes_html,
    options.takes_output,
    options.common,
)  # fmt: skip

LOOK_UPS = ("TOKEN", "--id", "--hex")
SEARCHES = ("--grep", "--prefix", "--longest", "--not-utf8", "--not-self")
VIEWS = ("--stats", "--merges", "--bytes", "--diff", "--shards", "--coverage")
OTHERS = (*SEARCHES, *VIEWS, "--id", "--hex", "--export")
ALL_BUT_THE_LIST = (*LOOK_UPS, *SEARCHES, *VIEWS, "--export", "--models", "--html")
CONFLICTS = (
    *options.ENCODING_CONFLICTS,
    Apart("--html", (*LOOK_UPS, *SEARCHES, *VIEWS, "--export", "--json", "--csv", "--output"),
          "The page shows all tokens, in a form of its own."),
    Apart("--models", (*OTHERS, "--html", "--encoding", "--model", "--pattern"), "It lists what -m knows."),
    Apart("--json", ("--csv",)),
    Apart("--diff", ("--encoding", "--model"), "--diff names the encodings itself."),
    *(Needs(option, ALL_BUT_THE_LIST, "Name a TOKEN, or give --stats, --merges, --grep REGEX or another view.",
            "something to look up") for option in ("--encoding", "--model", "--pattern")),
    Apart("--shards", ("--encoding", "--model", "--pattern"), "The index of the shards names their encoding."),
    Needs("--export", "--output", "--export writes files: name one with -o FILE."),
    *one_of(*((view,) for view in VIEWS), SEARCHES, LOOK_UPS),
)  # fmt: skip
