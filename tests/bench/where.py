#!/usr/bin/env python3
"""Where the time goes in tiktoken, in Hugging Face's tokenizers and in tokcli: the figures of README.md.

Parts are found by leaving them out: a vocabulary in which every piece is a token leaves out merging, `encode_batch_fast`
leaves out offsets, counting leaves out the ids. Each measurement is a fresh process on one CPU; CPU time, medians.

    python tests/bench/where.py                       the tables
    python tests/bench/where.py --write               the same, into README.md
    python tests/bench/where.py --no-perf --mb 1      quicker, without sampling by `perf`
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from array import array
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

from compare import write_ranks
from huggingface import PATTERNS, spell, tokenizer, tokenizer_of
from measure import documents_of
from texts import KINDS, text_of

ENCODING = "cl100k_base"
Call = Callable[[], Any]
README = Path(__file__).with_name("README.md")


# --- what is measured: each gives a call, and the call is timed once ---------------------------------------------------


def _pieces(text: str) -> list[bytes]:
    """The distinct pieces of a text."""
    import tokcli

    return list({piece.encode(): None for piece in tokcli.get_encoding(ENCODING).split(text)})


def _all_pieces_are_tokens(text: str) -> dict[bytes, int]:
    """A vocabulary that leaves nothing to merge: all bytes, and all pieces of the text."""
    tokens = dict.fromkeys([*(bytes([byte]) for byte in range(256)), *_pieces(text)])
    return {token: rank for rank, token in enumerate(tokens)}


def _tiktoken(ranks: dict[bytes, int] | None = None, pat_str: str = "") -> Any:
    import tiktoken

    enc = tiktoken.get_encoding(ENCODING)
    if ranks or pat_str:
        ranks, pat_str = ranks or enc._mergeable_ranks, pat_str or enc._pat_str
        enc = tiktoken.Encoding("other", pat_str=pat_str, mergeable_ranks=ranks, special_tokens={})
    enc.encode_ordinary("Hello")
    return enc


def _tokcli(ranks: dict[bytes, int] | None = None) -> Any:
    import tokcli

    enc = tokcli.get_encoding(ENCODING)
    if ranks:
        enc = tokcli.Encoding("pieces", pat_str=enc._pat_str, mergeable_ranks=ranks, special_tokens={})
    enc.count("Hello")
    return enc


def _fast(enc: Any, text: str) -> Call:
    return lambda: enc.encode_batch_fast([text], add_special_tokens=False)


def list_alone(text: str) -> Call:
    return array("I", _tokcli().encode_array(text)).tolist


def tiktoken_list(text: str) -> Call:
    enc = _tiktoken()
    return lambda: enc.encode_ordinary(text)


def tiktoken_again(text: str) -> Call:
    enc = _tiktoken()
    enc.encode_ordinary(text)
    return lambda: enc.encode_ordinary(text)


def tiktoken_no_merge(text: str) -> Call:
    enc = _tiktoken(_all_pieces_are_tokens(text))
    return lambda: enc.encode_ordinary(text)


def tiktoken_plain_regex(text: str) -> Call:
    enc = _tiktoken(pat_str=PATTERNS[ENCODING].replace(r"|\s+(?!\S)", ""))
    return lambda: enc.encode_ordinary(text)


def tiktoken_documents(text: str) -> Call:
    enc, documents = _tiktoken(), documents_of(text)
    return lambda: [enc.encode_ordinary(document) for document in documents]


def hf_documents(text: str) -> Call:
    enc, documents = tokenizer_of(ENCODING), documents_of(text)
    return lambda: [enc.encode(document, add_special_tokens=False).ids for document in documents]


def tokcli_documents(text: str) -> Call:
    enc, documents = _tokcli(), documents_of(text)
    return lambda: [enc.encode_ordinary(document) for document in documents]


def hf_encode(text: str) -> Call:
    enc = tokenizer_of(ENCODING)
    return lambda: enc.encode(text, add_special_tokens=False)


def hf_fast(text: str) -> Call:
    return _fast(tokenizer_of(ENCODING), text)


def hf_again(text: str) -> Call:
    call = _fast(tokenizer_of(ENCODING), text)
    call()
    return call


def hf_no_cache(text: str) -> Call:
    enc = tokenizer_of(ENCODING)
    enc.model._resize_cache(0)
    return _fast(enc, text)


def hf_no_merge(text: str) -> Call:
    spelled = {spell(token): rank for token, rank in _all_pieces_are_tokens(text).items()}
    return _fast(tokenizer(ENCODING, spelled, []), text)


def hf_ids(text: str) -> Call:
    (made,) = hf_fast(text)()
    return lambda: made.ids


def hf_split(text: str) -> Call:
    from tokenizers import PreTokenizedString, Regex, pre_tokenizers

    split = pre_tokenizers.Split(Regex(PATTERNS[ENCODING]), "isolated")
    return lambda: split.pre_tokenize(PreTokenizedString(text))


def hf_split_and_letters(text: str) -> Call:
    from tokenizers import PreTokenizedString

    steps = tokenizer_of(ENCODING).pre_tokenizer
    return lambda: steps.pre_tokenize(PreTokenizedString(text))


def tokcli_list(text: str) -> Call:
    enc = _tokcli()
    return lambda: enc.encode_ordinary(text)


def tokcli_array(text: str) -> Call:
    enc = _tokcli()
    return lambda: enc.encode_array(text)


def tokcli_count(text: str) -> Call:
    enc = _tokcli()
    return lambda: enc.count(text)


def tokcli_again(text: str) -> Call:
    enc = _tokcli()
    enc.count(text)
    return lambda: enc.count(text)


def tokcli_no_merge(text: str) -> Call:
    enc = _tokcli(_all_pieces_are_tokens(text))
    return lambda: enc.encode_array(text)


MEASURES: dict[str, Callable[[str], Call]] = {
    f.__name__: f
    for f in (list_alone, tiktoken_list, tiktoken_again, tiktoken_no_merge, tiktoken_plain_regex, tiktoken_documents, hf_encode, hf_fast, hf_again, hf_no_cache,
              hf_no_merge, hf_ids, hf_split, hf_split_and_letters, hf_documents, tokcli_list, tokcli_array, tokcli_count, tokcli_again,
              tokcli_no_merge, tokcli_documents)
}  # fmt: skip

# What the page shows: a row is a sum of measurements, those after the minus subtracted.
ROWS: dict[str, dict[str, tuple[str, ...]]] = {
    "tiktoken": {
        "**text to `list[int]`**": ("tiktoken_list",),
        "… merging the pieces that are no token": ("tiktoken_list", "-tiktoken_no_merge"),
        "… `list[int]` of ids that are there": ("list_alone",),
        "… the rest: regex, one hash lookup a piece": ("tiktoken_no_merge", "-list_alone"),
        "the same text again": ("tiktoken_again",),
        "the text in documents of 2 kB, one call each": ("tiktoken_documents",),
        "without the look-ahead `\\s+(?!\\S)` (other ids)": ("tiktoken_plain_regex",),
    },
    "tokenizers": {
        "**text to `list[int]` by `encode(text).ids`**": ("hf_encode", "hf_ids"),
        "… offsets (`encode` less `encode_batch_fast`)": ("hf_encode", "-hf_fast"),
        "… pre-split: regex, a string object for each piece": ("hf_split",),
        "… pre-split: bytes to letters (`ByteLevel`)": ("hf_split_and_letters", "-hf_split"),
        "… merging the pieces that are no token": ("hf_fast", "-hf_no_merge"),
        "… `.ids` to `list[int]`": ("hf_ids",),
        "… the rest: lookups, a token's string, `Encoding`": ("hf_no_merge", "-hf_split_and_letters"),
        "what its cache saves (`_resize_cache(0)`)": ("hf_no_cache", "-hf_fast"),
        "the same text again, without offsets": ("hf_again",),
        "the text in documents of 2 kB, one call each": ("hf_documents",),
    },
    "tokcli": {
        "**text to `list[int]`**": ("tokcli_list",),
        "… `list[int]` from the buffer": ("tokcli_list", "-tokcli_array"),
        "… pre-split (split.cc)": ("tokcli_split",),
        "… merging the pieces that are no token": ("tokcli_array", "-tokcli_no_merge"),
        "… the rest: lookups, the cache, writing ids": ("tokcli_no_merge", "-tokcli_split"),
        "`encode_array`: ids in a buffer": ("tokcli_array",),
        "`count`": ("tokcli_count",),
        "`count` of the same text again": ("tokcli_again",),
        "the text in documents of 2 kB to `list[int]`, one call each": ("tokcli_documents",),
    },
}

# Whose samples are whose: the first that matches the library or the function's name
GROUPS: dict[str, dict[str, str]] = {
    "tiktoken_list": {
        "regex (fancy-regex, regex-automata)": r"regex|aho_corasick",
        "lookups and merging": r"byte_pair|encode_ordinary|memcmp",
        "Python's objects": r"libpython|pyo3",
        "memory (allocator, copying, the kernel)": r"libc\.so|kernel",
    },
    "hf_encode": {
        "offsets: a hash map of every byte": r"OffsetConverter|HashMap<usize, usize|RawTable<\(usize, usize\)|Sip13|hash_one::<&usize",
        "regex (Oniguruma)": r"match_at|onig|search_in_range|forward_search|_search",
        "model: lookups and merging": r"models::bpe|ahash|memcmp|hash_one::<&str",
        "pieces as `NormalizedString`, byte-level letters, `Encoding`": r"tokenizers|alloc::|core::",
        "Python's objects": r"libpython|pyo3",
        "memory (allocator, copying, the kernel)": r"libc\.so|kernel",
    },
}  # fmt: skip


# --- in the measured process -----------------------------------------------------------------------------------------


def measure(name: str, sampled: str, path: str) -> float:
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    call = MEASURES[name](Path(path).read_text("utf-8"))
    if sampled:
        perf = subprocess.Popen(
            ["perf", "record", "-q", "-e", "cpu-clock", "-F", "1999", "-o", sampled, "-p", str(os.getpid())]
        )
        time.sleep(0.5)
        end = time.perf_counter() + 4
        while time.perf_counter() < end:
            call()
        perf.send_signal(signal.SIGINT)
        perf.wait()
        return 0.0
    start = time.process_time()
    made = call()
    seconds = time.process_time() - start
    del made
    return seconds


def sample(name: str, text: Path, folder: Path, env: dict[str, str]) -> dict[str, float]:
    """The share of CPU time of each group, in percent; empty where perf cannot be used."""
    if shutil.which("perf") is None:
        return {}
    data = folder / "perf.data"
    job = [sys.executable, __file__, "--job", name, str(data), str(text)]
    if subprocess.run(job, env=env, capture_output=True).returncode != 0 or not data.exists():
        return {}
    report = ["perf", "report", "-i", str(data), "--stdio", "-g", "none", "-s", "dso,symbol", "-t", "\t"]
    shares: Counter[str] = Counter()
    for line in subprocess.run(report, capture_output=True, text=True).stdout.splitlines():
        if found := re.match(r"\s*([0-9.]+)% *\t(.*)", line):
            group = next((g for g, rule in GROUPS[name].items() if re.search(rule, found[2])), "other")
            shares[group] += float(found[1])
    return dict(shares)


def build_split(folder: Path) -> Path | None:
    """split.cc as a program; None without a compiler."""
    compiler = next(filter(None, map(shutil.which, (os.environ.get("CXX", ""), "c++", "g++", "clang++"))), None)
    if compiler is None:
        return None
    here, made = Path(__file__).parent, folder / "split"
    native = here.parent.parent / "tokcli" / "engine" / "native"
    sources = map(str, (here / "split.cc", native / "pretokenizers" / "pieces.cc", native / "base" / "processor.cc"))
    subprocess.run([compiler, "-std=c++20", "-O3", f"-I{native}", *sources, "-o", str(made)], check=True)
    return made


# --- the page --------------------------------------------------------------------------------------------------------


def page(args: argparse.Namespace, folder: Path) -> str:
    env = os.environ | {
        "TIKTOKEN_CACHE_DIR": str(folder),
        "TOKCLI_BENCH_SCRATCH": str(folder),
        "RAYON_NUM_THREADS": "1",
    }
    write_ranks(folder, ENCODING)
    paths = {kind: folder / f"{kind}.txt" for kind in KINDS}
    for kind, path in paths.items():
        path.write_text(text_of(kind, int(args.mb * 1e6)), "utf-8")
    jobs = {name: [sys.executable, __file__, "--job", name, "", "{}"] for name in MEASURES}
    if (split := build_split(folder)) is not None:
        jobs["tokcli_split"] = [str(split), "{}"]
    found: dict[tuple[str, str], list[float]] = {}
    for _ in range(args.rounds):
        for kind, path in paths.items():
            for name, job in jobs.items():
                command = [part.format(path) for part in job]
                ran = subprocess.run(command, env=env, capture_output=True, text=True, check=True)
                found.setdefault((name, kind), []).append(float(ran.stdout.split()[0]) * 1e9 / path.stat().st_size)
    took = {key: median(values) for key, values in found.items()}
    lines = [
        f"{ENCODING}, texts of {args.mb:g} MB, medians of {args.rounds}; Python {sys.version.split()[0]}, one CPU. "
        "CPU time in **milliseconds for a megabyte**; parts (…) are differences and scatter by a few percent of the whole."
    ]
    for library, rows in ROWS.items():
        lines += ["", f"| {library} | {' | '.join(KINDS)} |", "|---|" + "---:|" * len(KINDS)]
        for title, terms in rows.items():
            cells = []
            for kind in KINDS:
                parts = [
                    took.get((term.lstrip("-"), kind), float("nan")) * (-1 if term[0] == "-" else 1) for term in terms
                ]
                cells.append(f"{sum(parts):.1f}")
            lines.append(f"| {title} | {' | '.join(cells)} |")
    for name in () if args.no_perf else GROUPS:
        shares = {kind: sample(name, path, folder, env) for kind, path in paths.items()}
        lines += ["", f"| samples in `{name}`, percent | {' | '.join(KINDS)} |", "|---|" + "---:|" * len(KINDS)]
        for group in (*GROUPS[name], "other"):
            lines.append(f"| {group} | {' | '.join(f'{shares[kind].get(group, 0):.0f}' for kind in KINDS)} |")
        if not any(shares.values()):
            lines[-len(GROUPS[name]) - 4 :] = ["", f"(no samples of `{name}`: perf is not here, or not allowed)"]
    return "\n".join(lines)


def write(tables: str) -> None:
    """Puts the tables between the marks in README.md."""
    text = README.read_text("utf-8")
    begin, end = "<!-- where.py --write: begin -->\n", "<!-- where.py --write: end -->"
    before, rest = text.split(begin)
    README.write_text(before + begin + "\n" + tables + "\n\n" + end + rest.split(end)[1], "utf-8")


def main() -> None:
    if sys.argv[1:2] == ["--job"]:
        print(measure(*sys.argv[2:5]))
        return
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--mb", type=float, default=4, help="size of each text (%(default)s)")
    parser.add_argument("--no-perf", action="store_true", help="no samples of the functions")
    parser.add_argument("--write", action="store_true", help="put the tables into README.md")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        os.environ["TOKCLI_BENCH_SCRATCH"] = folder
        tables = page(args, Path(folder))
    print(tables)
    if args.write:
        write(tables)


if __name__ == "__main__":
    main()
