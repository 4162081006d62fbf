"""The wire format of protocol buffers, read strictly: the fields of one message, in bounded memory and time.

It covers what SentencePiece models use; groups are refused. (Source: protobuf.dev/programming-guides/encoding.)
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import NamedTuple, NoReturn

from tokcli.formats.refusals import refuse_byte

_VARINT_BYTES = 10  # the longest that a number of 64 bits takes
_FIXED = {1: 8, 5: 4}  # wire type -> bytes
_F32 = struct.Struct("<f")


class ProtobufField(NamedTuple):
    """A field: its number, its value (bytes, or the number in a varint), and an offset in the file, in bytes.

    The offset is that of the field for a number, and that of the value for bytes.
    """

    number: int
    value: int | memoryview
    offset: int


class ProtobufReader:
    """A reader of the fields of the messages in a file; its VocabularyErrors name the file and the byte."""

    def __init__(self, name: str) -> None:
        self.name = name

    def fail(self, offset: int, what: str) -> NoReturn:
        """Raise VocabularyError for what is wrong at a byte of the file."""
        refuse_byte(self.name, offset, what)

    def fields(self, data: memoryview, base: int = 0) -> Iterator[ProtobufField]:
        """Yield the fields of a message whose first byte is byte `base` of the file."""
        at, size = 0, len(data)
        while at < size:
            start = at
            tag, at = self._varint(data, at, base)
            number, kind = tag >> 3, tag & 7
            if not 1 <= number < 1 << 29:
                self.fail(base + start, f"not protobuf: a field of number {number}")
            if kind == 0:
                value, at = self._varint(data, at, base)
                yield ProtobufField(number, value, base + start)
                continue
            if kind == 2:
                length, at = self._varint(data, at, base)
            elif kind in _FIXED:
                length = _FIXED[kind]
            else:
                self.fail(base + start, f"not protobuf: a field of kind {kind}")
            if length > size - at:
                self.fail(base + start, f"cut off: a field of {length} bytes, of which {size - at} are there,")
            yield ProtobufField(number, data[at : at + length], base + at)
            at += length

    def _varint(self, data: memoryview, at: int, base: int) -> tuple[int, int]:
        value = count = 0
        byte = 0x80
        while byte >= 0x80:
            if at + count >= len(data):
                self.fail(base + at, "cut off: a number without an end")
            if count == _VARINT_BYTES:
                self.fail(base + at, f"not protobuf: a number of more than {_VARINT_BYTES} bytes")
            byte = data[at + count]
            value |= (byte & 0x7F) << 7 * count
            count += 1
        return value & (1 << 64) - 1, at + count

    def message(self, field: ProtobufField) -> memoryview:
        """Return the bytes of a field that holds a message, a text or a number of fixed size."""
        if not isinstance(field.value, memoryview):
            self.fail(field.offset, f"field {field.number} is a number; bytes were expected,")
        return field.value

    def whole(self, field: ProtobufField) -> int:
        """Return the number in a field as a signed 32-bit integer."""
        if not isinstance(field.value, int):
            self.fail(field.offset, f"field {field.number} is not a whole number,")
        low = field.value & 0xFFFFFFFF
        return low - (1 << 32) if low >> 31 else low

    def single(self, field: ProtobufField) -> float:
        """Return the 32-bit float in a field; infinities and NaN are refused."""
        data = self.message(field)
        if len(data) != 4:
            self.fail(field.offset, f"field {field.number} is not a float of 32 bits,")
        value = float(_F32.unpack(data)[0])
        if value != value or value in (float("inf"), float("-inf")):
            self.fail(field.offset, "a score that is not a finite number")
        return value

    def text(self, field: ProtobufField) -> str:
        """Return the text in a field, which is UTF-8."""
        try:
            return bytes(self.message(field)).decode()
        except UnicodeDecodeError:
            self.fail(field.offset, "text that is not UTF-8")
