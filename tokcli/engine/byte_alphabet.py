"""GPT-2's printable character for each byte: in its files, and in those of everyone after it."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import accumulate


def byte_alphabet() -> dict[str, int]:
    """The character that stands for each byte: printable ones of Latin-1 for themselves, then from U+0100 on.

    >>> alphabet = byte_alphabet()
    >>> alphabet["A"], alphabet["Ġ"], alphabet["Ċ"], len(alphabet)
    (65, 32, 10, 256)
    """
    printable = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = sorted(set(range(256)) - set(printable))
    return {chr(b): b for b in printable} | {chr(0x100 + i): b for i, b in enumerate(others)}


BYTE_OF = byte_alphabet()
CHAR_OF = {byte: char for char, byte in BYTE_OF.items()}


def bytes_of(token: str) -> bytes | None:
    """The bytes that a token stands for; None where a character of it is none of the alphabet."""
    try:
        return bytes([BYTE_OF[char] for char in token])
    except KeyError:
        return None


_LATIN = {ord(char): byte for char, byte in BYTE_OF.items()}
_LATIN |= dict.fromkeys(set(range(256)) - set(_LATIN), 0x100)  # no byte, and no Latin-1


def all_bytes_of(tokens: Iterable[str]) -> list[bytes | None]:
    """`bytes_of` each.

    >>> all_bytes_of(["A\u0120", "A "])
    [b'A ', None]
    """
    tokens = list(tokens)
    try:  # all at once is four times as fast
        data = "".join(tokens).translate(_LATIN).encode("latin-1")
    except UnicodeEncodeError:
        return [bytes_of(token) for token in tokens]
    ends = list(accumulate(map(len, tokens)))
    return [data[end - len(token) : end] for token, end in zip(tokens, ends, strict=True)]
