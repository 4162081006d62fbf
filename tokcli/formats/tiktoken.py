"""The .tiktoken text form: a line `BASE64 RANK` for each token. Reads it strictly, writes it sorted by rank.

Patterns and special tokens are not part of it; the registry has those from elsewhere.
"""

from __future__ import annotations

import base64
import binascii
from typing import NoReturn

from tokcli.errors import VocabularyError
from tokcli.formats.limits import MAX_NUMBER_DIGITS, MAX_RANK, MAX_TOKEN_BYTES, MAX_TOKENS

EMPTY_TOKEN = b"="  # how whisper's files, which have an empty token, write it; b64encode(b"") would leave nothing
_SHOWN = 40  # characters of an offending item in a message


def parse_tiktoken(data: bytes, name: str) -> dict[bytes, int]:
    r"""The mergeable_ranks of a .tiktoken file, in the order of its lines; else VocabularyError("NAME:LINE: what").

    Ranks may have gaps and need not begin at 0; blank lines and CRLF are taken; the empty token is `= RANK` or
    ` RANK`. Each of the 256 bytes must be a token, or some text could not be encoded.

    >>> parse_tiktoken(b"YQ== 0\nYQ== 1\n", "ranks.tiktoken")
    Traceback (most recent call last):
    tokcli.errors.VocabularyError: ranks.tiktoken:2: token YQ== repeats line 1
    """
    ranks: dict[bytes, int] = {}
    lines_of_ranks: dict[int, int] = {}
    decode, encode = binascii.a2b_base64, binascii.b2a_base64
    for number, line in enumerate(data.split(b"\n"), 1):
        text, space, digits = line.removesuffix(b"\r").partition(b" ")
        if not space:
            if text:
                _fail(name, number, "expected a token in base64, one space and a rank")
            continue
        try:
            token = decode(text)
        except binascii.Error:
            token = None
        # Only what encodes back to the same text is strict base64: alphabet, padding, and no bits left over.
        if token is None or (encode(token, newline=False) != text and text != EMPTY_TOKEN):
            _fail(name, number, f"{_shown(text)} is not base64")
        if not digits.isdigit() or len(digits) > MAX_NUMBER_DIGITS:
            _fail(name, number, f"rank {_shown(digits)} is not 1 to {MAX_NUMBER_DIGITS} ASCII digits")
        rank = int(digits)
        if rank > MAX_RANK:
            _fail(name, number, f"rank {rank} is above {MAX_RANK}")
        if token in ranks:
            _fail(name, number, f"token {_shown(text)} repeats line {lines_of_ranks[ranks[token]]}")
        if rank in lines_of_ranks:
            _fail(name, number, f"rank {rank} repeats line {lines_of_ranks[rank]}")
        if len(token) > MAX_TOKEN_BYTES:
            _fail(name, number, f"a token of {len(token)} bytes; at most {MAX_TOKEN_BYTES} are read")
        if len(ranks) == MAX_TOKENS:
            _fail(name, number, f"more than the {MAX_TOKENS} tokens that are read")
        ranks[token] = rank
        lines_of_ranks[rank] = number
    check_bytes(ranks, name)
    return ranks


def check_bytes(mergeable_ranks: dict[bytes, int], name: str) -> None:
    """VocabularyError where one of the 256 single bytes is no token, naming the first that is missing."""
    for value in range(256):
        if bytes([value]) not in mergeable_ranks:
            raise VocabularyError(
                f"{name}: no token for the byte 0x{value:02x}", "A byte-level vocabulary has a token for each byte."
            )


def format_tiktoken(mergeable_ranks: dict[bytes, int]) -> bytes:
    r"""A vocabulary as .tiktoken text, sorted by rank.

    >>> format_tiktoken({b"b": 1, b"!": 0})
    b'IQ== 0\nYg== 1\n'
    """
    rows = sorted(mergeable_ranks.items(), key=lambda item: item[1])
    return b"".join(b"%b %d\n" % (base64.b64encode(token) or EMPTY_TOKEN, rank) for token, rank in rows)


def _shown(item: bytes) -> str:
    """An item of the file for a message: its ASCII, the rest escaped, cut short."""
    text = item[: _SHOWN + 1].decode("ascii", "backslashreplace")
    return (text[:_SHOWN] + "..." if len(text) > _SHOWN else text) or "''"


def _fail(name: str, line: int, what: str) -> NoReturn:
    raise VocabularyError(f"{name}:{line}: {what}")
