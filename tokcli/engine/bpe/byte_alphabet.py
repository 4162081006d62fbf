"""How the texts of tokens write bytes and spaces: by the alphabet of GPT-2, or as SentencePiece's <0x0A> and U+2581."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import accumulate


def byte_alphabet() -> dict[str, int]:
    """Return the byte of each character in GPT-2's alphabet: printable Latin-1 as it is, other bytes from U+0100 on.

    >>> alphabet = byte_alphabet()
    >>> alphabet["A"], alphabet["Ġ"], alphabet["Ċ"], len(alphabet)
    (65, 32, 10, 256)
    """
    printable = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = sorted(set(range(256)) - set(printable))
    return {chr(b): b for b in printable} | {chr(0x100 + i): b for i, b in enumerate(others)}


VISIBLE_SPACE = "\u2581"  # LOWER ONE EIGHTH BLOCK, which SentencePiece and its followers write for a space
BYTE_OF = byte_alphabet()
CHAR_OF = {byte: char for char, byte in BYTE_OF.items()}


def bytes_of(token: str) -> bytes | None:
    """Return the bytes of a token in GPT-2's alphabet; None if a character is not in it."""
    try:
        return bytes([BYTE_OF[char] for char in token])
    except KeyError:
        return None


_LATIN = {ord(char): byte for char, byte in BYTE_OF.items()}
_LATIN |= dict.fromkeys(set(range(256)) - set(_LATIN), 0x100)  # not in the alphabet: U+0100, which is not Latin-1


def all_bytes_of(tokens: Iterable[str]) -> list[bytes | None]:
    """Return the bytes of each token in GPT-2's alphabet; None if a character is not in it.

    >>> all_bytes_of(["A\u0120", "A "])
    [b'A ', None]
    """
    tokens = list(tokens)
    try:  # four times as fast as one by one
        data = "".join(tokens).translate(_LATIN).encode("latin-1")
    except UnicodeEncodeError:
        return [bytes_of(token) for token in tokens]
    ends = list(accumulate(map(len, tokens)))
    return [data[end - len(token) : end] for token, end in zip(tokens, ends, strict=True)]


def to_byte_chars(text: str) -> str:
    """Return the UTF-8 of a text in GPT-2's alphabet, one character for each byte.

    >>> to_byte_chars("é a")
    'Ã©Ġa'
    """
    return text.encode().decode("latin-1").translate(CHAR_OF)


def byte_token(byte: int) -> str:
    """Return the name that SentencePiece gives the token of a byte.

    >>> byte_token(10)
    '<0x0A>'
    """
    return f"<0x{byte:02X}>"
