"""The options of `tokcli train`: as the command line declares them, as values, and which cannot be combined."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Literal, TypeVar

import click

from tokcli.cli import options
from tokcli.cli.declare.conflicts import Excludes, NoEffectWith, Required
from tokcli.cli.declare.numbers import NumberRange, TokenRange, WholeRange
from tokcli.cli.declare.option import Option, Rows

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


def _special(ctx: click.Context, param: click.Parameter, value: tuple[str, ...]) -> tuple[str, ...]:
    """Return the names of special tokens; BadParameter if they are not UTF-8, or several of them are given as one."""
    if joined := next((text for text in value if re.search(r"\S>,\s*<\S", text)), None):
        each = " ".join(f"--special {name.strip()!r}" for name in joined.split(","))
        raise click.BadParameter(f"{joined!r} would be a single token: give each by itself, {each}", ctx, param)
    return _text(ctx, param, value)


def _preset(ctx: click.Context, _: click.Parameter, value: str | None) -> None:
    """Take a preset's values as the defaults of the options that come after."""
    ctx.default_map = PRESETS.get(value or "", {})


def _text(ctx: click.Context, param: click.Parameter, value: Texts) -> Texts:
    """Return a value, or values, that the trained file will hold; BadParameter if they are not UTF-8."""
    for text in value if isinstance(value, tuple) else (value or "",):
        if not text.isascii() and text != text.encode("utf-8", "replace").decode():
            raise click.BadParameter(f"{text!r} is not UTF-8", ctx, param)
    return value


MOST_USED = ("--vocab-size", "--output", "--pattern", "--special", "--format")
SIZE_MORE = "SIZE is a number of bytes, which K, M, G or T may follow (powers of 1024): 512M."

