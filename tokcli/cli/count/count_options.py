"""The options of `tokcli count`: as the command line declares them, as values, and which cannot be combined."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import click

from tokcli.cli import options
from tokcli.cli.chat.chat_options import TEMPLATE_CONFLICTS, ChatOptions, takes_template
from tokcli.cli.declare.command import Command
from tokcli.cli.declare.conflicts import Apart, Needs
from tokcli.cli.declare.option import group, option
from tokcli.cli.request import TextRequest
from tokcli.cli.values.numbers import NumberRange, TokenRange

if TYPE_CHECKING:
    from tokcli.registry.model_estimates import ModelEstimate

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


class CountOptions(options.ClusterOptions, ChatOptions):
    """The options of `tokcli count`, as values."""

    encodings: tuple[str, ...]  # what -e and -m name: the columns, each a ModelName if it is a model's
    jsonl: bool
    csv: bool
    only_total: bool
    with_filename: bool
    tree: int | None
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

declared = group(
    options.takes_files,
    options.takes_folders,
    options.takes_encodings,
    options.takes_text("text"),
    options.takes_records,
    option("--jsonl", group="Output", is_flag=True, help="Output a JSON object for each input, one per line."),
    option("--csv", group="Output", is_flag=True, help="Output comma-separated values: tokens,bytes,path."),
    option("--total", "only_total", group="Output", is_flag=True, help="Print only the total."),
    option("-H", "--with-filename", group="Output", is_flag=True, help="Print the name of a single input, too."),
    option("--tree", group="View", type=click.IntRange(min=1), metavar="N", bare="4096",
           help="Show folders as a tree with their sums, with =N down to level N. On a terminal, rows under 1% are one "
                "line in each folder, unless --top is given."),
    option("--sort", "order", group="View", type=click.Choice(["name", "tokens"]), bare="tokens",
           help="Sort the inputs by name, or by tokens (without a value, too), largest first."),
    option("--top", group="View", type=click.IntRange(min=1), metavar="N",
           help="Print only the N largest inputs, or rows of --by or --tree."),
    option("--by", group="View", type=click.Choice(["ext", "dir", "root", "role", "message", "tool"]),
           help="Add up by extension, by folder, or by the FILE that -r found them in; with --chat, by role, "
                "message or tool, too."),
    option("--max", "limit", group="Output", type=TokenRange(min=0), metavar="N",
           help="Exit with 1 if there are more than N tokens (with --records: in a record)."),
    option("--budget", group="Output", is_flag=True, help="Print how many tokens are left of the context window."),
    option("--window", group="Output", type=TokenRange(min=1, is_noted=True), metavar="N",
           help="Take a context window of N tokens instead of the model's."),
    option("--price", group="Output", type=NumberRange(min=0, max=MAX_PRICE), metavar="P",
           help="Print what the tokens cost if a million of them costs P."),
    option("--chat", group="Input", is_flag=True,
           help="Count requests to chat models, in JSON: exactly, by the tokenizer's chat template, or for OpenAI's "
                "encodings as an estimate."),
    takes_template,
    option("--estimate", group="Tokenizer", is_flag=True,
           help="If the model's tokenizer is not public, count the tokens of o200k_base times a factor."),
    option("--exact-only", group="Tokenizer", is_flag=True, help="Reject counts that are estimates."),
    options.takes_cluster,
    options.takes_output,
    options.common,
)  # fmt: skip

CONFLICTS = (
    *TEMPLATE_CONFLICTS,
    *options.ANSWER_CONFLICTS,
    *options.FOLDER_CONFLICTS,
    Apart("--all-fields", ("--total",), "--total prints one number for all records."),
    Apart("--records", ("--jsonl", "--csv", "--tree", "--by=ext|dir|root"), "They show whole inputs."),
    Apart("--records", ("--by=message",), "The messages of all records together have no order."),
    Apart("--records", ("--sort", "--top", "--by"), "They show whole inputs.", unless="--chat"),
    Needs("--by=role|message|tool", "--chat", "Only requests to chat models have roles, messages and tools."),
    Needs("--estimate", "--model"),
    Apart("--estimate", ("--exact-only", "--add-special-tokens"), "What is estimated is not exact."),
    Apart("--csv", ("--json", "--jsonl")),
    Apart("--jsonl", ("--json",), "--json writes one document for all inputs, --jsonl an object for each."),
    Apart("--tree", ("--json", "--jsonl", "--csv", "--by", "--total"), "--tree has its own format."),
    Needs("--window", "--budget"),
    Apart("--budget", ("--jsonl", "--csv")),
    Apart("--price", ("--jsonl", "--csv")),
    Apart("--dask", ("--text", "--chat", "--all-fields")),
    Apart("--total", ("--jsonl", "--csv", "--sort", "--top", "--by"), "--total prints no rows."),
    Apart("-H", ("--records", "--total", "--by"), "-H names inputs, each with its own count."),
    Apart("--chat", ("--records=lines|nul", "--field", "--errors"), "--chat reads JSON."),
    Apart("--all-fields", ("--by",), "The rows of --by answer no single record."),
    Apart("--chat", ("--special", "--allow-special", "--add-special-tokens"), "Messages are plain text to --chat."),
)
