"""The rows of `tokcli encode`: its options, and what each cannot be combined with."""

from __future__ import annotations

import click

from tokcli.cli import options
from tokcli.cli.declare.conflicts import Excludes, Requires
from tokcli.cli.declare.numbers import NumberRange, TokenRange, WholeRange
from tokcli.cli.declare.option import Option, Rows

MAX_SHARD_TOKENS = 2**31 - 1  # lengths are int32 in Megatron's index
MOST_PATHS = 512  # SentencePiece, too, gives no more segmentations
MOST_USED = ("--text", "--encoding", "--model", "--limit", "--visualise")

SHOWN = ("--visualise", "--html", "--svg")  # how tokens are shown
NO_VIEW = ("--records", "--field", "--json", "--format", "--offsets", "--fail-if-truncated")  # of a page or a picture

_sampled = Excludes("--dask", "--chunk", "--as-text", "--compare", *SHOWN,
                 hint="Sampled ids are those of whole texts, which are drawn in order.")  # fmt: skip
_chat = (
    Excludes("-r", "--records=lines|nul", "--field", "--errors", hint="--chat reads JSON."),
    Excludes("--special", "--allow-special", "--add-special-tokens", hint="The template writes special tokens."),
    Excludes("--chunk", "--shards", "--compare", "--dask",
          hint="Render first, with --chat --as-text, to JSON Lines with --records jsonl; then encode that text."),
)  # fmt: skip
_framing = tuple(
    Option(f"--{place}pend-special", group="Special tokens", completes="special token", metavar="NAME",
           conflicts=(Excludes("--compare", *SHOWN, hint="Views show the tokens of the text."),),
           help=f"{verb} each input or record with this token.",
           more="It is there in every form of output, and counts for -n and --chunk. A control piece of a "
                f"SentencePiece model, such as {example}, is a special token here, too.")
    for place, verb, example in (("pre", "Begin", "<s>"), ("ap", "End", "</s>"))
)  # fmt: skip
_sampling = (
    Option("--dropout", group="Tokenizer", is_rare=True, type=NumberRange(min=0, max=1), metavar="P",
           conflicts=(Excludes("--nbest", "--alpha", hint="--dropout is for BPE; Unigram takes --nbest and --alpha."),
                      _sampled),
           help="Skip merges with probability P (BPE-dropout).",
           more="Each merge is skipped with probability P, from 0 to 1, so that the ids are others each time, and "
                "decode to the same text. For instance: `tokcli encode --dropout 0.1 --seed 1 corpus.txt`."),
    Option("--nbest", group="Tokenizer", is_rare=True, type=WholeRange(min=1, max=MOST_PATHS), metavar="N",
           conflicts=(_sampled, Excludes("-n", "--offsets", "--format=u16|u32|npy", "--shards",
                                      hint="With --alpha, it is a single list of ids.", unless="--alpha")),
           help="Write the N best segmentations (Unigram).",
           more=f"Each is a line, the best first; with --json they are the member nbest. N is at most {MOST_PATHS}. "
                "With --alpha, one of these N is drawn."),
    Option("--alpha", group="Tokenizer", is_rare=True, type=NumberRange(min=0), metavar="A", conflicts=(_sampled,),
           help="Draw a segmentation at random (Unigram).",
           more="It is one of all segmentations, or with --nbest of the N best, each with a probability in proportion "
                "to exp(A * its score). With A = 0 all are equally likely; the larger A is, the likelier is the best."),
    Option("--seed", group="Tokenizer", is_rare=True, type=WholeRange(min=0), metavar="N",
           conflicts=(Requires("--dropout", "--alpha"),),
           help="Draw the same ids in each run.",
           more="What --dropout and --alpha draw depends on N, the input and the options, and on nothing else."),
)  # fmt: skip
_form = (
    Option("--format", "form", group="Output", type=click.Choice(["text", "json", "u16", "u32", "npy"]), default="text",
           show_default=True, metavar="FORMAT",
           conflicts=(Excludes("--records", "--json", "--offsets", when="u16|u32|npy",
                            unless="--append-special|--prepend-special",
                            hint="A binary file holds nothing but ids; records in it need --append-special NAME, "
                                 "which ends each."),
                      Excludes("--json", "--offsets", when="u16|u32|npy", hint="A binary file holds nothing but ids.")),
           help="Write ids as text, json, u16, u32 or npy.",
           more="The choices are decimal ids in lines (text), JSON (json), little-endian integers of two or four bytes "
                "(u16, u32), and a NumPy file (npy). The form u16 is refused where the vocabulary has more than 65,536 "
                "ids."),
    Option("--offsets", group="Output", type=click.Choice(["byte", "char"]),
           help="Add where each token begins and ends.",
           more="There is a line for each token: its id, and where it begins and ends, counted from 0, in bytes of the "
                "text's UTF-8 or in characters. With --json these are the member offsets, a pair for each id."),
    Option("-n", "--limit", group="Output", called="-n", aliases=("--max-tokens", "--truncate"),
           type=TokenRange(min=0), metavar="N",
           help="Stop after N tokens.",
           more="Tokens of a template (--add-special-tokens), and those of --prepend-special and --append-special, are "
                "among the N, and are never cut off. With --records, N holds for each record. For instance, `tokcli "
                "encode -n 1000 --as-text prompt.txt` writes the text of the first 1000 tokens. 4k is 4000, 4Ki is "
                "4096."),
    Option("--keep", group="Output", type=click.Choice(["first", "last"]), default="first", show_default=True,
           conflicts=(Requires("-n"), Excludes("--compare", *SHOWN, hint="A view shows the first tokens.")),
           help="Keep the first or the last tokens of -n.",
           more="With last, the end of the text is kept, such as the end of a long conversation."),
    Option("--fail-if-truncated", group="Output", is_rare=True, is_flag=True,
           conflicts=(Requires("-n"), Excludes("--visualise")),
           help="Exit with 1 if -n cut anything off.",
           more="Without it, the exit status is 0 all the same; with --json, what was cut has the member truncated."),
    Option("--as-text", group="Output", is_flag=True,
           conflicts=(Excludes("--compare", *SHOWN, "--offsets", "--format"),),
           help="Write the text that is kept, not its ids.",
           more="This is the text that -n or --chunk keeps: no character of it is torn, and no newline is added."),
    Option("--chunk", group="Output", aliases=("--chunk-size",), type=TokenRange(min=1), metavar="N",
           conflicts=(Excludes("-n", "--compare", *SHOWN),
                      Excludes("--offsets", "--format=u16|u32|npy",
                            hint="Chunks are records of decimal ids, of text, or JSON.")),
           help="Cut the text into chunks of at most N tokens.",
           more="Each input, or with --records each record, is cut by itself. A chunk has at most N tokens when it is "
                "encoded by itself, no character is torn, and the chunks joined are the text. There is a line of ids "
                "for each chunk; with --as-text its text; with --json an object with index, text, ids, count, start "
                "and end (bytes of the text). For instance: `tokcli encode --chunk 512 --overlap 50 --json notes.md`."),
    Option("--overlap", group="Output", aliases=("--chunk-overlap",),
           type=TokenRange(min=0), default=0, metavar="K", conflicts=(Requires("--chunk"),),
           help="Repeat up to K tokens in the next chunk.",
           more="Each chunk begins with up to K of the last tokens of the one before, which are among its N tokens."),
    Option("--boundary", group="Output", metavar="WHERE", conflicts=(Requires("--chunk"),), show_default=True,
           type=click.Choice(["token", "char", "piece", "line", "sentence", "paragraph"]), default="token",
           help="End chunks after a whole line, sentence, ...",
           more="The choices are token, char, piece, line, sentence and paragraph. A part that has more than N tokens "
                "is cut inside."),
)  # fmt: skip
_shards = (
    Option("--shards", group="Output", completes="folder", metavar="DIR",
           conflicts=(Excludes("--output", "--format", "--json", "--offsets", "-n", "--chunk", "--as-text", "--compare",
                            *SHOWN, hint="Shards are binary files of whole documents in DIR."),),
           help="Write ids for training to files in DIR.",
           more="Each input, or with --records each record, is a document. Ids take two bytes where the vocabulary "
                "fits, else four. A run that was ended goes on where it was when the same command is given again. "
                "`tokcli decode DIR` reads the documents back, and `tokcli inspect-ranks --shards DIR` checks the "
                "files. A DIR that is finished, or has other files in it, is never written to. For instance: `tokcli "
                "encode --records jsonl --append-special '<|endoftext|>' --shards ids corpus.jsonl`."),
    Option("--layout", group="Output", type=click.Choice(["flat", "datatrove", "megatron", "npy", "parquet"]),
           default="flat", show_default=True, metavar="LAYOUT", conflicts=(Requires("--shards"),),
           help="Choose flat, datatrove, megatron, npy or parquet.",
           more="Shards are then laid out as these trainers and programs read them; flat is ids in .bin files, and an "
                "index.json with the ends of documents. Parquet needs pip install 'tokcli[parquet]'."),
    Option("--shard-tokens", group="Output", is_rare=True, type=TokenRange(min=1, max=MAX_SHARD_TOKENS),
           default=100_000_000, show_default="100M", metavar="N", conflicts=(Requires("--shards"),),
           help="Put at most N tokens into a shard.",
           more="A document that does not fit into the rest of a shard begins the next one; only a document that no "
                "shard holds is cut."),
    Option("--shard-of", group="Output", is_rare=True, metavar="I/N", conflicts=(Requires("--shards"),),
           help="Encode only part I of N of the input.",
           more="I is from 1 to N. Parts are dealt by bytes, in whole documents, so that the N parts hold each "
                "document once; each needs its own DIR. It is made for arrays of jobs."),
)  # fmt: skip
_views = (
    Option("--visualise", group="View", type=click.Choice(["tokens", "merges"]), is_flag=False, bare="tokens",
           aliases=("--visualize",),
           conflicts=(Excludes("--records", "--offsets", "--format", hint="The view has its own format."),
                      Excludes("-n", "--add-special-tokens", when="merges",
                            hint="Merges are those of whole pieces of the text.")),
           help="Show the tokens, or every merge, in colour.",
           more="On a terminal, tokens differ by their colours; in a pipe, there is a bar between them. A token that "
                "is part of a character is shown as its bytes. With merges, each line is a piece after one more merge. "
                "With --json, the tokens are objects."),
    Option("--ids", group="View", is_flag=True,
           conflicts=(Requires("--visualise=tokens", "--html", "--svg", hint="encode prints ids by itself.",
                            phrase="--visualise=tokens"),
                      Excludes("--json", hint="The JSON of --visualise includes the ids already.")),
           help="Show the ids under the tokens.",
           more="These are the tokens of --visualise or --svg. A page has the ids in any case."),
    Option("--svg", group="View", is_rare=True, completes="file", metavar="FILE",
           conflicts=(Excludes(*NO_VIEW, "--step", "--output", hint="The picture has its own format."),
                      Excludes("--visualise=merges",
                            hint="The picture shows tokens; --html has the merges of each, too.")),
           help="Write the coloured tokens to FILE as a picture."),
    Option("--step", group="View", is_rare=True, is_flag=True,
           conflicts=(Requires("--visualise=merges"), Excludes("--json")),
           help="Wait for a key after each merge.",
           more="Any key shows the next merge, and q quits. It needs a terminal."),
    Option("--compare", group="View", completes="encodings", metavar="E1,E2,...",
           conflicts=(Excludes("--encoding", "--model", "--pattern", hint="--compare names the encodings itself."),
                      Excludes("-r", "--records", "--offsets", "-n", "--format", "--fail-if-truncated",
                            "--add-special-tokens", "--visualise", "--step", "--ids", "--svg")),
           help="Show the text under several encodings.",
           more="The text is shown once for each encoding, with its tokens, in columns that are aligned; below, there "
                "is how many tokens each takes, and the difference to the first. E1 is a name or a file, as for -e. "
                "For instance: `tokcli encode --compare o200k_base,cl100k_base -t 'hello world'`."),
    options.takes_html(
        Excludes(*NO_VIEW, "--step", "--output", hint="The page has its own format."),
        Excludes("--svg", hint="Write one after the other."),
    ),
    Option("--no-box", group="View", is_rare=True, is_flag=True, conflicts=(Requires("--html"), Excludes("--compare")),
           help="Leave the box to type in out of the page.",
           more="What is typed there is split and merged in the browser, with the same ids. For that, the page holds "
                "the vocabulary, which takes 0.3 MB (gpt2) to 1.4 MB (o200k_base). Tokenizers that ranks and a pattern "
                "do not express, such as SentencePiece's, have no box."),
)  # fmt: skip

declared: Rows = (
    *options.takes_files,
    *options.takes_folders,
    *options.takes_encoding(),
    *options.takes_text(
        "error for ids",
        "By default it is an error where only ids are asked for, as in tiktoken, and text in all other cases, with a "
        "note that counts them.",
    ),
    *options.takes_records("An answer has the member ids, and with --offsets the member offsets."),
    Option("--chat", group="Input", is_flag=True, conflicts=_chat,
           help="Encode requests to chat models, in JSON.",
           more="A request is a list of messages, or an object with messages, tools and documents, as APIs take them. "
                "The chat template of the tokenizer, which is part of its folder, repository or GGUF file, makes the "
                "text of it; special tokens in messages are special tokens, as in transformers. This needs pip install "
                "'tokcli[chat]'."),
    *options.takes_template,
    *_form,
    *_shards,
    *_framing,
    options.takes_cluster(Requires("--shards"), Excludes("--text")),
    *_sampling,
    *_views,
    options.takes_output(),
    *options.common,
)  # fmt: skip
