"""The options of `tokcli encode`: as the command line declares them, as values, and which cannot be combined."""

from __future__ import annotations

from array import array
from functools import cached_property
from typing import TYPE_CHECKING, Literal

import click

from tokcli.cli import options
from tokcli.cli.chat.chat_options import TEMPLATE_CONFLICTS, ChatOptions, takes_template
from tokcli.cli.declare.conflicts import Apart, Needs
from tokcli.cli.declare.option import group, option
from tokcli.cli.messages import no_special_token
from tokcli.cli.request import TextRequest
from tokcli.cli.values.numbers import NumberRange, TokenRange
from tokcli.engine.stream.ids import packed_records
from tokcli.engine.tokens import Tokens, added, joined

if TYPE_CHECKING:
    from tokcli.engine.chunking.boundaries import Boundary
    from tokcli.engine.encoding import Encoding

IdFormat = Literal["text", "json", "u16", "u32", "npy"]


class EncodeOptions(options.ClusterOptions, ChatOptions):
    """The options of `tokcli encode`, as values."""

    form: IdFormat
    offsets: Literal["byte", "char"] | None
    limit: int | None
    keep: Literal["first", "last"]
    fail_if_truncated: bool
    as_text: bool
    chunk: int | None
    overlap: int
    boundary: Boundary
    shards: str | None
    layout: str
    shard_tokens: int
    prepend_special: str | None
    append_special: str | None
    shard_of: str | None
    dropout: float | None
    nbest: int | None
    alpha: float | None
    seed: int | None
    visualise: Literal["tokens", "merges"] | None
    ids: bool
    svg: str | None
    step: bool
    compare: str | None
    html: str | None

    @property
    def is_for_ids(self) -> bool:
        """Whether ids alone are asked for: no text, no view, and no ids that are prepared for training."""
        is_text = self.as_text or self.chunk is not None
        is_view = self.shows_tokens or self.compare is not None
        is_prepared = (self.shards, self.prepend_special, self.append_special) != (None, None, None)
        return not (is_text or is_view or is_prepared)

    @property
    def shows_tokens(self) -> bool:
        """Whether tokens are shown in colours: on the screen, in a page or in a picture."""
        return (self.visualise, self.html, self.svg) != (None, None, None)

    @property
    def is_sampled(self) -> bool:
        """Whether ids are drawn at random."""
        return self.dropout is not None or self.alpha is not None


class EncodeRequest(TextRequest[EncodeOptions]):
    """A request to encode texts, each of which may get tokens before and after it."""

    @cached_property
    def frame(self) -> tuple[array[int], array[int]]:
        """The ids (uint32) that --prepend-special puts before each text, and --append-special after it."""
        names = self.options.prepend_special, self.options.append_special
        before, after = (array("I", [] if name is None else [special_id(self.encoding, name)]) for name in names)
        return before, after

    @cached_property
    def plain_encoding(self) -> Encoding:
        """The encoding that the options name; `encoding` may be one that draws its ids at random."""
        return self.encoding

    @property
    def adds_tokens(self) -> bool:
        """Whether the template or an option adds tokens to texts."""
        return self.options.add_special_tokens or any(self.frame)

    def finished(self, texts: list[Tokens]) -> Tokens:
        """Return one text or a pair of texts after the post-processor, in the frame."""
        return self.framed(self.encoding.tokenizer.finish(texts, self.options.add_special_tokens), len(texts))

    def framed(self, tokens: Tokens, texts: int = 1) -> Tokens:
        """Return the tokens of a text, or of a pair of texts, in the frame."""
        before, after = self.frame
        return joined([added(before, 0), tokens, added(after, texts - 1)]) if any(self.frame) else tokens

    def finished_records(self, ids: memoryview, offsets: memoryview) -> tuple[memoryview, memoryview]:
        """Return the ids of single texts after the post-processor, in the frame, and where each begins (uint64).

        `packed_records` puts an id after each text. If all ids then move by one, it is before the next text, and so it
        is before each.
        """
        (first, last), (bos, eos) = self.frame, self.template_ids
        for number in eos + last:
            ids, offsets = _each_followed_by(number, ids, offsets)
        for number in reversed(first + bos):
            ids, offsets = _each_followed_by(number, ids, offsets)
            ids = memoryview(array("I", [number]).tobytes() + ids[:-1].cast("B")).cast("I") if len(ids) else ids
        return ids, offsets


