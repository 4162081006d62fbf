"""minbpe's .model files, version 1: a pattern, special tokens, and pairs of ids, the first of which makes id 256."""

from __future__ import annotations

import re
from typing import NoReturn

from tokcli.engine.minbpe import BYTES, MinBpe
from tokcli.engine.ranked import ranks_of_pairs
from tokcli.errors import VocabularyError
from tokcli.formats.limits import MAX_RANK, MAX_TOKEN_BYTES, MAX_TOKENS

VERSION = b"minbpe v1"
_PAIR = re.compile(rb"([0-9]{1,10}) ([0-9]{1,10})")
_SPECIAL = re.compile(r"(\S+)\s+([0-9]{1,10})", re.ASCII)
_SHOWN = 40


def parse_minbpe(data: bytes, name: str) -> MinBpe | tuple[dict[bytes, int], dict[str, int], str]:
    """The model in a file; where ranks say all of it, (mergeable_ranks, special tokens, pattern) instead.

    VocabularyError, naming file and line, for anything else.
    """
    lines = data.split(b"\n")
    if lines[0].rstrip(b"\r") != VERSION:
        _fail(name, 1, f"expected {VERSION.decode()!r}")
    if len(lines) < 3:
        _fail(name, len(lines), "cut off: a pattern and a number of special tokens are wanted")
    pattern = _text(lines[1], name, 2).strip()
    count = lines[2].strip()
    if not count.isdigit() or len(count) > 7 or int(count) > len(lines) - 3:
        _fail(name, 3, "expected the number of special tokens that follow")
    special_tokens: dict[str, int] = {}
    first_merge = 3 + int(count)
    for number, line in enumerate(lines[3:first_merge], 4):
        match = _SPECIAL.fullmatch(_text(line, name, number).strip())
        if match is None or int(match[2]) > MAX_RANK:
            _fail(name, number, "expected a special token and its id")
        if match[1] in special_tokens:
            _fail(name, number, f"special token {match[1][:_SHOWN]!r} stands in it twice")
        special_tokens[match[1]] = int(match[2])
    pairs = _read_pairs(lines[first_merge:], first_merge + 1, name)
    taken = {BYTES + len(pairs) > number for number in special_tokens.values()}
    if True in taken or len(set(special_tokens.values())) != len(special_tokens):
        raise VocabularyError(f"{name}: a special token has the id of another token")
    if pattern and (ranks := ranks_of_pairs(pairs)) is not None:
        return ranks, special_tokens, pattern
    return MinBpe(pairs, special_tokens, pattern or None)


def _read_pairs(lines: list[bytes], first: int, name: str) -> list[tuple[int, int]]:
    pairs: list[tuple[int, int]] = []
    sizes = [1] * BYTES
    seen: dict[tuple[int, int], int] = {}
    for number, line in enumerate(lines, first):
        if not line.strip():
            continue
        match = _PAIR.fullmatch(line.rstrip(b"\r"))
        if match is None:
            _fail(name, number, "expected two ids and one space between them")
        pair = int(match[1]), int(match[2])
        if max(pair) >= len(sizes):
            _fail(name, number, f"id {max(pair)} is not made by a line before")
        if pair in seen:
            _fail(name, number, f"the pair repeats line {seen[pair]}")
        if len(pairs) == MAX_TOKENS:
            _fail(name, number, f"more than the {MAX_TOKENS} merges that are read")
        size = sizes[pair[0]] + sizes[pair[1]]
        if size > MAX_TOKEN_BYTES:
            _fail(name, number, f"a token of {size} bytes; at most {MAX_TOKEN_BYTES} are read")
        seen[pair] = number
        pairs.append(pair)
        sizes.append(size)
    return pairs


def _text(line: bytes, name: str, number: int) -> str:
    try:
        return line.decode()
    except UnicodeDecodeError:
        _fail(name, number, "not UTF-8")


def _fail(name: str, line: int, what: str) -> NoReturn:
    raise VocabularyError(f"{name}:{line}: {what}")
