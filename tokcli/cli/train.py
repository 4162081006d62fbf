"""`tokcli train`: learn a vocabulary from a corpus."""

from __future__ import annotations

import hashlib
import os
import sys
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from tokcli.cli import options, streams
from tokcli.errors import InputError

if TYPE_CHECKING:
    from tokcli.engine.pretokenizer import PreTokenizer


@click.command(cls=options.Command, name="train")
@options.takes_files
@click.option(
    "--vocab-size", type=click.IntRange(min=256), required=True, metavar="N", help="Tokens: 256 bytes, then merges."
)
@click.option("-o", "--output", required=True, metavar="FILE", type=click.Path(), help="The .tiktoken file.")
@click.option(
    "--pattern", metavar="P", show_default="o200k_base's", help="Split by this regex, or an encoding's by name."
)
@click.option(
    "--timeout",
    metavar="S",
    type=click.FloatRange(min=0, min_open=True),
    default=5,
    show_default=True,
    help="Seconds a pattern may take for a block of text.",
)
@click.option("--special", "special_tokens", multiple=True, metavar="NAME", help="A special token; its id follows.")
@click.option(
    "--min-frequency",
    type=click.IntRange(min=1),
    default=1,
    metavar="N",
    show_default=True,
    help="Merge no pair that occurs less often.",
)
@click.option(
    "--errors",
    type=click.Choice(["strict", "replace", "bytes"]),
    default="strict",
    show_default=True,
    help="Input that is not UTF-8: refuse, U+FFFD, or keep the bytes.",
)
@options.common
def command(**given: Any) -> None:
    """Train byte pair encoding on FILEs, or on standard input.

    The most frequent pair of neighbouring tokens becomes the next token, again and again; of equally frequent pairs the
    one with the smaller left rank, then the smaller right rank. FILE.json beside the output keeps the pattern and the
    special tokens.

    \b
      tokcli train corpus.txt --vocab-size 4096 -o my.tiktoken
      tokcli count -e ./my.tiktoken other.txt
    """  # fmt: skip
    from tokcli.cli.records import dump
    from tokcli.engine.known_patterns import O200K
    from tokcli.engine.pretokenizer import PreTokenizer
    from tokcli.formats.tiktoken import format_tiktoken
    from tokcli.registry.encodings import resolve_pattern
    from tokcli.training.train import make_encoding
    from tokcli.training.trainer import train_ranks

    sources = streams.inputs(given["files"], given["text"], given["files0_from"])
    pat_str = resolve_pattern(given["pattern"]) if given["pattern"] is not None else O200K
    pretokenizer = PreTokenizer(pat_str, timeout=given["timeout"])
    make_encoding("", pat_str, {b"": 0}, given["special_tokens"])  # says what is wrong with them before the work begins
    with streams.Output(given["output"], sources) as output:
        sidecar = given["output"] + ".json" if output.is_replaced else os.devnull
        with streams.Output(sidecar, sources) as beside:
            counts = count_corpus(given, sources, pretokenizer)
            ranks = train_ranks(counts, given["vocab_size"], min_frequency=given["min_frequency"])
            encoding = make_encoding("trained", pat_str, ranks, given["special_tokens"])
            data = format_tiktoken(ranks)
            output.write(data)
            beside.write(f"{dump({'pat_str': pat_str, 'special_tokens': encoding._special_tokens})}\n".encode())
    if not given["quiet"]:
        tell(given, len(ranks), data)


def count_corpus(given: dict[str, Any], sources: list[streams.Input], pretokenizer: PreTokenizer) -> Counter[bytes]:
    """How often each piece stands in the corpus."""
    from tokcli.training.train import count_blocks

    errors, special_tokens = given["errors"], given["special_tokens"]
    counts: Counter[bytes] = Counter()
    for source in sources:
        with streams.naming(source.shown):
            counts.update(count_blocks(source.blocks(), pretokenizer, errors=errors, special_tokens=special_tokens))
    if not counts:
        raise InputError("the corpus is empty: there is nothing to learn from", "Name FILEs that hold text.")
    return counts


def tell(given: dict[str, Any], tokens: int, data: bytes) -> None:
    """What came of it, on standard error."""
    from tokcli.render.visible import visible

    missing = given["vocab_size"] - tokens
    few = f" ({missing} fewer than asked for: no pair was left)" if missing else ""
    digest = hashlib.sha256(data).hexdigest()
    sys.stderr.write(
        f"{tokens} tokens, {tokens - 256} merges{few}\n{visible(Path(given['output']).name)} sha256 {digest}\n"
    )
