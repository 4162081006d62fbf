"""The options of `tokcli train`: as the command line declares them, as values, and which cannot be combined."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, TypeVar

import click

from tokcli.cli import options
from tokcli.cli.declare.conflicts import Apart, Idle, Required
from tokcli.cli.declare.option import group, option
from tokcli.cli.values.numbers import NumberRange, TokenRange

if TYPE_CHECKING:
    from tokcli.engine.stream.chunks import Utf8Errors
    from tokcli.render.console import Color

Texts = TypeVar("Texts", str, None, tuple[str, ...])

FORMATS = ("tiktoken", "minbpe", "gpt2", "huggingface")
NO_PATTERN = "none"
# What a preset stands for, unless an option says otherwise: minbpe's BasicTokenizer, RegexTokenizer, GPT4Tokenizer.
PRESETS = {
    "basic": {"pattern": NO_PATTERN, "form": "minbpe", "ties": "first"},
    "regex": {"pattern": "gpt4", "form": "minbpe", "ties": "first"},
    "gpt4": {"pattern": "gpt4", "byte_order": "gpt2"},
}
UNITS = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}
MAX_DIGITS = 16  # of a size


class TrainOptions(options.FolderOptions):
    """The options of `tokcli train`, as values."""

    records: options.RecordKind | None
    field: str | None
    limit: int | None
    hold_back: float
    counts: bool
    errors: Utf8Errors
    vocab_size: int | None
    pattern: str | None
    timeout: float
    special_tokens: tuple[str, ...]
    min_frequency: int
    max_token_bytes: int | None
    seed_vocab: str | None
    ties: Literal["rank", "first"]
    byte_order: Literal["value", "gpt2"]
    output: str | None
    form: str | None
    counts_only: bool
    memory: int | None
    checkpoint: str | None
    checkpoint_every: float
    dask: str | None
    device: str | None
    dry_run: bool
    progress_kind: Literal["auto", "bar", "plain", "none"]
    visualise: bool
    jobs: int | None
    color: Color


def _size(ctx: click.Context, param: click.Parameter, value: str | None) -> int | None:
    """Return the bytes of a size, a number that K, M, G or T (powers of 1024) may follow."""
    if value is None:
        return None
    text = value.upper().removesuffix("B").removesuffix("I")
    digits, unit = (text[:-1], UNITS[text[-1]]) if text[-1:] in UNITS else (text, 1)
    if not (digits.isascii() and digits.isdigit() and len(digits) < MAX_DIGITS and int(digits) > 0):
        raise click.BadParameter(f"{value!r} is not a size such as 500000, 512M or 2G", ctx, param)
    return int(digits) * unit


def _preset(ctx: click.Context, _: click.Parameter, value: str | None) -> None:
    """Take a preset's values as the defaults of the options that come after."""
    ctx.default_map = PRESETS.get(value or "", {})


def _text(ctx: click.Context, param: click.Parameter, value: Texts) -> Texts:
    """Return a value, or values, that the trained file will hold; BadParameter if they are not UTF-8."""
    for text in value if isinstance(value, tuple) else (value or "",):
        if not text.isascii() and text != text.encode("utf-8", "replace").decode():
            raise click.BadParameter(f"{text!r} is not UTF-8", ctx, param)
    return value


