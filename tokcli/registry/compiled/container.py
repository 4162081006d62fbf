"""The container of a compiled vocabulary, one block of bytes: a header (JSON) and named sections, each checked.

    magic, u32 size of the header, u32 crc32 of the header | header | sections, each at a multiple of 64 bytes

The header has the place, the length and the crc32 of each section. Nothing in a block is trusted: if anything does not
fit, the block is not used, and the vocabulary's file is read again.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tokcli.engine.text_tokenizer import TextTokenizer
    from tokcli.registry.lazy_ranks import LazyRanks

MAGIC = b"TOKCOMP\n"
IMAGE = "image"  # the section with the native image, which has a checksum of its own
_ALIGN = 64  # bytes, as native images need it
_PREFIX = len(MAGIC) + 8


class Container:
    """The header of a block, without the places of its sections, and the sections by name."""

    # (here and below: to make a named tuple takes 0.2 ms of each start)
    def __init__(self, header: dict[str, Any], sections: dict[str, memoryview]) -> None:
        self.header, self.sections = header, sections


def pack(header: Mapping[str, Any], sections: Mapping[str, bytes]) -> bytes:
    """Return the block of a header and its sections."""
    places: dict[str, list[int]] = {}
    at = 0
    for name, data in sections.items():
        places[name] = [at, len(data), 0 if name == IMAGE else zlib.crc32(data)]
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

    The contents of the image are left to native code to check.
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
            if name != IMAGE:  # copied, since a mapped file may be cut short; only the image stays mapped
                section = memoryview(bytes(section))
            if at % _ALIGN or section.nbytes != length or (name != IMAGE and zlib.crc32(section) != crc):
                return None
            sections[name] = section
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return None
    return Container(header, sections)


def _aligned(size: int) -> int:
    return (size + _ALIGN - 1) // _ALIGN * _ALIGN


# --- checks of a header's members ------------------------------------------------------------------------------------

Check = Callable[[Any], bool]


def is_id(value: Any) -> bool:
    """Return whether a value is an id."""
    return type(value) is int and 0 <= value < 1 << 32


def is_ids(value: Any) -> bool:
    """Return whether a value is an object of texts and their ids."""
    return type(value) is dict and are_ids(list(value.values()))


def are_ids(value: Any) -> bool:
    """Return whether a value is a list of ids."""
    return _are(value, int) and (not value or (min(value) >= 0 and max(value) < 1 << 32))


def are_texts(value: Any) -> bool:
    """Return whether a value is a list of texts."""
    return _are(value, str)


def _are(value: Any, kind: type) -> bool:
    return type(value) is list and not set(map(type, value)) - {kind}


def is_text(value: Any) -> bool:
    """Return whether a value is a text."""
    return type(value) is str


def is_flag(value: Any) -> bool:
    """Return whether a value is true or false."""
    return type(value) is bool


def optional(check: Check) -> Check:
    """Return a check that also accepts null."""
    return lambda value: value is None or check(value)


def fits(header: Mapping[str, Any], checks: Mapping[str, Check]) -> bool:
    """Return whether a header has exactly the members that `checks` names, and each passes its check."""
    return header.keys() == checks.keys() and all(check(header[name]) for name, check in checks.items())


# --- kinds of containers --------------------------------------------------------------------------------------------

Packed = tuple[dict[str, Any], dict[str, bytes]]  # the header and the sections of a container, to be written


class Origin:
    """The origin of a container, for the function that opens it.

    `name` is what messages call the file, and `load` reads it again and returns what its reader does.
    """

    def __init__(self, name: str, load: Callable[[], Any]) -> None:
        self.name, self.load = name, load


class ContainerKind:
    """A kind of container: the checks of its header's members, the names of its sections, and what opens it.

    Every header also has its `kind` and the `sha256` of the source, which the caller has checked. `open` returns the
    vocabulary in a container that fits; if that turns out to be damaged, it returns None or raises ValueError,
    TypeError, KeyError or IndexError.
    """

    def __init__(
        self,
        header: Mapping[str, Check],
        sections: frozenset[str],
        open: Callable[[Container, Origin], LazyRanks | TextTokenizer | None],
    ) -> None:
        self.header, self.sections, self.open = header, sections, open

    def fits(self, container: Container) -> bool:
        """Return whether a container has the header and the sections of this kind."""
        members = {name: value for name, value in container.header.items() if name not in ("kind", "sha256")}
        return fits(members, self.header) and container.sections.keys() == self.sections


class Family:
    """The containers of a family of tokenizers.

    `pack` returns the header and the sections for a tokenizer, or None if nothing is kept; `kinds` are by name.
    """

    def __init__(self, pack: Callable[[Any], Packed | None], kinds: Mapping[str, ContainerKind]) -> None:
        self.pack, self.kinds = pack, kinds
