"""Feeds damaged vocabulary files of every format to their readers: only our own errors may come out.

    PYTHONPATH=tests python tests/fuzz/fuzz_files.py MUTANTS [SEED] [FORMAT ...]

makes so many mutants per format and prints, for each format, how many were read, how many refused, and the slowest. What
is read also encodes and decodes a text, and the answers have to be ids of the vocabulary and bytes.
"""

from __future__ import annotations

import base64
import json
import random
import re
import resource
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from gguf_files import BYTES, INT32, gguf, llama
from support import ROOT

from tokcli.engine.bpe.byte_alphabet import byte_alphabet
from tokcli.errors import TokcliError
from tokcli.formats.tiktoken import format_tiktoken
from tokcli.registry.compiled.compile import load_data
from tokcli.registry.encodings import encoding_of

FOLDER = ROOT / "tests" / "data" / "formats"
TEXT = "Hello, wörld\n 12\t<x> \ufffd\U0001f600"
SLOW_S = 10.0  # no mutant of a small file may take longer
RANKS = {bytes([byte]): byte for byte in range(256)} | {b"he": 256, b"ll": 257, b"hell": 258, b"hello": 259}
NUMBERS = [
    b"0",
    b"-1",
    b"1",
    b"255",
    b"65536",
    b"2147483647",
    b"2147483648",
    b"4294967296",
    b"9" * 30,
    b"1e999",
    b"1.5",
]

VALUES = [None, True, False, 0, -1, 1, 1 << 31, 1 << 32, 1 << 64, 0.5, -1e300, "", "a", "\u2581", "(", "a{9}{9}{9}", "\0",
          "<x>", "Sequence", "Isolated", "always", [], {}, [[]], ["a", "b"], [["a", 1]], {"a": 1}, {"type": "NFC"},
          {"Regex": "(a|b)*c"}, {"String": "a"}, {"type": "ByteLevel"}]  # fmt: skip
NAMES = [
    "type",
    "id",
    "content",
    "vocab",
    "merges",
    "normalizers",
    "pretokenizers",
    "decoders",
    "processors",
    "pattern",
]


class Outcome(NamedTuple):
    """What became of the mutants of a format; `slowest` is in seconds."""

    read: int
    refused: int
    slowest: float


def seeds() -> dict[str, list[dict[str, bytes]]]:
    """Return whole files of each format, by name; of GPT-2's format, pairs."""
    alphabet = byte_alphabet()
    vocab = json.dumps(alphabet | {"he": 256, "ll": 257, "hell": 258, "<x>": 259}).encode()
    tekken = {
        "config": {"pattern": r"\p{L}+|\s+|[^\p{L}\s]+", "default_vocab_size": 270, "default_num_special_tokens": 10},
        "vocab": [{"rank": n, "token_bytes": base64.b64encode(t).decode()} for t, n in RANKS.items()],
    }
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "x.gguf"
        files = [
            llama(path).read_bytes(),
            gguf(
                path, model="gpt2", pre="gpt-2", tokens=[*alphabet, "he", "<|end|>"], merges=["h e"],
                token_type=([1] * 257 + [3], INT32),
            ).read_bytes(),
            gguf(path, model="bert", tokens=["[UNK]", "[CLS]", "[SEP]", *BYTES, "he", "##llo"]).read_bytes(),
        ]  # fmt: skip
    return {
        "tiktoken": [{"x.tiktoken": format_tiktoken(RANKS), "x.tiktoken.json": b'{"pat_str": "\\\\w+|\\\\W+"}'}],
        "tokenizer.json": [{path.name: path.read_bytes()} for path in sorted(FOLDER.glob("*.tokenizer.json"))],
        "tekken": [{"tekken.json": json.dumps(tekken).encode()}],
        "sentencepiece": [{name: (FOLDER / name).read_bytes()} for name in ("bpe.model", "char.model")],
        "gguf": [{"x.gguf": data} for data in files],
        "minbpe": [{"x.model": b"minbpe v1\n\\p{L}+|\\s+|[^\\p{L}\\s]+\n1\n<x> 300\n104 101\n108 108\n256 257\n"}],
        "gpt2": [{"vocab.json": vocab, "merges.txt": b"#version: 0.2\nh e\nl l\nhe ll\n"}],
        "packed": [{"x.ranks": next((ROOT / "tokcli" / "vocab").glob("r50k*.ranks")).read_bytes()}],
    }