def special_id(encoding: Encoding, name: str) -> int:
    """Return the id of a special token, or of a control piece or an added token; InputError where there is none."""
    tokenizer = encoding.tokenizer
    if name in tokenizer.special_tokens:
        return tokenizer.special_tokens[name]
    texts, kinds = tokenizer.token_bytes(), tokenizer.token_kinds()
    named = {texts[number].decode(errors="replace"): number for number, kind in kinds.items() if kind in NAMED_KINDS}
    if name not in named:
        control = [text for text, number in named.items() if kinds[number] == "control"]
        raise no_special_token(encoding, name, control)
    return named[name]


def _each_followed_by(number: int, ids: memoryview, offsets: memoryview) -> tuple[memoryview, memoryview]:
    """Return the ids of texts with one more after each, and where those of each begin."""
    ids, ends = packed_records(ids, offsets, 0, number, "u32")
    return ids, memoryview(array("Q", [0]).tobytes() + ends.cast("B")).cast("Q")


NAMED_KINDS = ("special", "control", "added", "user-defined")  # of tokens that have a name rather than a text
MAX_SHARD_TOKENS = 2**31 - 1  # lengths are int32 in Megatron's index
MOST_PATHS = 512  # SentencePiece, too, gives no more segmentations
SAMPLED = "Sampled ids are those of whole texts, which are drawn in order."
SAMPLING = ("--dropout", "--nbest", "--alpha")
SHOWN = ("--visualise", "--html", "--svg")  # how tokens are shown
NO_VIEW = ("--records", "--field", "--json", "--format", "--offsets", "--fail-if-truncated")  # of a page or a picture
SHARDING = ("--layout", "--shard-tokens", "--shard-of", "--dask")

declared = group(
    options.takes_files,
    options.takes_folders,
    options.takes_encoding,
    options.takes_text("error for ids alone, else text"),
    options.takes_records,
    option("--chat", group="Input", is_flag=True,
           help="Encode requests to chat models, in JSON, as the tokenizer's chat template renders them."),
    takes_template,
    option("--format", "form", group="Output", type=click.Choice(["text", "json", "u16", "u32", "npy"]), default="text",
           show_default=True, help="Write decimal ids, JSON, little-endian binary or NumPy."),
    option("--offsets", group="Output", type=click.Choice(["byte", "char"]),
           help="Add where each token begins and ends, in bytes or characters."),
    option("-n", "--limit", group="Output", type=TokenRange(min=0), metavar="N",
           help="Stop after N tokens; those of a template, or put before and after, are among them, and never cut."),
    option("--keep", group="Output", type=click.Choice(["first", "last"]), default="first", show_default=True,
           help="Keep the first or the last tokens of -n."),
    option("--fail-if-truncated", group="Output", is_flag=True, help="Exit with 1 if -n cut anything off."),
    option("--as-text", group="Output", is_flag=True, help="Write the text that -n or --chunk keeps, not its ids."),
    option("--chunk", group="Output", type=TokenRange(min=1), metavar="N",
           help="Cut each input, or with --records each record, into chunks of at most N tokens."),
    option("--overlap", group="Output", type=TokenRange(min=0), default=0, metavar="K",
           help="Begin each chunk with up to K tokens of the one before; they are among its N."),
    option("--boundary", group="Output", type=click.Choice(["token", "char", "piece", "line", "sentence", "paragraph"]),
           default="token", show_default=True, help="End chunks there, unless such a part is too long."),
    option("--shards", group="Output", completes="folder", metavar="DIR",
           help="Write the ids as shards to DIR: a document for each input or record. A run that was ended goes "
                "on where it was."),
    option("--layout", group="Output", type=click.Choice(["flat", "datatrove", "megatron", "npy", "parquet"]),
           default="flat",
           show_default=True, help="Lay the shards out for this reader."),
    option("--shard-tokens", group="Output", type=TokenRange(min=1, max=MAX_SHARD_TOKENS), default=100_000_000,
           show_default=True, metavar="N",
           help="Put at most N tokens into a shard; only a document that is longer is cut."),
    option("--prepend-special", group="Special tokens", completes="special token", metavar="NAME",
           help="Begin each input or record with this special token."),
    option("--append-special", group="Special tokens", completes="special token", metavar="NAME",
           help="End each input or record with this special token."),
    option("--shard-of", group="Output", metavar="I/N",
           help="Encode only part I of N of the input's bytes, in whole documents; each part has its own DIR."),
    options.takes_cluster,
    option("--dropout", group="Tokenizer", type=NumberRange(min=0, max=1), metavar="P",
           help="Skip each merge of BPE with probability P, for other ids each time."),
    option("--nbest", group="Tokenizer", type=click.IntRange(min=1, max=MOST_PATHS), metavar="N",
           help="Write the N best segmentations of Unigram, a line each; or, with --alpha, one of them."),
    option("--alpha", group="Tokenizer", type=NumberRange(min=0), metavar="A",
           help="Draw one of all segmentations of Unigram, or of the --nbest, by exp(A * its score)."),
    option("--seed", group="Tokenizer", type=click.IntRange(min=0), metavar="N",
           help="Draw the same ids in each run for --dropout and --alpha."),
    option("--visualise", group="View", type=click.Choice(["tokens", "merges"]), is_flag=False, bare="tokens",
           aliases=("--visualize",),
           help="Show coloured tokens, or with =merges every merge."),
    option("--ids", group="View", is_flag=True,
           help="Show the ids under the tokens of --visualise or --svg."),
    option("--svg", group="View", completes="file", metavar="FILE",
           help="Write the coloured tokens to FILE as a picture."),
    option("--step", group="View", is_flag=True, help="Wait for a key after each step of --visualise=merges."),
    option("--compare", group="View", completes="encodings", metavar="E1,E2,...",
           help="Show the text under each of these encodings, aligned, and how many tokens it takes."),
    options.takes_html,
    options.takes_output,
    options.common,
)  # fmt: skip

