"""Ranks and merges in the formats of other programs: GPT-2's pair and minbpe's two files.

tokenizer_json.py has Hugging Face's. Each file gives, in the program that reads it, the ids of the ranks;
VocabularyError is raised where that is impossible.
"""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

from tokcli.engine.bpe.bpe import parents
from tokcli.engine.bpe.byte_alphabet import byte_alphabet
from tokcli.engine.pretokenizers.pretokenizer import ALL
from tokcli.errors import VocabularyError

_CHARACTERS = {byte: char for char, byte in byte_alphabet().items()}


class ExportVocabulary(NamedTuple):
    """A vocabulary to write, learnt or read. `merges` are (left, right), in the order of the tokens that they make.

    `unmade` are tokens beside the ranks: a piece that equals one becomes that token if `ignore_merges`, and no piece
    does otherwise. `normalizer` is NFC, NFD, NFKC or NFKD. `not_special` names those of `special_tokens` that are found
    in any text, as added tokens that are not special.
    """

    mergeable_ranks: Mapping[bytes, int]
    merges: Sequence[tuple[bytes, bytes]]
    pat_str: str
    special_tokens: Mapping[str, int]
    unmade: Mapping[bytes, int] = MappingProxyType({})
    ignore_merges: bool = False
    normalizer: str | None = None
    not_special: frozenset[str] = frozenset()


def recover_merges(mergeable_ranks: Mapping[bytes, int]) -> list[tuple[bytes, bytes]]:
    """Return the merges that ranks imply, as minbpe's `recover_merges` finds them.

    Raise VocabularyError for a token that no merge makes.

    >>> recover_merges({b"a": 0, b"b": 1, b"c": 2, b"ab": 3, b"abc": 4})
    [(b'a', b'b'), (b'ab', b'c')]
    """
    tokens = {rank: token for token, rank in mergeable_ranks.items()}
    merges = []
    for _, token in sorted(tokens.items()):
        if len(token) < 2:
            continue
        pair = parents(mergeable_ranks, token)
        if pair is None:
            raise VocabularyError(f"no merge makes the token {token[:40]!r}", "Only .tiktoken files can hold that.")
        merges.append((tokens[pair[0]], tokens[pair[1]]))
    return merges


def format_gpt2(made: ExportVocabulary) -> tuple[bytes, bytes]:
    """Return the contents of vocab.json and merges.txt; raise VocabularyError if they cannot hold the vocabulary."""
    vocab = vocabulary(made)
    for token, id in made.special_tokens.items():
        if vocab.setdefault(token, id) != id:
            raise VocabularyError(f"special token {token!r} is also how GPT-2's files write a token of the text")
    lines = [f"{written(left)} {written(right)}\n" for left, right in made.merges]
    return json.dumps(vocab, ensure_ascii=False).encode(), "".join(["#version: 0.2\n", *lines]).encode()


def format_minbpe(made: ExportVocabulary) -> tuple[bytes, bytes]:
    """Return the contents of .model (version 1) and of .vocab, which is for people.

    Raise VocabularyError if .model cannot hold the vocabulary.
    """
    tokens = {rank: token for token, rank in made.mergeable_ranks.items()}
    if any(tokens.get(value) != bytes([value]) for value in range(256)):
        raise VocabularyError(
            "minbpe's .model has each byte at its own value, and here the bytes have another order",
            "GPT-4's order cannot be saved by minbpe either; write a .tiktoken file.",
        )
    if sorted(tokens) != list(range(len(tokens))):
        raise VocabularyError("minbpe's .model holds only ids without gaps")
    for name in made.special_tokens:
        if len(name.split()) != 1 or name.strip() != name:
            raise VocabularyError(f"special token {name!r}: minbpe's .model holds only names without white space")
    pattern = "" if made.pat_str == ALL else made.pat_str
    if "\n" in pattern or pattern != pattern.strip():
        raise VocabularyError("minbpe's .model holds only a pattern of one line, without white space at its ends")
    head = ["minbpe v1", pattern, str(len(made.special_tokens))]
    special = [f"{name} {id}" for name, id in made.special_tokens.items()]
    ranks = made.mergeable_ranks
    merges = [f"{ranks[left]} {ranks[right]}" for left, right in made.merges]
    parts = {left + right: (left, right) for left, right in made.merges}
    rows = []
    for rank in range(len(tokens)):
        token = tokens[rank]
        made_of = f"[{_rendered(parts[token][0])}][{_rendered(parts[token][1])}] -> " if token in parts else ""
        rows.append(f"{made_of}[{_rendered(token)}] {rank}\n")
    rows += [f"[{_rendered(name.encode())}] {id}\n" for name, id in made.special_tokens.items()]
    return "".join(f"{line}\n" for line in [*head, *special, *merges]).encode(), "".join(rows).encode()


def vocabulary(made: ExportVocabulary) -> dict[str, int]:
    """Return the tokens as GPT-2's files write them, with their ids, in the order of these."""
    ranks = {**made.mergeable_ranks, **made.unmade}
    return {written(token): ranks[token] for token in sorted(ranks, key=ranks.__getitem__)}


def written(token: bytes) -> str:
    """Return a token as GPT-2's files write it: each byte as a printable character."""
    return "".join(map(_CHARACTERS.__getitem__, token))


def _rendered(token: bytes) -> str:
    r"""Return a token as minbpe shows it: control characters as \uXXXX, U+FFFD for bytes that are not UTF-8."""
    text = token.decode("utf-8", "replace")
    return "".join(f"\\u{ord(char):04x}" if unicodedata.category(char)[0] == "C" else char for char in text)
