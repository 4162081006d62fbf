"""The .npy format of NumPy (as its documentation describes it), for flat arrays of ids: no numpy needed."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator

from tokcli.engine.decoder import BinaryFormat
from tokcli.errors import InputError

MAGIC = b"\x93NUMPY"
HEADER_BYTES = 128  # fixed, so that it can be written again when the number of ids is known
_FORMS: dict[str, BinaryFormat] = {"<u4": "u32", "<i4": "u32", "<u2": "u16"}
_MAX_HEADER = 1 << 16


def header(count: int) -> bytes:
    """The header of a one-dimensional array of `count` little-endian uint32.

    >>> len(header(0)), len(header(2**40))
    (128, 128)
    """
    text = f"{{'descr': '<u4', 'fortran_order': False, 'shape': ({count},), }}"
    size = HEADER_BYTES - len(MAGIC) - 4
    return MAGIC + b"\x01\x00" + size.to_bytes(2, "little") + text.ljust(size - 1).encode() + b"\n"


def read_header(blocks: Iterable[bytes]) -> tuple[BinaryFormat, int, Iterator[bytes]]:
    """(format of the ids, how many, the blocks after the header); InputError for an array of another kind."""
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
        raise InputError("not a .npy file: it does not begin with \\x93NUMPY", "Use --format u32 for plain binary ids.")
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


def _described(raw: bytes) -> tuple[BinaryFormat, int]:
    try:
        meaning = ast.literal_eval(re.sub(r"[\s\0]+\Z", "", raw.decode("latin-1")))
        form, shape = _FORMS[meaning["descr"]], meaning["shape"]
    except (ValueError, SyntaxError, KeyError, TypeError, RecursionError, MemoryError):
        raise InputError(
            "the .npy file holds no uint32 or uint16 (little-endian)", "Convert it with numpy: ids.astype('<u4')."
        ) from None
    if not (isinstance(shape, tuple) and len(shape) == 1 and isinstance(shape[0], int) and shape[0] >= 0):
        raise InputError(f"the .npy file has the shape {shape!r}: ids are one-dimensional", "Use ids.ravel().")
    return form, shape[0]
