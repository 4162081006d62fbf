"""The form of what is kept in the cache, one block of bytes: a header (JSON) and named sections, each checked.

    magic, u32 size of the header, u32 crc32 of the header | header | sections, each at a multiple of 64 bytes

The header has the place, the length and the crc32 of each section. Nothing in a block is trusted: if anything does not
fit, the block is not used, and the vocabulary's file is read again.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Mapping
from typing import Any

MAGIC = b"TOKCOMP\n"
NATIVE = ("ranks", "stages")  # sections that native code works on, and checks by checksums of their own
_ALIGN = 64  # bytes, as native images need it
_PREFIX = len(MAGIC) + 8


class Container:
    """The header of a block, without the places of its sections, and the sections by name."""

    def __init__(self, header: dict[str, Any], sections: dict[str, memoryview]) -> None:
        self.header, self.sections = header, sections


def pack(header: Mapping[str, Any], sections: Mapping[str, bytes]) -> bytes:
    """Return the block of a header and its sections."""
    places: dict[str, list[int]] = {}
    at = 0
    for name, data in sections.items():
        places[name] = [at, len(data), 0 if name in NATIVE else zlib.crc32(data)]
        at += _aligned(len(data))
    written = json.dumps({**header, "sections": places}, separators=(",", ":"), ensure_ascii=False)
    text = written.encode("utf-8", "surrogatepass")  # escaped, it would take twice as long to read
    start = _aligned(_PREFIX + len(text))
    head = MAGIC + len(text).to_bytes(4, "little") + zlib.crc32(text).to_bytes(4, "little") + text
    blocks = [head.ljust(start, b"\0")]
    blocks += [data.ljust(_aligned(len(data)), b"\0") for data in sections.values()]
    return b"".join(blocks)


def unpack(block: memoryview) -> Container | None:
    """Return the header and the sections of a block; None if anything about it is wrong.

    The contents of native sections are left to native code to check.
    """
    if block.nbytes < _PREFIX or block[: len(MAGIC)] != MAGIC:
        return None
    size, checksum = (int.from_bytes(block[at : at + 4], "little") for at in (len(MAGIC), len(MAGIC) + 4))
    text = bytes(block[_PREFIX : _PREFIX + size])
    if len(text) != size or zlib.crc32(text) != checksum:
        return None
    start = _aligned(_PREFIX + size)
    try:
        header = json.loads(text)
        sections = {}
        for name, (at, length, crc) in header.pop("sections").items():
            section = block[start + at : start + at + length]
            if name not in NATIVE:  # copied, since a mapped file may be cut short
                section = memoryview(bytes(section))
            if at % _ALIGN or section.nbytes != length or (name not in NATIVE and zlib.crc32(section) != crc):
                return None
            sections[name] = section
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return None
    return Container(header, sections)


def _aligned(size: int) -> int:
    return (size + _ALIGN - 1) // _ALIGN * _ALIGN
