"""minbpe's .model files, version 1: a pattern, special tokens, and pairs of ids; the first pair makes the id 256."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from tokcli.engine.bpe.ranks import ranks_of_pairs
from tokcli.engine.pretokenizers.pretokenizer import PreTokenizer
from tokcli.engine.spec.added_token import all_special
from tokcli.engine.spec.models import BYTES, NumberedPairs
from tokcli.engine.spec.of_ranks import spec_of_ranks
from tokcli.engine.spec.spec import TokenizerSpec
from tokcli.engine.spec.splitters import PatStr
from tokcli.errors import VocabularyError
from tokcli.formats.limits import MAX_MADE_BYTES, MAX_RANK, MAX_TOKEN_BYTES, MAX_TOKENS
from tokcli.formats.refusals import lines_of, refuse_line, shown_text

VERSION = b"minbpe v1"
_PAIR = re.compile(rb"([0-9]{1,10}) ([0-9]{1,10})")
_SPECIAL = re.compile(r"(\S+)\s+([0-9]{1,10})", re.ASCII)


def parse_minbpe(data: bytes, name: str) -> TokenizerSpec:
    """Return the model in a file, as ranks where they express all of it; a VocabularyError names the file and line."""
    lines = lines_of(data, name)
    if lines[0].rstrip(b"\r") != VERSION:
        refuse_line(name, 1, f"expected {VERSION.decode()!r}")
    if len(lines) < 3:
        refuse_line(name, len(lines), "the file ends before the pattern and the number of special tokens")
    pattern = _text(lines[1], name, 2).strip()
    count = lines[2].strip()
    if not count.isdigit() or len(count) > 7 or int(count) > len(lines) - 3:
        refuse_line(name, 3, "expected the number of special tokens that follow")
    special_tokens: dict[str, int] = {}
    first_merge = 3 + int(count)
    for number, line in enumerate(lines[3:first_merge], 4):
        match = _SPECIAL.fullmatch(_text(line, name, number).strip())
        if match is None or int(match[2]) > MAX_RANK:
            refuse_line(name, number, "expected a special token and its id")
        if match[1] in special_tokens:
            refuse_line(name, number, f"special token {shown_text(match[1])} occurs twice")
        special_tokens[match[1]] = int(match[2])
    pairs = _read_pairs(lines[first_merge:], first_merge + 1, name)
    is_merge = any(id < BYTES + len(pairs) for id in special_tokens.values())
    if is_merge or len(set(special_tokens.values())) != len(special_tokens):
        raise VocabularyError("a special token has the id of another token", where=name)
    if pattern and (ranks := ranks_of_pairs(pairs)) is not None:
        return spec_of_ranks(ranks, special_tokens, pattern)
    if pattern:
        PreTokenizer(pattern)  # a pattern that does not compile is refused here, where its file is known
    return spec_of_pairs(pairs, special_tokens, pattern)


def spec_of_pairs(
    pairs: Sequence[tuple[int, int]], special_tokens: Mapping[str, int], pattern: str | None
) -> TokenizerSpec:
    """Return the tokenizer of pairs of ids; without a pattern, a text is one piece."""
    splitter = (PatStr(pattern),) if pattern else ()
    return TokenizerSpec(NumberedPairs(pairs), all_special(special_tokens), splitter=splitter)


def _read_pairs(lines: list[bytes], first: int, name: str) -> list[tuple[int, int]]:
    """Return the pairs of ids in some lines, the first of which is line `first` of the file."""
    pairs: list[tuple[int, int]] = []
    sizes, made = [1] * BYTES, 0
    seen: dict[tuple[int, int], int] = {}
    for number, line in enumerate(lines, first):
        if not line.strip():
            continue
        match = _PAIR.fullmatch(line.rstrip(b"\r"))
        if match is None:
            refuse_line(name, number, "expected two ids with one space between them")
        pair = int(match[1]), int(match[2])
        if max(pair) >= len(sizes):
            refuse_line(name, number, f"id {max(pair)} is not made by an earlier line")
        if pair in seen:
            refuse_line(name, number, f"the pair repeats line {seen[pair]}")
        if len(pairs) == MAX_TOKENS:
            refuse_line(name, number, f"more than {MAX_TOKENS} merges, the most that are read")
        size = sizes[pair[0]] + sizes[pair[1]]
        if size > MAX_TOKEN_BYTES:
            refuse_line(name, number, f"a token of {size} bytes; at most {MAX_TOKEN_BYTES} are allowed")
        made += size
        if made > MAX_MADE_BYTES:
            refuse_line(name, number, f"tokens of {made} bytes together; at most {MAX_MADE_BYTES} are made")
        seen[pair] = number
        pairs.append(pair)
        sizes.append(size)
    return pairs


def _text(line: bytes, name: str, number: int) -> str:
    try:
        return line.decode()
    except UnicodeDecodeError:
        refuse_line(name, number, "not UTF-8")
