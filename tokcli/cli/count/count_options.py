"""The options of `tokcli count`: as the command line declares them, as values, and which cannot be combined."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import click

from tokcli.cli import options
from tokcli.cli.declare.command import Command
from tokcli.cli.declare.conflicts import Excludes, Requires
from tokcli.cli.declare.numbers import NumberRange, TokenRange, WholeRange
from tokcli.cli.declare.option import Option, Rows
from tokcli.cli.request import TextRequest

if TYPE_CHECKING:
    from tokcli.registry.models.estimates import ModelEstimate

MAX_PRICE = 1e9  # of a million tokens


class ModelName(str):
    """The name of a column of counts that was given with -m; any other column's is that of an encoding."""

    __slots__ = ()


class CountCommand(Command):
    """`tokcli count`: its parameter `encoding` has what -e and -m name, in the order in which they were typed."""

    def make_parser(self, ctx: click.Context) -> Any:
        parser: Any = super().make_parser(ctx)
        parse = parser.parse_args

        def parse_in_order(args: list[str]) -> Any:
            parsed = parse(args)
            ctx.meta["order"] = [param.name for param in parsed[2] if param.name in ("encoding", "model")]
            return parsed

        parser.parse_args = parse_in_order
        return parser

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        rest = super().parse_args(ctx, args)
        named, models = ctx.params["encoding"], ctx.params.pop("model")
        if order := ctx.meta["order"]:  # else the environment, or a preset, may name encodings
            typed = {"encoding": iter(named), "model": map(ModelName, models)}
            ctx.params["encoding"] = tuple(next(typed[name]) for name in order)
        return rest


class CountOptions(options.ClusterOptions, options.ChatOptions):
    """The options of `tokcli count`, as values."""

    encodings: tuple[str, ...]  # what -e and -m name: the columns, each a ModelName if it is a model's
    jsonl: bool
    csv: bool
    only_total: bool
    with_filename: bool
    tree: int | None
    html: str | None
    order: Literal["name", "tokens"] | None
    top: int | None
    by: Literal["ext", "dir", "root", "role", "message", "tool"] | None
    limit: int | None
    budget: bool
    window: int | None
    price: float | None
    exact_only: bool
    estimate: bool
    estimates: tuple[ModelEstimate | None, ...]  # of each column

    @property
    def only_estimate(self) -> ModelEstimate | None:
        """The estimate of the only column, if it is one."""
        return self.estimates[0] if len(self.estimates) == 1 else None

    def columns(self) -> list[CountOptions]:
        """Return the options for each encoding that was named, which differ in nothing else."""
        estimates = self.estimates or (None,) * len(self.encodings)
        return [
            self.replace(encoding=estimate.encoding, model=None) if estimate else self.replace(**naming(name))
            for name, estimate in zip(self.encodings, estimates, strict=True)
        ]


def naming(name: str) -> dict[str, str | None]:
    """Return the options that name the encoding of a column."""
    return {"encoding": None, "model": name} if isinstance(name, ModelName) else {"encoding": name, "model": None}


CountRequest: TypeAlias = TextRequest[CountOptions]

MOST_USED = ("--text", "--encoding", "--model", "--tree", "--max")

