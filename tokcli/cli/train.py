"""`tokcli train`: learn a vocabulary from a corpus."""

from __future__ import annotations

from typing import Any

import click

from tokcli.cli import options
from tokcli.cli.train_output import FORMATS
from tokcli.errors import InputError

NO_PATTERN = "none"
# What a preset stands for, unless an option says otherwise: minbpe's BasicTokenizer, RegexTokenizer, GPT4Tokenizer.
PRESETS: dict[str, dict[str, Any]] = {
    "basic": {"pattern": NO_PATTERN, "form": "minbpe", "ties": "first"},
    "regex": {"pattern": "gpt4", "form": "minbpe", "ties": "first"},
    "gpt4": {"pattern": "gpt4", "byte_order": "gpt2"},
}
UNITS = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}


def _size(ctx: click.Context, param: click.Parameter, value: str | None) -> int | None:
    """A number of bytes, with K, M, G or T (powers of 1024) behind it."""
    if value is None:
        return None
    text = value.upper().removesuffix("B").removesuffix("I")
    digits, unit = (text[:-1], UNITS[text[-1]]) if text[-1:] in UNITS else (text, 1)
    if not (digits.isascii() and digits.isdigit() and len(digits) < 16 and int(digits) > 0):
        raise click.BadParameter(f"{value!r} is no size such as 500000, 512M or 2G", ctx, param)
    return int(digits) * unit


_corpus = options._group(
    click.option("-r", "--recursive", is_flag=True, help="Take the text files in folders."),
    click.option("--records", type=click.Choice(["lines", "nul", "jsonl"]), help="Each record is a text of its own."),
    click.option("--field", metavar="NAME", help="Member of a jsonl record that is read."),
    click.option("--limit", callback=_size, metavar="SIZE", help="Take so much of the corpus, from its beginning."),
    click.option("--hold-back", type=click.FloatRange(0, 90), default=0, metavar="PERCENT",
                 help="Keep the end of each file out, and measure on it."),
    click.option("--counts", is_flag=True, help="FILEs are counts, as --counts-only writes them."),
    click.option("--errors", type=click.Choice(["strict", "replace", "bytes"]), default="strict", show_default=True,
                 help="Input that is not UTF-8: refuse, U+FFFD, or keep the bytes."),
)  # fmt: skip
_rules = options._group(
    click.option("--vocab-size", type=click.IntRange(min=256), metavar="N", help="Tokens: 256 bytes, then merges."),
    click.option("--pattern", metavar="P", show_default="o200k_base's",
                 help="Split by this regex, or an encoding's by name; none: not at all."),
    click.option("--timeout", metavar="S", type=click.FloatRange(min=0, min_open=True), default=5, show_default=True,
                 help="Seconds a pattern may take for a block of text."),
    click.option("--special", "special_tokens", multiple=True, metavar="NAME", help="A special token; its id follows."),
    click.option("--min-frequency", type=click.IntRange(min=1), default=1, metavar="N", show_default=True,
                 help="Merge no pair that occurs less often."),
    click.option("--max-token-bytes", type=click.IntRange(min=1), metavar="N", help="Make no longer token."),
    click.option("--seed-vocab", metavar="NAME|PATH", help="Extend this vocabulary; its ids stay."),
    click.option("--ties", type=click.Choice(["rank", "first"]), default="rank", show_default=True,
                 help="Of equally frequent pairs: the smallest ids, or (minbpe) the first in the corpus."),
    click.option("--byte-order", type=click.Choice(["value", "gpt2"]), default="value", show_default=True,
                 help="Ids of the single bytes."),
    click.option("--preset", type=click.Choice(list(PRESETS)), help="As minbpe's tokenizer of this name."),
)  # fmt: skip
_work = options._group(
    click.option("-o", "--output", metavar="FILE", type=click.Path(), help="Where to write, whole or not at all."),
    click.option("--format", "form", type=click.Choice(FORMATS), default="tiktoken", show_default=True,
                 help="What to write."),
    click.option("--counts-only", is_flag=True, help="Write the counts of the pieces, and learn nothing."),
    click.option("--memory", callback=_size, metavar="SIZE", help="Counts above this go to temporary files."),
    click.option("--checkpoint", metavar="DIR", type=click.Path(), help="Keep what is done, to go on after a kill."),
    click.option("--checkpoint-every", metavar="S", type=click.FloatRange(min=0), default=30, show_default=True,
                 help="Seconds between two checkpoints."),
    click.option("--dask", metavar="ADDRESS|local", help="Count on a Dask cluster (extra `dask`)."),
    click.option("--device", type=click.Choice(["cpu", "cuda"]), help="Merge with torch (extra `torch`)."),
    click.option("--dry-run", is_flag=True, help="Only tell what there is to learn from."),
    click.option("--progress", "progress_kind", type=click.Choice(["auto", "bar", "plain", "none"]), default="auto",
                 show_default=True, help="How to show how far it is."),
    click.option("--visualise", is_flag=True, help="Show each merge."),
)  # fmt: skip


