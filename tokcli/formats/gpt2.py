"""GPT-2's pair of files: a vocabulary (JSON, token to id) and its merges (one pair of tokens per line, in order).

Both write bytes as the printable characters of byte_alphabet.py. The files become mergeable_ranks if the ids follow the
order of the merges, as GPT-2's do; others are refused, since their ids would not say what merges first.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from tokcli.engine.bpe.byte_alphabet import BYTE_OF
from tokcli.errors import VocabularyError
from tokcli.formats.refusals import lines_of, refuse_line, shown_text
from tokcli.formats.strict_json import check_ids, parse_json_strictly
from tokcli.formats.tiktoken import check_bytes

SPECIAL = re.compile(r"<.+>|\[.+\]", re.DOTALL)  # how a token that no merge makes has to be written


def parse_gpt2(
    vocab: bytes, merges: bytes, vocab_name: str, merges_name: str
) -> tuple[dict[bytes, int], dict[str, int]]:
    """Return the mergeable_ranks and the special tokens of a pair of files; a VocabularyError names file and line.

    An entry of the vocabulary that is neither a byte nor made by a merge is a special token, if it is written as one
    (`<...>` or `[...]`).
    """
    ids = dict(check_ids(parse_json_strictly(vocab, vocab_name), vocab_name))
    mergeable = {char: ids.pop(char) for char in BYTE_OF if char in ids}
    last = -1
    for line, left, right in merges_in(merges, merges_name):
        token = left + right
        for side in (left, right):
            if side not in mergeable:
                refuse_line(merges_name, line, f"{shown_text(side)} is neither a byte nor made by an earlier merge")
        if token in mergeable:
            refuse_line(merges_name, line, f"token {shown_text(token)} is made a second time")
        if token not in ids:
            refuse_line(merges_name, line, f"token {shown_text(token)} is not in {vocab_name}")
        rank = ids.pop(token)
        if rank <= last:
            refuse_line(
                merges_name,
                line,
                f"token {shown_text(token)} has the id {rank}, not above {last}: ids must follow merges",
            )
        mergeable[token] = last = rank
    for token in ids:
        if not SPECIAL.fullmatch(token):
            raise VocabularyError(f"no merge in {merges_name} makes the token {shown_text(token)}", where=vocab_name)
    ranks = {bytes(map(BYTE_OF.__getitem__, token)): rank for token, rank in mergeable.items()}
    check_bytes(ranks, vocab_name)
    return ranks, ids


def merges_in(data: bytes, name: str) -> Iterator[tuple[int, str, str]]:
    """Yield each merge with its line number; a first line `#version: ...`, blank lines and CRLF are accepted."""
    for number, line in enumerate(lines_of(data, name), 1):
        try:
            text = line.decode().removesuffix("\r")
        except UnicodeDecodeError:
            refuse_line(name, number, "not UTF-8")
        if not text or (number == 1 and text.startswith("#version")):
            continue
        left, _, right = text.partition(" ")
        if not left or not right or " " in right:
            refuse_line(name, number, "expected two tokens with one space between them")
        yield number, left, right