def mutant(data: bytes, other: bytes, rng: random.Random) -> bytes:
    """Return a file with one to three faults: bits, cuts, splices, repeats, numbers and marks of JSON changed."""
    made = bytearray(data)
    for _ in range(rng.choice((1, 1, 2, 3))):
        at, size = rng.randrange(len(made) + 1), rng.choice((1, 2, 4, 8, 64, 1000))
        kind = rng.randrange(10)
        if kind == 0 and made:
            made[at % len(made)] ^= 1 << rng.randrange(8)
        elif kind == 1:
            del made[at:]
        elif kind == 2:
            del made[at : at + size]
        elif kind == 3:
            made[at:at] = made[at : at + size] * rng.choice((1, 2, 50))
        elif kind == 4:
            begin = rng.randrange(len(other) + 1)
            made[at : at + size] = other[begin : begin + size]
        elif kind == 5:
            made[at : at + size] = rng.randbytes(size)
        elif kind == 6:
            made[at : at + rng.choice((4, 8))] = rng.choice((b"\xff" * 8, bytes(8), b"\x00\x00\x00\x80", b"\xff" * 4))
        elif kind == 7:
            found = list(re.finditer(rb"-?[0-9]+", made[at : at + 4000]))
            if found:
                match = rng.choice(found)
                made[at + match.start() : at + match.end()] = rng.choice(NUMBERS)
        elif kind == 8:
            made[at:at] = rng.choice((b"[" * 500, b'{"a":' * 300, b"\\ud800", b"null", b'""', b"\n", b" ", b"\0", b","))
        else:
            found = list(re.finditer(rb"true|false|null|\"[A-Za-z_]+\"", made[at : at + 4000]))
            if found:
                match = rng.choice(found)
                made[at + match.start() : at + match.end()] = rng.choice((b"true", b"null", b"1", b"[]", b"{}", b'"x"'))
    return bytes(made)


def json_mutant(document: Any, other: Any, rng: random.Random) -> bytes:
    """Return a JSON document in which one to three members are missing, repeated or something else."""
    made = json.loads(json.dumps(document))
    for _ in range(rng.choice((1, 1, 2, 3))):
        there = list(places(made))
        if not there:
            break
        holder, key = rng.choice(there)
        kind = rng.randrange(6)
        if kind == 0:
            del holder[key]
        elif kind == 1:
            from_holder, from_key = rng.choice(list(places(other)))
            holder[key] = json.loads(json.dumps(from_holder[from_key]))
        elif kind == 2 and isinstance(holder, list):
            holder.insert(key, holder[key])
        elif kind == 3 and isinstance(holder, dict):
            holder[rng.choice(NAMES)] = holder.pop(key)
        elif kind == 4 and isinstance(holder[key], (dict, list)):
            holder[key] = {rng.choice(NAMES): holder[key], "type": "Sequence"}
        else:
            holder[key] = json.loads(json.dumps(rng.choice(VALUES)))
    return json.dumps(made).encode()


def places(value: Any) -> Iterator[tuple[Any, Any]]:
    """Yield the places in a JSON value: what holds something, and the key or index. Long lists have a few each."""
    items = list(value.items() if isinstance(value, dict) else enumerate(value))
    for key, inner in items[:5] + items[-5:] if len(items) > 40 else items:
        yield value, key
        if isinstance(inner, (dict, list)) and inner:
            yield from places(inner)


def read(files: dict[str, bytes]) -> bool:
    """Read a vocabulary and use it; return whether it was read. Errors that are not ours, and wrong answers, pass."""
    try:
        encoding = encoding_of(load_data(files), "x", "x", None, None, None)
        ids = encoding.encode(TEXT, disallowed_special=())
    except TokcliError:
        return False
    try:
        assert all(0 <= number <= encoding.max_token_value for number in ids)
        assert isinstance(encoding.decode_bytes(ids), bytes)
        encoding.encode(TEXT, allowed_special="all")
    except TokcliError:
        pass
    return True


def mutants(form: list[dict[str, bytes]], rng: random.Random) -> Iterator[dict[str, bytes]]:
    """Yield files of a format, of which one is damaged."""
    whole = [data for files in form for data in files.values()]
    documents = [json.loads(data) for data in whole if data[:1] == b"{"]
    while True:
        files = dict(rng.choice(form))
        name = rng.choice(list(files))
        if documents and name.endswith(".json") and rng.random() < 0.7:
            files[name] = json_mutant(json.loads(files[name]), rng.choice(documents), rng)
        else:
            files[name] = mutant(files[name], rng.choice(whole), rng)
        if all(files.values()):
            yield files


def fuzz(form: str, count: int, seed: int, wrong: Callable[[dict[str, bytes]], None] = lambda _: None) -> Outcome:
    """Read so many mutants of a format; a foreign exception passes, after `wrong` was given the mutant."""
    reads, slowest = 0, 0.0
    source = mutants(seeds()[form], random.Random(f"{form} {seed}"))
    for _ in range(count):
        files = next(source)
        began = time.perf_counter()
        try:
            reads += read(files)
            taken = time.perf_counter() - began
            assert taken < SLOW_S, f"{taken:.1f} s"
        except BaseException:
            wrong(files)
            raise
        slowest = max(slowest, taken)
    return Outcome(reads, count - reads, slowest)


def main(count: int, seed: int = 0, *forms: str) -> None:
    """Fuzz formats, and keep what breaks one in the folder for temporary files."""

    def keep(files: dict[str, bytes]) -> None:
        folder = Path(tempfile.mkdtemp(prefix="tokcli-fuzz-"))
        for name, data in files.items():
            (folder / name).write_bytes(data)
        print(f"kept in {folder}", file=sys.stderr)

    for form in forms or seeds():
        found = fuzz(form, int(count), int(seed), keep)
        most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10
        print(
            f"{form}: {found.read} read, {found.refused} refused, slowest {found.slowest:.2f} s, {most} MiB", flush=True
        )


if __name__ == "__main__":
    main(*sys.argv[1:])  # type: ignore[arg-type]