@click.command(cls=options.Command, name="train")
@options.takes_files
@_corpus
@_rules
@_work
@options.common
def command(**given: Any) -> None:
    """Train byte pair encoding on FILEs, or on standard input.

    The most frequent pair of neighbouring tokens becomes the next token, again and again; of equally frequent pairs the
    one with the smaller left id, then the smaller right id. FILE.json beside a .tiktoken file keeps the pattern and the
    special tokens; it is found there when FILE is loaded.

    \b
      tokcli train corpus.txt --vocab-size 4096 -o my.tiktoken
      tokcli count -e ./my.tiktoken other.txt
      tokcli train -r corpus/ --counts-only -o part1.counts
      tokcli train --counts part*.counts --vocab-size 32768 -o my.tiktoken
    """
    from tokcli.cli.train_session import Session

    given = _with_preset(given)
    _check(given)
    session = Session(given)
    if given["dry_run"]:
        session.report()
    elif given["counts_only"]:
        session.write_counts()
    else:
        session.learn()


def _with_preset(given: dict[str, Any]) -> dict[str, Any]:
    """The options, where they were not given as the preset has them."""
    context = click.get_current_context()
    preset = PRESETS.get(given["preset"] or "", {})
    default = click.core.ParameterSource.DEFAULT
    return given | {name: value for name, value in preset.items() if context.get_parameter_source(name) is default}


def _check(given: dict[str, Any]) -> None:
    """Refuses options that are missing, or do not go together."""
    if not given["counts_only"] and not given["dry_run"] and given["vocab_size"] is None:
        raise click.UsageError("Missing option '--vocab-size'.", click.get_current_context())
    if not given["dry_run"] and given["output"] is None:
        raise click.UsageError("Missing option '-o' / '--output'.", click.get_current_context())
    for one, other in (("counts", "records"), ("counts", "limit"), ("counts", "hold_back"), ("counts", "dask"),
                       ("counts", "checkpoint"), ("dask", "checkpoint"), ("dask", "limit"), ("dask", "hold_back"),
                       ("dask", "records"), ("counts_only", "checkpoint"), ("records", "hold_back"),
                       ("dask", "text")):  # fmt: skip
        if given[one] and given[other]:
            raise InputError(f"--{one.replace('_', '-')} and --{other.replace('_', '-')} do not go together")
    if given["ties"] == "first" and any(given[name] for name in ("counts", "memory", "checkpoint", "dask", "device")):
        raise InputError(
            "--ties first needs the order of the corpus, which counts do not have",
            "Leave out --counts, --memory, --checkpoint, --dask and --device, or take --ties rank.",
        )
    if given["field"] is not None and given["records"] != "jsonl":
        raise InputError("--field goes with --records jsonl", "Only there records have members with names.")