_corpus = group(
    option("--records", group="Input", type=click.Choice(["lines", "nul", "jsonl"]),
           help="Take each line, NUL-ended string or JSON object as a text of its own."),
    option("--field", group="Input", metavar="NAME", help="Read this member of each jsonl record."),
    options.takes_skip_invalid,
    option("--limit", group="Input", callback=_size, metavar="SIZE", help="Use only the first SIZE of the corpus."),
    option("--hold-back", group="Input", type=NumberRange(0, 90), default=0, metavar="PERCENT",
           help="Keep the end of each file out of training, and measure on it."),
    option("--counts", group="Input", is_flag=True, help="Read FILEs as counts that --counts-only wrote."),
    option("--errors", group="Input", type=click.Choice(["strict", "replace", "bytes"]), default="strict",
           show_default=True,
           help="Reject input that is not UTF-8, replace bad bytes by U+FFFD, or keep them."),
)  # fmt: skip
_rules = group(
    option("--vocab-size", group="Tokenizer", type=TokenRange(min=256, is_noted=True), metavar="N",
           help="Train N tokens: 256 bytes, then merges; special tokens come on top. 4k is 4000, 4Ki is 4096."),
    option("--pattern", group="Tokenizer", completes="pattern", callback=_text, metavar="P",
           show_default="o200k_base's",
           help="Split with this regex, or with the pattern of the encoding P; none: do not split."),
    options.takes_timeout,
    option("--special", "special_tokens", group="Special tokens", multiple=True, callback=_text, metavar="NAME",
           help="Add this special token, with the next free id; may be repeated."),
    option("--min-frequency", group="Tokenizer", type=click.IntRange(min=1), default=1, metavar="N", show_default=True,
           help="Merge only pairs that occur at least N times."),
    option("--max-token-bytes", group="Tokenizer", type=click.IntRange(min=1), metavar="N",
           help="Limit the length of tokens to N bytes."),
    option("--seed-vocab", group="Tokenizer", completes="encoding", metavar="NAME|PATH",
           help="Extend this vocabulary, and keep its ids."),
    option("--ties", group="Tokenizer", type=click.Choice(["rank", "first"]), default="rank", show_default=True,
           help="Break ties between pairs by the smallest ids, or (as minbpe) by the first in the corpus."),
    option("--byte-order", group="Tokenizer", type=click.Choice(["value", "gpt2"]), default="value", show_default=True,
           help="Number the single bytes by value, or as GPT-2 does."),
    option("--preset", group="Tokenizer", type=click.Choice(list(PRESETS)), is_eager=True, callback=_preset,
           expose_value=False,
           help="Train like minbpe's tokenizer of this name."),
)  # fmt: skip
_work = group(
    option("-o", "--output", group="Output", completes="file", metavar="FILE",
           help="Write to FILE atomically."),
    option("--format", "form", group="Output", type=click.Choice(FORMATS), show_default="by FILE's name, else tiktoken",
           help="Write the vocabulary in this format; huggingface into a folder with tokenizer_config.json."),
    option("--counts-only", group="Output", is_flag=True, help="Write the counts of the pieces, and train nothing."),
    option("--memory", group="Running", callback=_size, metavar="SIZE",
           help="Move counts above SIZE to temporary files."),
    option("--checkpoint", group="Running", completes="folder", metavar="DIR",
           help="Save progress in DIR; the same command resumes from there."),
    option("--checkpoint-every", group="Running", metavar="S", type=NumberRange(min=0), default=30, show_default=True,
           help="Save progress every S seconds."),
    option("--dask", group="Running", completes="cluster", metavar="ADDRESS|local",
           help="Count on a Dask cluster (extra `dask`)."),
    option("--device", group="Running", type=click.Choice(["cpu", "cuda"]), help="Merge with torch (extra `torch`)."),
    option("--dry-run", group="Running", is_flag=True, help="Report the size of the corpus and the memory needed."),
    option("--progress", "progress_kind", group="Running", type=click.Choice(["auto", "bar", "plain", "none"]),
           default="auto",
           show_default=True, help="Show progress as a bar, as lines, or not at all."),
    option("--visualise", group="View", aliases=("--visualize",), is_flag=True, help="Show each merge."),
)  # fmt: skip
declared = group(options.takes_files, options.takes_folders, _corpus, _rules, _work, options.common)

_KEPT_ORDER = "Counts do not keep the order of the corpus, which --ties first (--preset basic, regex) needs."
CONFLICTS = (
    *options.FILE_CONFLICTS,
    *options.FOLDER_CONFLICTS,
    Required("--vocab-size", ("--counts-only", "--dry-run"), "For instance --vocab-size 4096"),
    Required("--output", ("--dry-run",), "Name the file to write with -o FILE."),
    Apart(
        "--counts", ("-r", "--records", "--limit", "--hold-back", "--dask", "--checkpoint"), "Counts are only added up."
    ),
    Apart("--dask", ("--checkpoint", "--limit", "--hold-back", "--records", "--text")),
    Apart("--counts-only", ("--checkpoint",)),
    Idle(
        "--counts-only",
        (
            "--vocab-size",
            "--special",
            "--min-frequency",
            "--max-token-bytes",
            "--seed-vocab",
            "--ties",
            "--byte-order",
            "--format",
            "--device",
            "--visualise",
        ),
        "Give it when the counts are trained on.",
    ),
    Apart("--records", ("--hold-back",)),
    Apart("--ties=first", ("--counts", "--memory", "--checkpoint", "--dask", "--device"), _KEPT_ORDER),
    Apart("--counts", ("--pattern",), "The counts name their pattern; leave out --pattern and --preset."),
)
