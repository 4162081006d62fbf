#!/usr/bin/env python3
"""tokcli beside the tokenizers one can install, in one run: `pip install '.[bench]'`, then this file.

Every figure is the median of fresh processes, one for each measurement, the libraries in turn; the clock runs while an
operation runs, without import and loading, which `load` shows. Texts come from this machine (texts.py) or from files that
you name. Where tiktoken is here, everybody's ids are compared with its ids. What is not installed, or has no such
operation, is said.

    python tests/bench/compare.py                                     some ten minutes
    python tests/bench/compare.py array count --text book.txt --encoding o200k_base --rounds 5
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import subprocess
import sys
import tempfile
from array import array
from pathlib import Path
from statistics import median
from time import perf_counter, process_time
from typing import Any

HERE = Path(__file__).resolve().parent
OPERATIONS = {
    "array": "first pass over a text, ids in a buffer, one thread, MB/s",
    "list": "ids as list[int], one thread, MB/s",
    "count": "number of ids, one thread, MB/s",
    "batch": "documents of about 2 kB to list[list[int]], two threads, MB/s of wall time",
    "decode": "list[int] to str, one thread, MB/s",
    "load": "import, and what comes before the first ids, ms",
    "cold": "a whole process that counts the tokens of 1 kB, wall ms",
}
PEERS = ("tokcli", "tiktoken", "tokenizers", "gigatoken", "fastokens", "toktok", "quicktok", "splintr", "rs_bpe")
ENCODINGS = ("r50k_base", "cl100k_base", "o200k_base")
DOCUMENT_CHARS = 2000
COLD = {
    "tokcli": [str(Path(sys.executable).with_name("tokcli")), "count", "-e", "{encoding}", "{text}"],
    "import click": [sys.executable, "-c", "import click"],
    "tiktoken": [sys.executable, "-c", "import tiktoken; print(len(tiktoken.get_encoding('{encoding}')"
                 ".encode_ordinary(open('{text}').read())))"],
    "rs_bpe": [sys.executable, "-c", "from rs_bpe.bpe import openai; print(openai.{encoding}()"
               ".count(open('{text}').read()))"],
}  # fmt: skip


# --- in the measured process -----------------------------------------------------------------------------------------


def documents_of(text: str) -> list[str]:
    """A text cut at newlines into documents of a little more than DOCUMENT_CHARS."""
    documents, start = [], 0
    while start < len(text):
        end = text.find("\n", start + DOCUMENT_CHARS) + 1 or len(text)
        documents.append(text[start:end])
        start = end
    return documents


def digest_of(ids: Any) -> str:
    """What equal ids have in common, in whatever form they come."""
    if isinstance(ids, list) and ids and isinstance(ids[0], list):
        return digest_of([i for document in ids for i in (*document, len(document))])
    if not isinstance(ids, bytes):
        ids = array("I", ids).tobytes() if isinstance(ids, list) else memoryview(ids).cast("B").tobytes()
    return hashlib.sha256(ids).hexdigest()


def measure(job: dict[str, str]) -> dict[str, Any]:
    """One operation of one library, once; seconds, and a digest of what it gave."""
    import peers

    operation = job["operation"]
    if operation != "batch" and hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    start = perf_counter()
    try:
        known = peers.PEERS[job["peer"]](job["encoding"], job["folder"])
    except (ModuleNotFoundError, KeyError, AttributeError) as error:
        return {"missing": "not installed" if isinstance(error, ModuleNotFoundError) else "no such encoding"}
    if operation not in known and operation != "load":
        return {"missing": "no such operation"}
    word: Any = {"batch": ["Hello", "world"], "decode": [0]}.get(operation, "Hello")
    known.get(operation, known["list"])(word)  # what is made when it is first needed belongs to loading
    loaded = perf_counter() - start
    if operation == "load":
        return {"seconds": loaded, "digest": ""}
    text = Path(job["text"]).read_text("utf-8")
    given: Any = documents_of(text) if operation == "batch" else text
    if operation == "decode":
        given = known["list"](text)
    wall, cpu = perf_counter(), process_time()
    answer = known[operation](given)
    wall, cpu = perf_counter() - wall, process_time() - cpu
    digest = (
        str(answer) if operation == "count" else str(answer == text) if operation == "decode" else digest_of(answer)
    )
    return {"seconds": wall if operation == "batch" else cpu, "digest": digest}


# --- around it -------------------------------------------------------------------------------------------------------


def run_job(job: dict[str, str], env: dict[str, str]) -> dict[str, Any]:
    ran = subprocess.run(
        [sys.executable, "-P", __file__, "--job", json.dumps(job)], env=env, capture_output=True, text=True, timeout=900
    )
    if ran.returncode != 0:
        return {"missing": f"failed: {(ran.stderr.strip().splitlines() or ['?'])[-1][:90]}"}
    result: dict[str, Any] = json.loads(ran.stdout.splitlines()[-1])
    return result


def run_cold(peer: str, encoding: str, text: Path, env: dict[str, str]) -> dict[str, Any]:
    command = [part.format(encoding=encoding, text=text) for part in COLD[peer]]
    start = perf_counter()
    ran = subprocess.run(command, env=env, capture_output=True, text=True, timeout=60)
    seconds = perf_counter() - start
    return {"seconds": seconds, "digest": ran.stdout.strip()} if ran.returncode == 0 else {"missing": "not installed"}


def write_ranks(folder: Path, encoding: str) -> None:
    """The published .tiktoken file, from the package's ranks: for peers that read it, and for tiktoken's cache."""
    import tokcli
    from tokcli.formats.tiktoken import format_tiktoken
    from tokcli.registry.catalog import CATALOG

    data = format_tiktoken(tokcli.get_encoding(encoding)._mergeable_ranks)
    source = CATALOG[encoding].sources[0]
    assert hashlib.sha256(data).hexdigest() == source.sha256
    (folder / f"{encoding}.tiktoken").write_bytes(data)
    (folder / hashlib.sha1(source.url.encode()).hexdigest()).write_bytes(data)


def texts(args: argparse.Namespace, folder: Path) -> dict[str, Path]:
    if args.text:
        return {path.name: path for path in args.text}
    import texts

    found = {kind: folder / f"{kind}.txt" for kind in texts.KINDS}
    for kind, path in found.items():
        path.write_text(texts.text_of(kind, int(args.mb * 1e6)), "utf-8")
    return found


def show(title: str, rows: dict[str, dict[str, list[dict[str, Any]]]], rate: dict[str, float], digits: int) -> None:
    """A table: a row for each text, a column for each library; what is missing stands below it."""
    print(f"\n### {title}\n")
    names = list(dict.fromkeys(name for row in rows.values() for name, found in row.items() if "seconds" in found[0]))
    missing = {name: found[0]["missing"] for row in rows.values() for name, found in row.items() if name not in names}
    print("| |", " | ".join(names), "|\n|---|", "---:|" * len(names), sep="")
    for text, row in rows.items():
        cells = []
        for name in names:
            figure = median(result.get("seconds", float("inf")) for result in row[name])
            wrong = {r["digest"] for r in row[name]} != {row["tiktoken"][0].get("digest", "")}
            checked = "tiktoken" in names and name != "import click"
            cells.append(
                f"{rate[text] / figure if rate[text] > 0 else figure * 1e3:.{digits}f}" + " WRONG" * (wrong and checked)
            )
        print(f"| {text} |", " | ".join(cells), "|")
    if missing:
        print("\n" + "; ".join(f"{name}: {why}" for name, why in missing.items()) + ".")
    if "tiktoken" not in names:
        print("\nWithout tiktoken the ids were not checked.")


def compare(args: argparse.Namespace, folder: Path) -> None:
    from importlib.metadata import PackageNotFoundError, version

    def version_of(peer: str) -> str:
        for name in (peer, f"{peer}-rs", f"{peer}-v1"):
            try:
                return f"{name} {version(name)}"
            except PackageNotFoundError:
                continue
        return f"{peer} not installed"

    env = os.environ | {"TIKTOKEN_CACHE_DIR": str(folder), "TOKCLI_BENCH_SCRATCH": str(folder), "TOKCLI_OFFLINE": "1"}
    os.environ["TOKCLI_BENCH_SCRATCH"] = str(folder)
    write_ranks(folder, args.encoding)
    inputs = texts(args, folder)
    print(f"# {args.encoding}, {args.rounds} rounds, Python {sys.version.split()[0]}, {os.cpu_count()} CPUs")
    print(
        "\n" + ", ".join(map(version_of, args.peers)),
        *(f"\n{n}: {p.stat().st_size / 1e6:.1f} MB" for n, p in inputs.items()),
    )
    for operation in args.operations:
        if operation == "cold":
            prompt = folder / "prompt.txt"
            prompt.write_text(next(iter(inputs.values())).read_text("utf-8")[:1000], "utf-8")
            jobs = {"1 kB": {name: [] for name in COLD if name in args.peers or name == "import click"}}
        else:
            jobs = {
                name: {peer: [] for peer in args.peers} for name in (["any text"] if operation == "load" else inputs)
            }
        for _ in range(args.rounds):
            for name, row in jobs.items():
                for peer, results in row.items():
                    if operation == "cold":
                        results.append(run_cold(peer, args.encoding, prompt, env))
                        continue
                    job = {"operation": operation, "peer": peer, "encoding": args.encoding, "folder": str(folder)}
                    results.append(run_job(job | {"text": str(inputs.get(name, ""))}, env))
        rate = {name: inputs[name].stat().st_size / 1e6 if name in inputs else 0 for name in jobs}
        for row in jobs.values():
            row.setdefault("tiktoken", [{"missing": "not asked for"}])
        show(f"{operation}: {OPERATIONS[operation]}", jobs, rate, 1)


def main() -> None:
    if sys.argv[1:2] == ["--job"]:
        sys.path.insert(0, str(HERE))
        print(json.dumps(measure(json.loads(sys.argv[2]))))
        return
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "operations", nargs="*", metavar="OPERATION", help=f"of {', '.join(OPERATIONS)}; all by default"
    )
    parser.add_argument("--text", type=Path, nargs="+", metavar="FILE", help="texts (UTF-8) instead of this machine's")
    parser.add_argument("--encoding", choices=ENCODINGS, default="cl100k_base")
    parser.add_argument("--peers", nargs="+", choices=PEERS, default=PEERS)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--mb", type=float, default=4, help="size of this machine's texts (%(default)s)")
    args = parser.parse_args()
    args.operations = args.operations or list(OPERATIONS)
    if unknown := set(args.operations) - set(OPERATIONS):
        parser.error(f"no such operation: {', '.join(sorted(unknown))} (there are {', '.join(OPERATIONS)})")
    sys.path.insert(0, str(HERE))
    with tempfile.TemporaryDirectory() as folder:
        compare(args, Path(folder))


if __name__ == "__main__":
    main()
