#!/usr/bin/env python3
"""tokcli beside the tokenizers one can install, in one run: `pip install '.[bench]'`, then this file.

Every figure is the median of fresh processes, one for each measurement, the libraries in turn; the clock runs while an
operation runs, without import and loading, which `load` shows. Texts come from this machine (texts.py) or from files that
you name. Where tiktoken is here, everybody's ids are compared with its ids. What is not installed, or has no such
operation, is said.

    python tests/bench/compare.py                                     half an hour
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
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any

HERE = Path(__file__).resolve().parent


class Figure(Enum):
    """What a table shows of the seconds that several processes took."""

    RATE = "MB/s"
    TIME = "ms"
    SPREAD = "slowest / fastest"


@dataclass(frozen=True)
class Operation:
    title: str
    figure: Figure = Figure.RATE
    least_rounds: int = 1


OPERATIONS = {
    "array": Operation("first pass over a text, ids in a buffer, one thread"),
    "list": Operation("ids as list[int], one thread"),
    "count": Operation("number of ids, one thread"),
    "batch": Operation("documents of about 2 kB to list[list[int]], two threads, wall time"),
    "decode": Operation("list[int] to str, one thread"),
    "again": Operation("second pass over the same text, ids in a buffer, one thread"),
    "documents": Operation("second pass over documents of about 2 kB, a call for each, ids in a buffer, one thread"),
    "append": Operation(
        "a text of 1 MB, encoded anew each time that it has grown by 100 bytes, one thread", Figure.TIME
    ),
    "steady": Operation("one text of --steady-mb megabytes made of all texts, ids in a buffer, one thread"),
    "spread": Operation("first pass, ids in a buffer, in five processes or more", Figure.SPREAD, 5),
    "decode-spread": Operation("list[int] to str, in five processes or more", Figure.SPREAD, 5),
    "load": Operation("import, and what comes before the first ids", Figure.TIME),
    "cold": Operation("a whole process that counts the tokens of 1 kB, wall time", Figure.TIME),
}
PEERS = ("tokcli", "tiktoken", "tokenizers", "gigatoken", "fastokens", "toktok", "quicktok", "splintr", "rs_bpe", "snaptokens",
         "tuetoken", "basetenkenizer")  # fmt: skip
ENCODINGS = ("r50k_base", "cl100k_base", "o200k_base")
COLD = {
    "tokcli": [str(Path(sys.executable).with_name("tokcli")), "count", "-e", "{encoding}", "{text}"],
    "import click": [sys.executable, "-c", "import click"],
    "tiktoken": [sys.executable, "-c", "import tiktoken; print(len(tiktoken.get_encoding('{encoding}')"
                 ".encode_ordinary(open('{text}').read())))"],
    "rs_bpe": [sys.executable, "-c", "from rs_bpe.bpe import openai; print(openai.{encoding}()"
               ".count(open('{text}').read()))"],
}  # fmt: skip


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


def inputs_of(operation: str, inputs: dict[str, Path], folder: Path, steady_mb: float) -> dict[str, Path]:
    """The texts of an operation: the given ones, or what is made of them."""
    first = next(iter(inputs.values()))
    if operation == "load":
        return {"any text": first}
    if operation == "cold":
        prompt = folder / "prompt.txt"
        prompt.write_text(first.read_text("utf-8")[:1000], "utf-8")
        return {"1 kB": prompt}
    if operation == "steady":
        import texts

        path = folder / "steady.txt"
        path.write_text(texts.long_text([p.read_text("utf-8") for p in inputs.values()], int(steady_mb * 1e6)), "utf-8")
        return {f"{steady_mb:g} MB": path}
    return inputs


def figure_of(operation: Operation, results: list[dict[str, Any]], megabytes: float) -> str:
    """The figure of a cell; `inf` or 0 where one of its processes failed."""
    seconds = [result.get("seconds", float("inf")) for result in results]
    if operation.figure is Figure.SPREAD:
        return f"{max(seconds) / min(seconds):.2f}"
    return f"{megabytes / median(seconds) if operation.figure is Figure.RATE else median(seconds) * 1e3:.1f}"


def show(name: str, rows: dict[str, dict[str, list[dict[str, Any]]]], megabytes: dict[str, float]) -> None:
    """A table: a row for each text, a column for each library; what is missing stands below it."""
    operation = OPERATIONS[name]
    print(f"\n### {name}: {operation.title}, {operation.figure.value}\n")
    names = list(dict.fromkeys(name for row in rows.values() for name, found in row.items() if "seconds" in found[0]))
    missing = {name: found[0]["missing"] for row in rows.values() for name, found in row.items() if name not in names}
    print("| |", " | ".join(names), "|\n|---|", "---:|" * len(names), sep="")
    for text, row in rows.items():
        cells = []
        for peer in names:
            wrong = {r["digest"] for r in row[peer]} != {row["tiktoken"][0].get("digest", "")}
            checked = "tiktoken" in names and peer != "import click"
            cells.append(figure_of(operation, row[peer], megabytes[text]) + " WRONG" * (wrong and checked))
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
        given = inputs_of(operation, inputs, folder, args.steady_mb)
        names = [*COLD] if operation == "cold" else args.peers
        rows: dict[str, dict[str, list[dict[str, Any]]]] = {
            text: {name: [] for name in names if name in args.peers or name == "import click"} for text in given
        }
        for _ in range(max(args.rounds, OPERATIONS[operation].least_rounds)):
            for text, row in rows.items():
                for peer, results in row.items():
                    if operation == "cold":
                        results.append(run_cold(peer, args.encoding, given[text], env))
                        continue
                    job = {"operation": operation, "peer": peer, "encoding": args.encoding, "folder": str(folder)}
                    results.append(run_job(job | {"text": str(given[text])}, env))
        for row in rows.values():
            row.setdefault("tiktoken", [{"missing": "not asked for"}])
        show(operation, rows, {text: path.stat().st_size / 1e6 for text, path in given.items()})


def main() -> None:
    if sys.argv[1:2] == ["--job"]:
        sys.path.insert(0, str(HERE))
        from measure import measure

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
    parser.add_argument("--steady-mb", type=float, default=128, help="size of the text of `steady` (%(default)s)")
    args = parser.parse_args()
    args.operations = args.operations or list(OPERATIONS)
    if unknown := set(args.operations) - set(OPERATIONS):
        parser.error(f"no such operation: {', '.join(sorted(unknown))} (there are {', '.join(OPERATIONS)})")
    sys.path.insert(0, str(HERE))
    with tempfile.TemporaryDirectory() as folder:
        compare(args, Path(folder))


if __name__ == "__main__":
    main()
