"""Protocol buffers as SentencePiece's models are written in: https://protobuf.dev/programming-guides/encoding/."""

from __future__ import annotations


def varint(number: int) -> bytes:
    """Return a number from 0 on, seven bits a byte, the lowest first."""
    out = bytearray()
    while number > 0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*out, number])


def field(number: int, data: bytes) -> bytes:
    """Return a field that holds bytes."""
    return varint(number << 3 | 2) + varint(len(data)) + data
