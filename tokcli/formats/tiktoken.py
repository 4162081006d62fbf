"""The .tiktoken text form: a line `BASE64 RANK` for each token, read strictly and written sorted by rank.

A pattern and special tokens may be given in a sidecar, FILE.json; for registered names the registry knows them, and
for the tiktoken.model of Moonshot AI's Kimi they are here. Also here are checks, which serve all formats in which ranks
and a pattern say everything.
"""

from __future__ import annotations

import binascii
import codecs
import operator
from collections.abc import Iterator, Mapping
from contextlib import suppress
from io import BytesIO
from itertools import islice
from typing import NoReturn

from tokcli.errors import OutputError, VocabularyError
from tokcli.formats.limits import MAX_NUMBER_DIGITS, MAX_RANK, MAX_TOKEN_BYTES, MAX_TOKENS, read_regular_file
from tokcli.formats.refusals import check_lines, refuse_cut, refuse_line, shown_bytes
from tokcli.formats.strict_json import JsonNode, check_ids, parse_json_strictly

_MAX_LINE_BYTES = MAX_TOKEN_BYTES * 2  # longer ones are not even decoded
EMPTY_TOKEN = b"="  # how whisper's files, which have an empty token, write it; b64encode(b"") would leave nothing

# Kimi K2, K2.5, K2.6, K2.7 and K3 have the same ranks. Their pattern is in no file but in code, tokenization_kimi.py of
# huggingface.co/moonshotai/Kimi-K2-Instruct: o200k_base's, with runs of Han characters as pieces of their own.
KIMI_SHA256 = "b6c497a7469b33ced9c38afb1ad6e47f03f5e5dc05f15930799210ec050c5103"
_UPPER, _LOWER = r"[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]", r"[\p{Ll}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]"
_BEFORE, _AFTER = r"[^\r\n\p{L}\p{N}]?", r"(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
KIMI_PATTERN = (
    rf"[\p{{Han}}]+|{_BEFORE}{_UPPER}*{_LOWER}+{_AFTER}|{_BEFORE}{_UPPER}+{_LOWER}*{_AFTER}"
    r"|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
KIMI_SPECIAL = 256  # special tokens after the ranks, of which tokenizer_config.json names some


def check_bytes(mergeable_ranks: Mapping[bytes, int], name: str) -> None:
    """Raise VocabularyError if one of the 256 single bytes is not a token, naming the first that is missing."""
    for value in range(256):
        if bytes([value]) not in mergeable_ranks:
            raise VocabularyError(
                f"no token for the byte 0x{value:02x}", "A byte-level vocabulary has a token for each byte.", where=name
            )


def check_special_tokens(special_tokens: Mapping[str, int], mergeable_ranks: Mapping[bytes, int], name: str) -> None:
    """Raise VocabularyError if a special token has the id of another token, or an id out of range."""
    token_of: dict[int, str] = {}
    used = set(special_tokens.values()).intersection(mergeable_ranks.values())
    for token, id in special_tokens.items():
        if type(id) is not int or not 0 <= id <= MAX_RANK:
            raise VocabularyError(
                f"the id of special token {token!r} is not a whole number from 0 to {MAX_RANK}", where=name
            )
        if id in used:
            raise VocabularyError(f"special token {token!r} has the id {id}, which another token has", where=name)
        if id in token_of:
            raise VocabularyError(f"special tokens {token_of[id]!r} and {token!r} both have the id {id}", where=name)
        token_of[id] = token


def parse_tiktoken(data: bytes, name: str) -> dict[bytes, int]:
    r"""Return the mergeable_ranks of a .tiktoken file in the order of its lines; a VocabularyError names the line.

    Ranks may have gaps and need not begin at 0; blank lines and CRLF are accepted; the empty token is `= RANK`. Each of
    the 256 bytes must be a token, or some text could not be encoded.

    >>> parse_tiktoken(b"YQ== 0\nYQ== 1\n", "ranks.tiktoken")
    Traceback (most recent call last):
    tokcli.errors.VocabularyError: ranks.tiktoken:2: token YQ== repeats line 1
    """
    _check_count(data, name)
    ranks: dict[bytes, int] = {}
    decode, encode = binascii.a2b_base64, binascii.b2a_base64
    for number, (text, space, digits) in _rows(data, name):
        if not (space and digits) and text and number > 1 and _is_unfinished(data, number):
            refuse_cut(f"{name}:{number}")
        if not space:
            if text:
                refuse_line(name, number, "expected a token in base64, one space and a rank")
            continue
        try:
            token = decode(text)
        except binascii.Error:
            token = None
        # Only what encodes back to the same text is strict base64: alphabet, padding, and no bits left over.
        if not text or token is None or (encode(token, newline=False) != text and text != EMPTY_TOKEN):
            refuse_line(name, number, f"{shown_bytes(text)} is not base64")
        if not digits.isdigit() or len(digits) > MAX_NUMBER_DIGITS:
            refuse_line(name, number, f"rank {shown_bytes(digits)} is not 1 to {MAX_NUMBER_DIGITS} ASCII digits")
        rank = int(digits)
        if rank > MAX_RANK:
            refuse_line(name, number, f"rank {rank} is above {MAX_RANK}")
        if token in ranks:
            first = next(line for line, row in _rows(data, name) if row[1] and row[0] == text)
            refuse_line(name, number, f"token {shown_bytes(text)} repeats line {first}")
        if len(token) > MAX_TOKEN_BYTES:
            refuse_line(name, number, f"a token of {len(token)} bytes; at most {MAX_TOKEN_BYTES} are allowed")
        ranks[token] = rank
    used = sorted(ranks.values())  # a set of them would take more memory than anything else here
    if any(map(operator.eq, used, islice(used, 1, None))):
        _refuse_repeated_rank(data, name)
    check_bytes(ranks, name)
    return ranks


def _is_unfinished(data: bytes, number: int) -> bool:
    """Return whether a line is the last and has no newline, as where a file is cut off."""
    return not data.endswith(b"\n") and number == data.count(b"\n") + 1


def _check_count(data: bytes, name: str) -> None:
    """Raise VocabularyError for too many tokens before memory is taken for any: each has a space in its line."""
    if data.count(b" ") > MAX_TOKENS:
        lines = (number for number, (_, space, _) in _rows(data, name) if space)
        if (number := next(islice(lines, MAX_TOKENS, None), None)) is not None:
            refuse_line(name, number, f"more than the {MAX_TOKENS} tokens that are read")


def _rows(data: bytes, name: str) -> Iterator[tuple[int, tuple[bytes, bytes, bytes]]]:
    """Yield the number of each line, and its parts: what is before the first space, the space, what is after it."""
    check_lines(data, name)
    for number, line in enumerate(BytesIO(data), 1):
        if len(line) > _MAX_LINE_BYTES:
            size = max(line.find(b" "), 0) * 3 // 4
            refuse_line(name, number, f"a token of {size} bytes; at most {MAX_TOKEN_BYTES} are allowed")
        yield number, line.removesuffix(b"\n").removesuffix(b"\r").partition(b" ")


def _refuse_repeated_rank(data: bytes, name: str) -> NoReturn:
    """Raise VocabularyError for the first rank that occurs a second time; the caller knows that there is one."""
    lines: dict[int, int] = {}
    for number, (_, _, digits) in _rows(data, name):
        if digits and (first := lines.setdefault(int(digits), number)) != number:
            cut = "; the file may be cut off" if _is_unfinished(data, number) else ""
            refuse_line(name, number, f"rank {int(digits)} repeats line {first}{cut}")
    raise AssertionError("no rank is repeated")


def parse_sidecar(data: bytes, name: str) -> tuple[dict[str, int] | None, str | None]:
    """Return the special tokens and the pattern (each None if it is not given) of FILE.json beside a .tiktoken file.

    The sidecar is a JSON object with the members `pat_str` (a regex) and `special_tokens` (an object of names and ids),
    each optional, and no others: `{"pat_str": "\\\\s+|\\\\S+", "special_tokens": {"<|endoftext|>": 50256}}`.
    """
    table = parse_json_strictly(data.removeprefix(codecs.BOM_UTF8), name)  # Windows' editors write the mark
    if not isinstance(table, dict) or table.keys() - {"pat_str", "special_tokens"}:
        raise VocabularyError("expected an object with pat_str, special_tokens and nothing else", where=name)
    pat_str = table.get("pat_str")
    if pat_str is not None and not isinstance(pat_str, str):
        raise VocabularyError("pat_str is not a text", where=name)
    return check_ids(table["special_tokens"], name) if "special_tokens" in table else None, pat_str


def refuse_no_sidecar(path: str, hint: str) -> None:
    """Raise OutputError for a file at `path` that has anything else in it than a sidecar, which would replace it."""
    data = b""
    with suppress(VocabularyError):  # there is nothing yet, or it is said when the file is opened
        data = read_regular_file(path)
    try:
        parse_sidecar(data or b"{}", path)
    except VocabularyError:
        raise OutputError(f"{path}: not a sidecar, and would be replaced by one", hint) from None


def parse_kimi(data: bytes, name: str, first: int) -> dict[str, int]:
    """Return the special tokens of a Kimi model, whose ids begin at `first`, from its tokenizer_config.json.

    Those that it does not name are called `<|reserved_token_ID|>`, as tokenization_kimi.py calls them.
    """
    names: dict[int, str] = {}
    for digits, item in JsonNode(parse_json_strictly(data, name), name).member("added_tokens_decoder").items():
        id = int(digits) if digits.isascii() and digits.isdecimal() and len(digits) <= MAX_NUMBER_DIGITS else -1
        if not first <= id < first + KIMI_SPECIAL:
            item.fail(f"expected an id from {first} to {first + KIMI_SPECIAL - 1}")
        names[id] = item.member("content").text()
    ids = range(first, first + KIMI_SPECIAL)
    return check_ids({names.get(id, f"<|reserved_token_{id}|>"): id for id in ids}, name)


def format_tiktoken(mergeable_ranks: Mapping[bytes, int]) -> bytes:
    r"""Return a vocabulary as .tiktoken text, sorted by rank.

    >>> format_tiktoken({b"b": 1, b"!": 0})
    b'IQ== 0\nYg== 1\n'
    """
    rows = sorted(mergeable_ranks.items(), key=lambda item: item[1])
    encode = binascii.b2a_base64
    return b"".join(b"%b %d\n" % (encode(token, newline=False) or EMPTY_TOKEN, rank) for token, rank in rows)
