"""The wire format of protocol buffers, read strictly: fields of one message, in bounded memory and time.

Only what SentencePiece models use; groups are refused. (Encoding: protobuf.dev/programming-guides/encoding.)
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import NamedTuple, NoReturn

from tokcli.errors import VocabularyError

_VARINT_BYTES = 10  # of 64 bits
_FIXED = {1: 8, 5: 4}
_F32 = struct.Struct("<f")


class Field(NamedTuple):
    """A field: its number, its value (bytes, or the number in a varint), and the byte it begins at."""

    number: int
    value: int | memoryview
    offset: int


class Reader:
    """Reads the fields of messages in a file; VocabularyError names the file and the byte."""

    def __init__(self, name: str) -> None:
        self.name = name

    def fail(self, offset: int, what: str) -> NoReturn:
        """VocabularyError."""
        raise VocabularyError(f"{self.name}: {what} at byte {offset}")

    def fields(self, data: memoryview, base: int = 0) -> Iterator[Field]:
        """The fields of a message whose first byte is byte `base` of the file."""
        at, size = 0, len(data)
        while at < size:
            start = at
            tag, at = self._varint(data, at, base)
            number, kind = tag >> 3, tag & 7
            if not 1 <= number < 1 << 29:
                self.fail(base + start, f"no protobuf: a field of number {number}")
            if kind == 0:
                value, at = self._varint(data, at, base)
                yield Field(number, value, base + start)
                continue
            if kind == 2:
                length, at = self._varint(data, at, base)
            elif kind in _FIXED:
                length = _FIXED[kind]
            else:
                self.fail(base + start, f"no protobuf: a field of kind {kind}")
            if length > size - at:
                self.fail(base + start, f"cut off: a field of {length} bytes where {size - at} are left")
            yield Field(number, data[at : at + length], base + at)
            at += length

    def _varint(self, data: memoryview, at: int, base: int) -> tuple[int, int]:
        value = count = 0
        byte = 0x80
        while byte >= 0x80:
            if at + count >= len(data):
                self.fail(base + at, "cut off: a number without an end")
            if count == _VARINT_BYTES:
                self.fail(base + at, f"no protobuf: a number of more than {_VARINT_BYTES} bytes")
            byte = data[at + count]
            value |= (byte & 0x7F) << 7 * count
            count += 1
        return value & (1 << 64) - 1, at + count

    def message(self, field: Field) -> memoryview:
        """The bytes of a field that is a message or text."""
        if not isinstance(field.value, memoryview):
            self.fail(field.offset, f"field {field.number} is a number, not what it should be")
        return field.value

    def whole(self, field: Field) -> int:
        """The number in a field, of 32 bits with a sign."""
        if not isinstance(field.value, int):
            self.fail(field.offset, f"field {field.number} is no whole number")
        low = field.value & 0xFFFFFFFF
        return low - (1 << 32) if low >> 31 else low

    def single(self, field: Field) -> float:
        """The float of 32 bits in a field; it must be a number."""
        data = self.message(field)
        if len(data) != 4:
            self.fail(field.offset, f"field {field.number} is no float of 32 bits")
        value = float(_F32.unpack(data)[0])
        if value != value or value in (float("inf"), float("-inf")):
            self.fail(field.offset, "a score that is no number")
        return value

    def text(self, field: Field) -> str:
        """The text in a field."""
        try:
            return bytes(self.message(field)).decode()
        except UnicodeDecodeError:
            self.fail(field.offset, "text that is not UTF-8")
