"""The header of a GGUF file, versions 2 and 3: named values, read from the beginning of the file up to the tensors.

Sizes and counts are checked against limits before anything is kept. (Format: ggml-org/ggml, docs/gguf.md.)
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from hashlib import sha256
from typing import Any, BinaryIO, NamedTuple, NoReturn

from tokcli.formats.limits import MAX_FILE_BYTES, MAX_KEYS, MAX_MERGES, MAX_TOKENS
from tokcli.formats.refusals import refuse_byte

MAGIC = b"GGUF"
_BLOCK = 1 << 22  # bytes read at once, at least
_STRING, _ARRAY = 8, 9
_SCALARS = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}
VOCABULARY = ("tokenizer.ggml.", "general.name", "general.architecture")


class NumberList(NamedTuple):
    """A list of numbers, and their type as the file gives it (GGUF_TYPE_...)."""

    type: int
    values: Sequence[Any]


def read_header(file: BinaryIO, name: str, wanted: tuple[str, ...] = VOCABULARY) -> tuple[dict[str, Any], str]:
    """Return the values of a header whose names begin with one of those wanted, and the sha256 (hex) of the header.

    A value is bytes, a number, a list of bytes or a NumberList. A VocabularyError names the file, as `name`, and the
    offset of the byte.
    """
    header = _Header(file, name, wanted)
    values = header.values()
    digest = sha256(MAGIC)
    digest.update(header.bytes_read())
    return values, digest.hexdigest()


class _Header:
    """A reader of values in order: `_data` is the beginning of the file, and `_at` the offset of the next value."""

    def __init__(self, file: BinaryIO, name: str, wanted: tuple[str, ...]) -> None:
        self._file, self._name, self._wanted = file, name, wanted
        self._data = b""
        self._at = 0
        self._order = "<"

    def bytes_read(self) -> memoryview:
        """Return the beginning of the file, as far as values were read from it."""
        return memoryview(self._data)[: self._at]

    def fail(self, what: str, at: int | None = None) -> NoReturn:
        refuse_byte(self._name, self._at if at is None else at, what)

    def _hold(self, end: int) -> None:
        """Read the file up to offset `end`; raise VocabularyError if it ends before, or `end` is beyond the limit."""
        if end > MAX_FILE_BYTES:
            self.fail(f"a header of more than {MAX_FILE_BYTES} bytes, the most that are read,")
        while (held := len(self._data)) < end:
            block = self._file.read(max(_BLOCK, held // 2, end - held))  # half as much again: copying stays linear
            if not block:
                self.fail(f"cut off: {end - self._at} bytes are expected, {held - self._at} are left")
            self._data += block

    def take(self, size: int) -> bytes:
        """Return the next `size` bytes."""
        at = self._at
        self._hold(at + size)
        self._at += size
        return self._data[at : self._at]

    def number(self, code: str) -> Any:
        """Return the next number; `code` is its format character in `struct`."""
        return struct.unpack(self._order + code, self.take(struct.calcsize("<" + code)))[0]

    def count(self, most: int, what: str) -> int:
        """Return the next number, which is a count; raise VocabularyError if it exceeds `most`."""
        at, count = self._at, int(self.number("Q"))
        if count > most:
            self.fail(f"{count} {what}, more than {most}, the most that are read,", at)
        return count

    def strings(self, count: int) -> list[bytes]:
        """Return the next `count` strings; in the file, the size of each comes before it."""
        found: list[bytes] = []
        size_at = struct.Struct(self._order + "Q").unpack_from
        data, at, held = self._data, self._at, len(self._data)
        for _ in range(count):
            if at + 8 > held or (end := at + 8 + size_at(data, at)[0]) > held:
                self._at = at
                self._hold(at + 8)
                self._hold(end := at + 8 + size_at(self._data, at)[0])
                data, held = self._data, len(self._data)
            found.append(data[at + 8 : end])
            at = end
        self._at = at
        return found

    def values(self) -> dict[str, Any]:
        """Return the values that are wanted, by their keys."""
        if self.take(4) != MAGIC:
            self.fail("not a GGUF file", 0)
        version = self.number("I")
        if version not in (2, 3):
            swapped = int.from_bytes(version.to_bytes(4, "little"), "big")
            if swapped not in (2, 3):
                self.fail(f"GGUF version {version}, and only versions 2 and 3 are read,", 4)
            self._order = ">"
        self.number("Q")  # how many tensors come after the header
        found: dict[str, Any] = {}
        for _ in range(self.count(MAX_KEYS, "values")):
            at = self._at
            key = self.strings(1)[0].decode("utf-8", "replace")
            is_wanted = key.startswith(self._wanted)
            value = self.value(self.number("I"), is_wanted)
            if is_wanted:
                if key in found:
                    self.fail(f"{key} occurs a second time", at)
                found[key] = value
        return found

    def value(self, kind: int, is_wanted: bool) -> Any:
        """Return the next value, of the GGUF type `kind`; None for a list that is not wanted."""
        if kind == _STRING:
            return self.strings(1)[0]
        if kind in _SCALARS:
            return self.number(_SCALARS[kind])
        if kind != _ARRAY:
            self.fail(f"a value of the unknown type {kind}")
        kind = self.number("I")
        if kind == _STRING:
            texts = self.strings(self.count(MAX_MERGES, "texts"))
            return texts if is_wanted else None
        if kind not in _SCALARS:
            self.fail(f"a list of the unknown type {kind}")
        size = struct.calcsize("<" + _SCALARS[kind])
        # a list that is wanted has one number per token; or it is a charsmap, of bytes
        count = self.count(MAX_TOKENS if is_wanted and size > 1 else MAX_FILE_BYTES // size, "numbers")
        data = self.take(count * size)
        if not is_wanted:
            return None
        return NumberList(kind, data if size == 1 else struct.unpack(f"{self._order}{count}{_SCALARS[kind]}", data))
