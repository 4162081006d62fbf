"""The options of `tokcli count`: as the command line declares them, as values, and which cannot be combined."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, TypeAlias

import click

from tokcli.cli import options
from tokcli.cli.chat.chat_options import TEMPLATE_CONFLICTS, ChatOptions, takes_template
from tokcli.cli.conflicts import Apart, Needs
from tokcli.cli.options import option
from tokcli.cli.request import TextRequest

if TYPE_CHECKING:
    from tokcli.registry.model_estimates import ModelEstimate

MAX_PRICE = 1e9  # of a million tokens


class CountOptions(options.ClusterOptions, ChatOptions):
    """The options of `tokcli count`, as values."""

    encodings: tuple[str, ...]
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
    estimate: ModelEstimate | bool | None


CountRequest: TypeAlias = TextRequest[CountOptions]

declared = options.group(
    options.takes_files,
    options.takes_folders,
    options.takes_encodings,
    options.takes_text("text"),
    options.takes_records,
    option("--jsonl", is_flag=True, help="Output a JSON object for each input, one per line."),
    option("--csv", is_flag=True, help="Output comma-separated values: tokens,bytes,path."),
    option("--total", "only_total", is_flag=True, help="Print only the total."),
    option("-H", "--with-filename", is_flag=True, help="Print the name of a single input, too."),
    option("--tree", type=click.IntRange(min=1), metavar="[N]",
           help="Show folders as a tree with their sums, with =N down to level N."),
    option("--sort", "order", type=click.Choice(["name", "tokens"]), metavar="[name|tokens]",
           help="Sort the inputs by name, or by tokens (without a value, too), largest first."),
    option("--top", type=click.IntRange(min=1), metavar="N", help="Print only the N largest inputs, or rows of --by."),
    option("--by", type=click.Choice(["ext", "dir", "root", "role", "message", "tool"]),
           help="Add up by extension, by folder, or by the FILE that -r found them in; with --chat, by role, "
                "message or tool, too."),
    option("--max", "limit", type=click.IntRange(min=0), metavar="N",
           help="Exit with 1 if there are more than N tokens (with --records: in a record)."),
    option("--budget", is_flag=True, help="Print how many tokens are left of the context window."),
    option("--window", type=click.IntRange(min=1), metavar="N",
           help="Take a context window of N tokens instead of the model's."),
    option("--price", type=options.NumberRange(min=0, max=MAX_PRICE), metavar="P",
           help="Print what the tokens cost if a million of them costs P."),
    option("--chat", is_flag=True,
           help="Count requests to chat models, in JSON: exactly, by the tokenizer's chat template, or for OpenAI's "
                "encodings as an estimate."),
    takes_template,
    option("--estimate", is_flag=True,
           help="If the model's tokenizer is not public, count the tokens of o200k_base times a factor."),
    option("--exact-only", is_flag=True, help="Reject counts that are estimates."),
    options.takes_cluster,
    options.takes_output,
    options.common,
)  # fmt: skip

CONFLICTS = (
    *TEMPLATE_CONFLICTS,
    *options.TEXT_CONFLICTS,
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
    Apart("--budget", ("--jsonl", "--csv", "--tree")),
    Apart("--price", ("--jsonl", "--csv", "--tree")),
    Apart("--dask", ("--text", "--chat", "--all-fields")),
    Apart("--total", ("--jsonl", "--csv", "--sort", "--top", "--by"), "--total prints no rows."),
    Apart("-H", ("--records", "--total", "--by"), "-H names inputs, each with its own count."),
    Apart("--chat", ("--records=lines|nul", "--field", "--errors"), "--chat reads JSON."),
    Apart("--all-fields", ("--by",), "The rows of --by answer no single record."),
    Apart("--chat", ("--special", "--allow-special", "--add-special-tokens"), "Messages are plain text to --chat."),
)
