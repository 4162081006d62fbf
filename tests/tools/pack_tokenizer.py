#!/usr/bin/env python3
"""Packs the tokenizer.json or tekken.json of an open model into tokcli/vocab, and checks that it comes out again.

    python tests/tools/pack_tokenizer.py REPOSITORY FILE

REPOSITORY is one of tokcli.registry.inside.INSIDE, which has the SHA-256 that its maker publishes; a file with another
is refused. Where its ranks are packed already, those of the file must be the same. Of deepseek-r1 and deepseek-v3.1, the
file is that of deepseek-v3, in which some added tokens are named.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
import sys
from pathlib import Path

from pack_vocab import VOCAB, pack

from tokcli.engine.bpe.byte_alphabet import BYTE_OF
from tokcli.formats.packed_tokenizer import tekken_json, tokenizer_json
from tokcli.formats.read import sources_of
from tokcli.formats.tiktoken import format_tiktoken
from tokcli.registry.inside import INSIDE, Inside

# What DeepSeek's later files say instead of V3's, whose bytes they have otherwise: names for tokens that were kept free.
_THINK = {128798: "<think>", 128799: "</think>"}
_NAMED = {
    "deepseek-r1": _THINK,
    "deepseek-v3.1": _THINK | {128796: "<｜search▁begin｜>", 128797: "<｜search▁end｜>"},
}


def main(repository: str, path: str) -> int:
    wanted, data = INSIDE[repository], _edited(Path(path).read_bytes(), INSIDE[repository].name)
    if (found := hashlib.sha256(data).hexdigest()) != wanted.sha256:
        print(f"{path}: sha256 {found}, expected {wanted.sha256}", file=sys.stderr)
        return 1
    packed, again = _packed_tekken(wanted, data) if wanted.file == "tekken.json" else _packed_tokenizer(wanted, data)
    if again != data:
        print(f"{path}: its packed form does not give the same file", file=sys.stderr)
        return 1
    for name, contents in packed.items():
        place = VOCAB / name
        if not name.endswith("template") and place.exists() and place.read_bytes() != contents:
            print(f"{name}: another vocabulary is there", file=sys.stderr)
            return 1
        place.write_bytes(contents)
        print(f"{hashlib.sha256(contents).hexdigest()}  {name}  {len(contents)} bytes")
    print("key", sources_of({wanted.file: data}).sha256)
    return 0


def _packed_tekken(wanted: Inside, data: bytes) -> tuple[dict[str, bytes], bytes]:
    """Return the packed files of a tekken.json by name, and the file that they stand for."""
    text = data.decode()
    tokens = {base64.b64decode(item["token_bytes"]): item["rank"] for item in json.loads(text)["vocab"]}
    begin = text.index('"vocab": [\n') + len('"vocab": [\n')
    end = re.compile(r"\n *\]").search(text, begin)
    assert end is not None
    indent = " " * (len(text[begin:]) - len(text[begin:].lstrip(" ")))
    mark = "@tekken-ascii" if text.isascii() else "@tekken"
    template = f"{text[:begin]}{indent}{mark}{text[end.start() :]}".encode()
    ranks = pack(tokens, hashlib.sha256(format_tiktoken(tokens)).hexdigest())
    return {f"{wanted.name}.template": template, f"{wanted.ranks}.ranks": ranks}, tekken_json(template, ranks, "")


def _packed_tokenizer(wanted: Inside, data: bytes) -> tuple[dict[str, bytes], bytes]:
    """Return the packed files of a tokenizer.json by name, and the file that they stand for."""
    model = json.loads(data)["model"]
    pairs = [pair.split(" ") if isinstance(pair, str) else pair for pair in model["merges"]]
    lefts = bytes(len(_bytes(first)) for first, _ in pairs)
    added = {token["content"] for token in json.loads(data)["added_tokens"]}
    others = [token for token in model["vocab"] if token in added and not all(char in BYTE_OF for char in token)]
    ranks = {_bytes(token): rank for token, rank in model["vocab"].items() if token not in others}
    text = data.decode()
    text = _without(text, "merges", "@pairs" if isinstance(model["merges"][0], list) else "@merges", 0)
    text = _without(text, "vocab", "@vocab", len(others))
    packed = {
        f"{wanted.name}.template": text.encode(),
        f"{wanted.ranks}.ranks": pack(ranks, hashlib.sha256(format_tiktoken(ranks)).hexdigest()),
        f"{wanted.ranks}.merges": lefts,
    }
    return packed, tokenizer_json(*packed.values(), wanted.name)


def _edited(data: bytes, name: str) -> bytes:
    """Return the file of a tokenizer that differs from the one in a package by the names of some added tokens."""
    if name not in _NAMED:
        return data
    text = data.decode()
    for number, token in _NAMED[name].items():
        free = f"<｜place▁holder▁no▁{number - 128000}｜>"
        before, _, after = text.partition(f'"content": "{free}"')
        text = f'{before}"content": "{token}"' + after.replace('"normalized": false', '"normalized": true', 1).replace(
            '"special": true', '"special": false', 1
        )
    return (text + "\n").encode()


def _bytes(token: str) -> bytes:
    return bytes(BYTE_OF[char] for char in token)


def _without(text: str, name: str, mark: str, kept: int) -> str:
    """Return the text with one line, the mark, for all lines of a member of the model but the first `kept`."""
    found = re.compile(rf'\n(?P<outer> *)"{name}": [{{\[]\n').search(text, text.index("\n", text.rindex('"model": {')))
    assert found is not None
    start = found.end()
    for _ in range(kept):
        start = text.index("\n", start) + 1
    end = re.compile(rf"\n{found['outer']}[}}\]]").search(text, start)
    assert end is not None
    indent = " " * (len(text[start:]) - len(text[start:].lstrip(" ")))
    return f"{text[:start]}{indent}{mark}{text[end.start() :]}"


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
