"""What is compiled of a vocabulary file as one block of bytes: a header (JSON) and named sections, each checked.

    magic, u32 size of the header, u32 its crc32 | header | sections, each at a multiple of 64 bytes

The header says where the sections are. Nothing in it is trusted: what does not fit makes the block worthless, and its
file is read again.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

MAGIC = b"TOKCOMP\n"
IMAGE = "image"  # a section with a checksum of its own (the native vocabulary image)
_ALIGN = 64  # what a vocabulary image is aligned to
_PREFIX = len(MAGIC) + 8


class Container(NamedTuple):
    """The header and the sections of a block."""

    header: dict[str, Any]
    sections: dict[str, memoryview]


def pack(header: Mapping[str, Any], sections: Mapping[str, bytes]) -> bytes:
    """The block for a header and its sections."""
    places: dict[str, list[int]] = {}
    at = 0
    for name, data in sections.items():
        places[name] = [at, len(data), 0 if name == IMAGE else zlib.crc32(data)]
        at += _aligned(len(data))
    text = json.dumps({**header, "sections": places}, separators=(",", ":"), ensure_ascii=True).encode()
    start = _aligned(_PREFIX + len(text))
    head = MAGIC + len(text).to_bytes(4, "little") + zlib.crc32(text).to_bytes(4, "little") + text
    blocks = [head.ljust(start, b"\0")]
    blocks += [data.ljust(_aligned(len(data)), b"\0") for data in sections.values()]
    return b"".join(blocks)


def unpack(block: memoryview) -> Container | None:
    """The header and the sections of a block; None where anything about it is wrong. An image is not looked into."""
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
            if at % _ALIGN or section.nbytes != length or (name != IMAGE and zlib.crc32(section) != crc):
                return None
            sections[name] = section
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return None
    return Container(header, sections)


def _aligned(size: int) -> int:
    return (size + _ALIGN - 1) // _ALIGN * _ALIGN


# --- checking values of a header -------------------------------------------------------------------------------------

Check = Callable[[Any], bool]


def is_id(value: Any) -> bool:
    """Whether it is an id."""
    return type(value) is int and 0 <= value < 1 << 32


def is_ids(value: Any) -> bool:
    """Whether it is a table of texts and their ids."""
    return type(value) is dict and are_ids(list(value.values()))


def are_ids(value: Any) -> bool:
    """Whether it is a list of ids."""
    return _are(value, int) and (not value or (min(value) >= 0 and max(value) < 1 << 32))


def are_texts(value: Any) -> bool:
    """Whether it is a list of texts."""
    return _are(value, str)


def _are(value: Any, kind: type) -> bool:
    return type(value) is list and not set(map(type, value)) - {kind}


def is_text(value: Any) -> bool:
    """Whether it is a text."""
    return type(value) is str


def is_flag(value: Any) -> bool:
    """Whether it is true or false."""
    return type(value) is bool


def optional(check: Check) -> Check:
    """The same, or nothing."""
    return lambda value: value is None or check(value)


def fits(header: Mapping[str, Any], checks: Mapping[str, Check]) -> bool:
    """Whether the members of a header are these, each of its kind."""
    return header.keys() == checks.keys() and all(check(header[name]) for name, check in checks.items())
