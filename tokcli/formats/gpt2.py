"""GPT-2's pair of files: a vocabulary (JSON, token to id) and its merges (a pair of tokens a line, in order).

Both write bytes as the printable characters of byte_alphabet.py. A pair becomes mergeable_ranks where its ids follow
the order of its merges, as GPT-2's do; one whose ids do not is refused, for its ids would not say what merges first.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any, NoReturn

from tokcli.engine.byte_alphabet import BYTE_OF
from tokcli.errors import VocabularyError
from tokcli.formats.limits import MAX_RANK, MAX_TOKEN_BYTES, MAX_TOKENS
from tokcli.formats.tiktoken import check_bytes

# Which file stands beside which, in the order in which they are looked for.
PARTNERS = {
    "encoder.json": ("vocab.bpe", "merges.txt"),
    "vocab.json": ("merges.txt", "vocab.bpe"),
    "vocab.bpe": ("encoder.json", "vocab.json"),
    "merges.txt": ("vocab.json", "encoder.json"),
}
_SPECIAL = re.compile(r"<.+>|\[.+\]", re.DOTALL)  # what a token that no merge makes has to look like
_MAYBE_SURROGATE = rb"\\u[dD][89a-fA-F]"
_SHOWN = 40


def parse_gpt2(
    vocab: bytes, merges: bytes, vocab_name: str, merges_name: str
) -> tuple[dict[bytes, int], dict[str, int]]:
    """The mergeable_ranks and the special tokens of a pair; VocabularyError, naming file and place, otherwise.

    What the vocabulary has beside bytes and merges is a special token where it looks like one (`<...>`, `[...]`).
    """
    ids = _parse_vocab(vocab, vocab_name)
    mergeable = {char: ids.pop(char) for char in BYTE_OF if char in ids}
    last = -1
    for number, (first, second) in _parse_merges(merges, merges_name):
        token = first + second
        for part in (first, second):
            if part not in mergeable:
                _fail(merges_name, number, f"{_shown(part)} is neither a byte nor made by a merge before")
        if token in mergeable:
            _fail(merges_name, number, f"token {_shown(token)} is made a second time")
        if token not in ids:
            _fail(merges_name, number, f"token {_shown(token)} is not in {vocab_name}")
        rank = ids.pop(token)
        if rank <= last:
            _fail(merges_name, number, f"token {_shown(token)} has id {rank}, not above {last}: ids must follow merges")
        mergeable[token] = last = rank
    for token in ids:
        if not _SPECIAL.fullmatch(token):
            raise VocabularyError(f"{vocab_name}: no merge in {merges_name} makes token {_shown(token)}")
    ranks = {bytes(map(BYTE_OF.__getitem__, token)): rank for token, rank in mergeable.items()}
    check_bytes(ranks, vocab_name)
    return ranks, ids


def parse_json_strictly(data: bytes, name: str, parse_float: Callable[[str], float] = float) -> Any:
    """A JSON document; VocabularyError for what is not UTF-8 or JSON, and for a member that an object has twice."""

    def members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        if len(found) != len(pairs):
            seen: set[str] = set()
            twice = next(key for key, _ in pairs if key in seen or seen.add(key))  # type: ignore[func-returns-value]
            raise VocabularyError(f"{name}: member {_shown(twice)} stands in it twice")
        return found

    try:
        document = json.loads(data.decode(), object_pairs_hook=members, parse_float=parse_float)
        if re.search(_MAYBE_SURROGATE, data):
            json.dumps(document, ensure_ascii=False).encode()
        return document
    except VocabularyError:
        raise
    except UnicodeEncodeError:
        raise VocabularyError(f"{name}: half of a surrogate pair is no text that a token can stand for") from None
    except UnicodeDecodeError as error:
        raise VocabularyError(f"{name}: not UTF-8 at byte {error.start}") from None
    except json.JSONDecodeError as error:
        raise VocabularyError(f"{name}:{error.lineno}: not JSON: {error.msg}") from None
    except (ValueError, RecursionError):
        raise VocabularyError(f"{name}: not JSON that can be read: numbers too long, or nested too deep") from None


def check_ids(table: object, name: str) -> dict[str, int]:
    """A table of tokens and ids, each id once; VocabularyError for anything else."""
    if not isinstance(table, dict):
        raise VocabularyError(f"{name}: expected an object of tokens and their ids")
    if len(table) > MAX_TOKENS:
        raise VocabularyError(f"{name}: {len(table)} tokens, more than the {MAX_TOKENS} that are read")
    tokens_of_ids: dict[int, str] = {}
    for token, number in table.items():
        if type(number) is not int or not 0 <= number <= MAX_RANK:
            raise VocabularyError(f"{name}: the id of {_shown(token)} is not a whole number from 0 to {MAX_RANK}")
        if number in tokens_of_ids:
            raise VocabularyError(f"{name}: {_shown(token)} has id {number}, as {_shown(tokens_of_ids[number])} has")
        if len(token) > MAX_TOKEN_BYTES:
            raise VocabularyError(f"{name}: a token of {len(token)} characters; at most {MAX_TOKEN_BYTES} are read")
        if not token or any("\ud800" <= char <= "\udfff" for char in token):
            raise VocabularyError(f"{name}: {_shown(token)} is no text that a token can stand for")
        tokens_of_ids[number] = token
    return table


def _parse_vocab(data: bytes, name: str) -> dict[str, int]:
    return dict(check_ids(parse_json_strictly(data, name), name))


def _parse_merges(data: bytes, name: str) -> list[tuple[int, tuple[str, str]]]:
    """The merges and their line numbers. A first line `#version: ...`, blank lines and CRLF are taken."""
    try:
        lines = data.decode().split("\n")
    except UnicodeDecodeError as error:
        _fail(name, data.count(b"\n", 0, error.start) + 1, "not UTF-8")
    merges = []
    for number, line in enumerate(lines, 1):
        text = line.removesuffix("\r")
        if not text or (number == 1 and text.startswith("#version")):
            continue
        first, _, second = text.partition(" ")
        if not first or not second or " " in second:
            _fail(name, number, "expected two tokens and one space between them")
        merges.append((number, (first, second)))
    return merges


def _shown(token: str) -> str:
    return ascii(token if len(token) <= _SHOWN else token[:_SHOWN] + "...")


def _fail(name: str, line: int, what: str) -> NoReturn:
    raise VocabularyError(f"{name}:{line}: {what}")