CONFLICTS = (
    *TEMPLATE_CONFLICTS,
    Apart("--chat", ("-r", "--records=lines|nul", "--field", "--errors"), "--chat reads JSON."),
    Apart("--chat", ("--special", "--allow-special", "--add-special-tokens"), "The template writes special tokens."),
    Apart("--chat", ("--chunk", "--shards", "--compare", "--dask"),
          "Render first, with --chat --as-text, to JSON Lines with --records jsonl; then encode that text."),
    *options.TEXT_CONFLICTS,
    Apart("--compare", ("--encoding", "--model", "--pattern"), "--compare names the encodings itself."),
    Apart("--compare", ("-r", "--records", "--offsets", "-n", "--format", "--fail-if-truncated", "--add-special-tokens",
                        "--html", "--visualise", "--step", "--ids", "--svg")),
    Apart("--html", (*NO_VIEW, "--step", "--output"), "The page has its own format."),
    Apart("--html", ("--svg",), "Write one after the other."),
    Apart("--svg", (*NO_VIEW, "--step", "--output"), "The picture has its own format."),
    Apart("--svg", ("--visualise=merges",), "The picture shows tokens; --html has the merges of each, too."),
    Apart("--format=u16|u32|npy", ("--records", "--json", "--offsets"), "A binary file holds nothing but ids; records "
          "in it need --append-special NAME, which ends each.", unless="--append-special|--prepend-special"),
    Apart("--format=u16|u32|npy", ("--json", "--offsets"), "A binary file holds nothing but ids."),
    Apart("--visualise", ("--records", "--offsets", "--format"), "The view has its own format."),
    Apart("--shards", ("--output", "--format", "--json", "--offsets", "-n", "--chunk", "--as-text", "--compare",
                       *SHOWN), "Shards are binary files of whole documents in DIR."),
    *(Needs(option, "--shards") for option in SHARDING),
    *(Apart(option, ("--compare", *SHOWN), "Views show the tokens of the text.")
      for option in ("--prepend-special", "--append-special")),
    Apart("--dask", ("--text",)),
    Needs("--fail-if-truncated", "-n"),
    Needs("--keep", "-n"),
    Apart("--dropout", ("--nbest", "--alpha"), "--dropout is for BPE; Unigram takes --nbest and --alpha."),
    *(Apart(option, ("--dask", "--chunk", "--as-text", "--compare", *SHOWN), SAMPLED)
      for option in SAMPLING),
    Apart("--nbest", ("-n", "--offsets", "--format=u16|u32|npy", "--shards"),
          "With --alpha, it is a single list of ids.", unless="--alpha"),
    Needs("--seed", ("--dropout", "--alpha")),
    Needs("--overlap", "--chunk"),
    Needs("--boundary", "--chunk"),
    Apart("--chunk", ("-n", "--compare", *SHOWN)),
    Apart("--chunk", ("--offsets", "--format=u16|u32|npy"), "Chunks are records of decimal ids, of text, or JSON."),
    Apart("--as-text", ("--compare", *SHOWN, "--offsets", "--format")),
    Apart("--keep", ("--compare", *SHOWN), "A view shows the first tokens."),
    Apart("--fail-if-truncated", ("--visualise",)),
    Needs("--ids", ("--visualise=tokens", "--html", "--svg"), phrase="--visualise=tokens"),
    Apart("--ids", ("--json",), "The JSON of --visualise includes the ids already."),
    Apart("--visualise=merges", ("-n", "--add-special-tokens"), "Merges are those of whole pieces of the text."),
    Needs("--step", "--visualise=merges"),
    Apart("--step", ("--json",)),
)  # fmt: skip
