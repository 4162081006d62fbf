"""Reads and writes flat arrays of ids in the .npy format, as NumPy's documentation describes it, without numpy.

The ids after the header are read and written by `ids.py`.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator

from tokcli.engine.stream.ids import BinaryFormat, ReadFormat
from tokcli.errors import InputError

MAGIC = b"\x93NUMPY"
HEADER_BYTES = 128  # fixed, so that it can be written again when the number of ids is known
DTYPES: dict[BinaryFormat, str] = {"u16": "<u2", "u32": "<u4"}  # as numpy names them
_FORMS: dict[str, ReadFormat] = {"<u4": "u32", "<i4": "i32", "<u2": "u16"}
_MAX_HEADER = 1 << 16


def header(count: int, form: BinaryFormat = "u32") -> bytes:
    """Return the header of a one-dimensional array of `count` little-endian uint32 or uint16.

    >>> len(header(0)), len(header(2**40))
    (128, 128)
    """
    text = f"{{'descr': '{DTYPES[form]}', 'fortran_order': False, 'shape': ({count},), }}"
    size = HEADER_BYTES - len(MAGIC) - 4
    return MAGIC + b"\x01\x00" + size.to_bytes(2, "little") + text.ljust(size - 1).encode() + b"\n"


def read_header(blocks: Iterable[bytes]) -> tuple[ReadFormat, int, Iterator[bytes]]:
    """Return (format of the ids, their number, the blocks after the header).

    InputError for anything but one little-endian array of uint32, int32 or uint16 in one dimension.
    """
    source = iter(blocks)
    held = b""

    def want(size: int) -> None:
        nonlocal held
        while len(held) < size:
            block = next(source, b"")
            if not block:
                raise InputError("not a .npy file: it ends in its header")
            held += block

    want(10)
    if held[:6] != MAGIC or held[6] not in (1, 2, 3):
        raise InputError("not a .npy file: it does not begin with \\x93NUMPY", "Read plain binary ids as u32 or u16.")
    width = 2 if held[6] == 1 else 4
    want(8 + width)
    size = int.from_bytes(held[8 : 8 + width], "little")
    if size > _MAX_HEADER:
        raise InputError(f"not a .npy file: a header of {size} bytes")
    want(8 + width + size)
    form, count = _described(held[8 + width : 8 + width + size])
    rest = held[8 + width + size :]

    def blocks_after() -> Iterator[bytes]:
        yield rest
        yield from source

    return form, count, blocks_after()


def _described(raw: bytes) -> tuple[ReadFormat, int]:
    try:
        meaning = ast.literal_eval(re.sub(r"[\s\0]+\Z", "", raw.decode("latin-1")))
        form, shape = _FORMS[meaning["descr"]], meaning["shape"]
    except (ValueError, SyntaxError, KeyError, TypeError, RecursionError, MemoryError):
        raise InputError(
            "the .npy file does not hold uint32, int32 or uint16 in little-endian order",
            "Convert it with numpy: ids.astype('<u4').",
        ) from None
    if not (isinstance(shape, tuple) and len(shape) == 1 and isinstance(shape[0], int) and shape[0] >= 0):
        raise InputError(f"the .npy file has the shape {shape!r}: ids are one-dimensional", "Use ids.ravel().")
    return form, shape[0]