_is_chat = Requires(
    "--chat", hint="Only requests to chat models have roles, messages and tools.", when="role|message|tool"
)
_rows = (
    Option("--jsonl", group="Output", is_rare=True, is_flag=True,
           conflicts=(
               Excludes("--json", hint="--json writes one document for all inputs, --jsonl an object for each."),
           ),
           help="Output a JSON object for each input.",
           more="Each is a line of its own, with the members tokens, bytes and path."),
    Option("--csv", group="Output", is_flag=True, conflicts=(Excludes("--json", "--jsonl"),),
           help="Output comma-separated values.",
           more="The first line is the header tokens,bytes,path; there is a line for each input."),
    Option("--total", "only_total", group="Output", is_flag=True,
           conflicts=(Excludes("--jsonl", "--csv", "--sort", "--top", "--by", hint="--total prints no rows."),),
           help="Print only the total.",
           more="It is a number alone, however many inputs there are."),
    Option("-H", "--with-filename", group="Output", called="-H", is_flag=True,
           conflicts=(Excludes("--records", "--total", "--by", hint="-H names inputs, each with its own count."),),
           help="Name the file even if it is the only one.",
           more="Otherwise the count of a single input is a number alone."),
    Option("--tree", group="View", type=WholeRange(min=1), metavar="N", bare="4096",
           conflicts=(Excludes("--json", "--jsonl", "--csv", "--by", "--total", hint="--tree has its own format."),),
           help="Show folders and their sums, N levels deep.",
           more="Without N, all levels are shown. Without FILE, at a terminal, the current folder is. On a terminal, "
                "rows under 1% are one line in each folder, unless --top is given. "
                "For instance: `tokcli count --tree 2 src`."),
    options.takes_html(
        Excludes("--json", "--jsonl", "--csv", "--by", "--total", "-H", "--records", "--chat", "--output",
              hint="The page shows the tree of --tree."),
    ),
    Option("--sort", "order", group="View", type=click.Choice(["name", "tokens"]), bare="tokens",
           help="Sort by name, or by tokens, most first.",
           more="Without a value, inputs are sorted by tokens. Without the option, they keep the order in which they "
                "were named or found."),
    Option("--top", group="View", type=WholeRange(min=1), metavar="N",
           help="Print only the N largest inputs or rows.",
           more="The total is that of all inputs all the same."),
    Option("--by", group="View", type=click.Choice(["ext", "dir", "root", "role", "message", "tool"]), metavar="WHAT",
           conflicts=(_is_chat,),
           help="Add up by ext, dir or root, or parts of --chat.",
           more="The choices are ext (the extension of files), dir (each file's own folder) and root (the FILE that it "
                "was found in); and with --chat, role, message and tool, for what takes the room of a request."),
)  # fmt: skip
_limits = (
    Option("--max", "limit", group="Output", type=TokenRange(min=0), metavar="N",
           help="Exit with 1 if there are more than N tokens.",
           more="The count is printed all the same. With --records, N holds for each record. 8k is 8000, 8Ki is 8192. "
                "For instance: `tokcli count --max 8000 prompt.txt || echo too long`."),
    Option("--budget", group="Output", is_flag=True, conflicts=(Excludes("--jsonl", "--csv"),),
           help="Print what is left of the context window.",
           more="The window is that of the model, or --window. JSON has it as the member left."),
    Option("--window", group="Output", type=TokenRange(min=1, is_noted=True), metavar="N",
           conflicts=(Requires("--budget"),),
           help="Take N tokens as the context window.",
           more="It takes the place of the model's own. 128k is 128000, 128Ki is 131072."),
    Option("--price", group="Output", aliases=("--cost",), type=NumberRange(min=0, max=MAX_PRICE), metavar="P",
           conflicts=(Excludes("--jsonl", "--csv"),),
           help="Print what they cost at P a million tokens.",
           more="P is in any currency. JSON has the result as the member price. For instance: `tokcli count --price "
                "2.5 prompt.txt`."),
)  # fmt: skip

declared: Rows = (
    *options.takes_files,
    *options.takes_folders,
    *options.takes_encoding(several=True),
    *options.takes_text(),
    *options.takes_records(
        "The document has the members files (with tokens, bytes and path of each) and total, and for a single input "
        "count."
    ),
    *_rows,
    *_limits,
    Option("--chat", group="Input", is_flag=True,
           conflicts=(Excludes("--records=lines|nul", "--field", "--errors", hint="--chat reads JSON."),
                      Excludes("--special", "--allow-special", "--add-special-tokens",
                            hint="Messages are plain text to --chat.")),
           help="Count requests to chat models, in JSON.",
           more="A request is a list of messages, or what OpenAI's, Anthropic's or Gemini's API takes, with its tools; "
                "with --records jsonl there is one a line. The count is exact where the tokenizer has a chat template "
                "(which needs pip install 'tokcli[chat]'), and an estimate for OpenAI's encodings. What cannot be "
                "counted, such as an image, is named in a note."),
    *options.takes_template,
    Option("--estimate", group="Tokenizer", is_rare=True, is_flag=True,
           conflicts=(Requires("--model"),
                      Excludes("--exact-only", "--add-special-tokens", hint="What is estimated is not exact.")),
           help="Estimate where a model's tokenizer is not public.",
           more="The estimate is the number of o200k_base's tokens times a factor, which a note names with the lowest "
                "and the highest that may be right."),
    Option("--exact-only", group="Tokenizer", is_rare=True, is_flag=True,
           help="Reject counts that are estimates.",
           more="Such a count ends the run with exit status 2."),
    options.takes_cluster(Excludes("--text", "--chat", "--all-fields")),
    options.takes_output(),
    *options.common,
)  # fmt: skip

CONFLICTS = (  # of options that other commands have, too
    ("--all-fields", Excludes("--total", hint="--total prints one number for all records.")),
    ("--records", Excludes("--jsonl", "--csv", "--tree", "--by=ext|dir|root", hint="They show whole inputs.")),
    ("--records", Excludes("--by=message", hint="The messages of all records together have no order.")),
    ("--records", Excludes("--sort", "--top", "--by", hint="They show whole inputs.", unless="--chat")),
    ("--all-fields", Excludes("--by", hint="The rows of --by answer no single record.")),
)
