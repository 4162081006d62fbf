"""What other programs call what is here an option of another name, for those who type that first."""

from __future__ import annotations

_READS = ("count", "encode", "split", "train")  # texts
_TEXTS = ("count", "encode", "split")
_ALL = (*_READS, "decode", "inspect-ranks")
# options of other programs -> the commands for which people type them, and what to type instead
_OPTIONS: tuple[tuple[tuple[str, ...], tuple[str, ...], str], ...] = (
    (("--type", "--include", "--ext", "--extension", "--iglob"), _READS,
     "-g '*.py' with a folder reads only such files"),
    (("--exclude", "--ignore", "--skip"), _READS, "-g '!GLOB' with a folder leaves out what matches"),
    (("-u", "-uu", "-uuu", "--unrestricted"), _READS,
     "--no-ignore and --hidden read what .gitignore and a dot leave out"),
    (("-l", "--files-with-matches", "--lines"), ("count",), "--records lines prints the count of each line"),
    (("-w", "--words", "-c", "--bytes", "--chars"), ("count",), "wc counts words and bytes; --json has the bytes, too"),
    (("-0", "--null"), _READS, "--files0-from - reads names with NULs between them"),
    (("--truncate", "--max-tokens", "--max-length", "-n", "--limit"), ("count",),
     "--max N exits with 1 above N tokens; tokcli encode -n N --as-text cuts the text"),
    (("--fits", "--fit"), ("count",), "--max N exits with 1 if there are more than N tokens"),
    (("--chunk-size", "--chunk"), ("count",), "tokcli encode --chunk N FILE cuts into chunks"),
    (("--largest", "--biggest", "--head"), ("count",), "--top N prints the N largest"),
    (("--depth", "-d", "--level", "-L"), ("count",), "--tree N shows N levels of folders"),
    (("--messages", "--message", "--conversation"), ("count", "encode"), "--chat FILE reads a request to a chat model"),
    (("--jsonl", "--ndjson"), ("encode", "decode", "split"),
     "--records jsonl --json reads and writes an object on each line"),
    (("-p", "--prompt", "--string", "--input-text"), _TEXTS, "-t TEXT gives a text"),
    (("-f", "--file", "--input", "-i"), (*_READS, "decode"), "name the FILE without an option"),
    (("--show-tokens", "--show", "--tokens", "--color-tokens"), ("encode",), "--visualise shows the tokens"),
    (("--show-count", "--count"), ("encode",), "tokcli count prints the number of tokens"),
    (("--decode", "-d"), ("encode",), "tokcli decode turns ids into text"),
    (("--encode",), ("decode", "count"), "tokcli encode turns text into ids"),
    (("--allowed-special",), _TEXTS, "--special allow takes special tokens as such, --allow-special NAME a single one"),
    (("--no-bos", "--no-escape", "--no-parse-special"), ("encode",), "nothing is added or read as special unasked"),
    (("--tokenizer", "--vocab", "--encoding-name"), ("count", "encode", "decode", "split", "inspect-ranks"),
     "-e NAME|PATH names the tokenizer"),
    (("--ids", "--tokens"), ("decode",), "-t IDS gives the ids"),
    (("--token", "--text", "-t"), ("inspect-ranks",), "name the TOKEN without an option"),
    (("--list",), ("inspect-ranks",), "without options, the encodings are listed; --models lists the models"),
    (("--model-prefix",), ("train",), "-o FILE names what is written"),
    (("--model-type", "--character-coverage", "--hard-vocab-limit"), ("train",),
     "there is one kind of model, byte-level BPE, which covers every character"),
    (("--files", "--corpus"), ("train",), "name the FILEs of the corpus without an option"),
    (("--format", "--output-format"), ("count",), "--json, --jsonl and --csv choose the form"),
    (("--stdin",), (*_READS, "decode"), "standard input is read where no FILE is named"),
    (("--no-color", "--no-colour"), _ALL, "--color never"),
    (("--with-offsets",), ("encode",), "--offsets byte or --offsets char adds where each token is"),
    (("--context", "--max-context", "--context-window"), ("count",), "--budget --window N prints what is left of N"),
    (("--ids",), ("inspect-ranks",), "--id N looks up an id, and may be given several times"),
    (("--merges", "--num-merges"), ("train",), "--vocab-size N learns N - 256 merges"),
    (("--version", "-V"), _ALL, "type tokcli --version"),
)  # fmt: skip


def said_of(option: str, command: str) -> str:
    """Return what to type in place of an option of another program; "" where nothing is known of it.

    >>> said_of("--exclude", "count"), said_of("--max_tokens", "decode")
    ("-g '!GLOB' with a folder leaves out what matches", '')
    """
    name = option.replace("_", "-") if option.startswith("--") else option
    return next((said for names, commands, said in _OPTIONS if name in names and command in commands), "")