_corpus = (
    Option("--records", group="Input", type=click.Choice(["lines", "nul", "jsonl"]),
           conflicts=(Excludes("--hold-back"),),
           help="Treat each line, string or object separately.",
           more="Each line, string that ends with a NUL byte, or JSON object is a text of its own, so that no pair is "
                "counted across their ends. Of an object, the member that --field names is read."),
    options.takes_field,
    options.takes_skip_invalid,
    options.takes_errors,
    Option("--limit", group="Input", is_rare=True, callback=_size, metavar="SIZE",
           help="Read only the first SIZE of the corpus.", more=SIZE_MORE),
    Option("--hold-back", group="Input", is_rare=True, type=NumberRange(0, 90), default=0, metavar="PERCENT",
           help="Keep the end of each file to measure on.",
           more="The last PERCENT of each file, from 0 to 90, are not trained on; the report says how many bytes a "
                "token has there."),
    Option("--counts", group="Input", is_flag=True,
           conflicts=(Excludes("-r", "--records", "--limit", "--hold-back", "--dask", "--checkpoint",
                            hint="Counts are only added up."),
                      Excludes("--pattern", hint="The counts name their pattern; leave out --pattern and --preset.")),
           help="Read FILEs as counts of --counts-only.",
           more="The counts of all FILEs are added up, and the vocabulary is that of their corpora together. For "
                "instance: `tokcli train --counts part*.counts --vocab-size 32768 -o my.tiktoken`."),
)  # fmt: skip
_rules = (
    Option("--vocab-size", group="Tokenizer", type=TokenRange(min=256, is_noted=True), metavar="N",
           conflicts=(Required("--counts-only", "--dry-run", hint="For instance --vocab-size 4096"),),
           help="Train N tokens.",
           more="These are the 256 bytes and N - 256 merges; special tokens come on top. 4k is 4000, 4Ki is 4096."),
    Option("--pattern", group="Tokenizer", completes="pattern", callback=_text, metavar="P",
           show_default="o200k_base's",
           help="Split with the regex P, or as the encoding P.",
           more="Tokens never cross the ends of the pieces into which P splits the corpus. With P none, the corpus is "
                "not split."),
    options.takes_timeout,
    Option("--special", "special_tokens", group="Special tokens", aliases=("--special-token", "--special-tokens"),
           multiple=True, callback=_special, metavar="NAME",
           help="Add this special token; may be repeated.",
           more="It has the next free id after the tokens that are trained. Where the corpus has its name, "
                "the name is left out, and no pair is counted across it."),
    Option("--min-frequency", group="Tokenizer", is_rare=True, type=WholeRange(min=1), default=1, metavar="N",
           show_default=True,
           help="Merge only pairs that occur N times or more.",
           more="The vocabulary may then have fewer tokens than --vocab-size says."),
    Option("--max-token-bytes", group="Tokenizer", is_rare=True, type=WholeRange(min=1), metavar="N",
           help="Limit the length of tokens to N bytes.",
           more="Pairs that would make a longer token are not merged."),
    Option("--seed-vocab", group="Tokenizer", is_rare=True, completes="encoding", metavar="NAME|PATH",
           help="Extend this vocabulary, and keep its ids.",
           more="Its merges come first, in their order; new ones follow until there are --vocab-size tokens."),
    Option("--ties", group="Tokenizer", is_rare=True, type=click.Choice(["rank", "first"]), default="rank",
           show_default=True,
           conflicts=(Excludes("--counts", "--memory", "--checkpoint", "--dask", "--device", when="first",
                            hint="Counts do not keep the order of the corpus, which --ties first (--preset basic, "
                                 "regex) needs."),),
           help="Choose among pairs that are equally frequent.",
           more="With rank, it is the pair with the smallest left id, then right id; with first, the one that comes "
                "first in the corpus, as in minbpe."),
    Option("--byte-order", group="Tokenizer", is_rare=True, type=click.Choice(["value", "gpt2"]), default="value",
           show_default=True,
           help="Number the single bytes by value, or as GPT-2.",
           more="With value, byte 0 has id 0, and byte 255 id 255. With gpt2, printable characters come first, as in "
                "GPT-2's vocabulary."),
    Option("--preset", group="Tokenizer", is_rare=True, type=click.Choice(list(PRESETS)), is_eager=True,
           callback=_preset, expose_value=False,
           help="Train like minbpe's tokenizer of this name.",
           more="basic is its BasicTokenizer, regex its RegexTokenizer, and gpt4 its GPT4Tokenizer: values of "
                "--pattern, --format, --ties and --byte-order that the options themselves override."),
)  # fmt: skip
_work = (
    options.takes_output(Required("--dry-run", hint="Name the file to write with -o FILE.")),
    Option("--format", "form", group="Output", type=click.Choice(FORMATS), metavar="FORMAT",
           show_default="by FILE's name",
           help="Write tiktoken, minbpe, gpt2 or huggingface.",
           more="These are tiktoken (ranks, with the pattern and the special tokens in FILE.json beside), "
                "minbpe, gpt2 (vocab.json and merges.txt) and huggingface (tokenizer.json; into a folder, with a "
                "tokenizer_config.json). The default is what FILE's name says, else tiktoken."),
    Option("--counts-only", group="Output", is_flag=True,
           conflicts=(Excludes("--checkpoint"),
                      NoEffectWith("--vocab-size", "--special", "--min-frequency", "--max-token-bytes", "--seed-vocab",
                           "--ties", "--byte-order", "--format", "--device", "--visualise",
                           hint="Give it when the counts are trained on.")),
           help="Write the counts of pieces, and train nothing.",
           more="Parts of a corpus can be counted on several machines, and --counts trains on them all."),
    Option("--memory", group="Running", is_rare=True, callback=_size, metavar="SIZE",
           help="Move counts above SIZE to temporary files.",
           more=f"None is dropped, and the vocabulary is the same. {SIZE_MORE}"),
    Option("--checkpoint", group="Running", completes="folder", metavar="DIR",
           help="Save progress in DIR, and resume from there.",
           more="The same command goes on where the run was ended, and the vocabulary is the same. Only the folder "
                ".tokcli-checkpoint in DIR is written to."),
    Option("--checkpoint-every", group="Running", is_rare=True, metavar="S", type=NumberRange(min=0), default=30,
           show_default=True,
           help="Save progress every S seconds.",
           more="It is what a run that is killed may have to do again."),
    options.takes_cluster(Excludes("--checkpoint", "--limit", "--hold-back", "--records", "--text")),
    Option("--device", group="Running", is_rare=True, type=click.Choice(["cpu", "cuda"]),
           help="Merge with torch on this device.",
           more="The vocabulary is the same. This needs the extra `torch`: pip install 'tokcli[torch]'."),
    Option("--dry-run", group="Running", is_flag=True,
           help="Report the size of the corpus and the memory.",
           more="Nothing is trained, and no file is written."),
    Option("--progress", "progress_kind", group="Running", is_rare=True, metavar="HOW", default="auto",
           type=click.Choice(["auto", "bar", "plain", "none"]), show_default=True,
           help="Show progress as a bar, as plain lines or none.",
           more="With auto, it is a bar on a terminal, or lines where a line cannot be drawn again, and nothing in a "
                "pipe."),
    Option("--visualise", group="View", aliases=("--visualize",), is_flag=True,
           help="Show each merge as it is made.",
           more="Each has a line with its number, the two tokens, the new one, and how often the pair occurs."),
)  # fmt: skip
declared: Rows = (*options.takes_files, *options.takes_folders, *_corpus, *_rules, *_work, *options.common)
