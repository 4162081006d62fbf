"""Ids as they are written: read from decimal text, as a stream and strictly, or from binary.

What bytes an id stands for is `Encoding`'s business.
"""

from __future__ import annotations

import re
import sys
from array import array
from collections.abc import Iterable, Iterator
from typing import Literal

from tokcli.errors import InputError

BinaryFormat = Literal["u16", "u32"]
TYPECODES: dict[BinaryFormat, str] = {"u16": "H", "u32": "I"}

MAX_ID_DIGITS = 10  # 2**32 - 1 has ten
SHOWN_CHARS = 40  # of a bad item, in messages
_SEPARATORS = re.compile(rb"[\s,]+")  # of bytes: ASCII white space only
_ONLY_IDS = re.compile(rb"[0-9\s,]*")
_OPENING = re.compile(rb"\s*(\[)?")
_SEPARATING = (b" ", b"\n", b",", b"\t", b"\r", b"\v", b"\f")


def parse_ids(blocks: Iterable[bytes]) -> Iterator[list[int]]:
    """Decimal ids in blocks of text, as lists of ids.

    An id is 1 to 10 ASCII digits; between ids stand ASCII white space and commas, around them all one pair of brackets
    or none. Anything else is an InputError that names the item and its byte offset.

    >>> list(parse_ids([b"[1, 23", b"4 5]"]))
    [[1], [234, 5]]
    """
    offset = 0  # of `held`, in the input
    held = b""  # the end of what was read: an id may go on in the next block
    opened: bool | None = None  # by a bracket; None before the first item
    closed = False
    for block in blocks:
        held += block
        if opened is None:
            opening = _OPENING.match(held)
            if opening is None or (opening.end() == len(held) and not opening[1]):
                continue
            opened = bool(opening[1])
            held, offset = held[opening.end() :], offset + opening.end()
        if opened and not closed and (end := held.find(b"]")) >= 0:
            yield _ids_in(held[:end], offset)
            closed, held, offset = True, held[end + 1 :], offset + end + 1
        if closed:
            _refuse_any(held, offset)
            held, offset = b"", offset + len(held)
        cut = max(held.rfind(separator) for separator in _SEPARATING) + 1
        if cut:
            yield _ids_in(held[:cut], offset)
            held, offset = held[cut:], offset + cut
        elif len(held) > SHOWN_CHARS:
            _ids_in(held, offset)  # too long for an id: says so
    if opened and not closed:
        raise InputError(f"the list of ids has no closing bracket at byte {offset + len(held)}")
    if ids := _ids_in(held, offset):
        yield ids


def _refuse_any(text: bytes, offset: int) -> None:
    if text.strip():
        raise _bad_item(text, offset + len(text) - len(text.lstrip()))


def _ids_in(text: bytes, offset: int) -> list[int]:
    items = text.replace(b",", b" ").split() if b"," in text else text.split()
    if not _ONLY_IDS.fullmatch(text) or (items and max(map(len, items)) > MAX_ID_DIGITS):
        at = 0
        for item in _SEPARATORS.split(text):
            at = text.index(item, at)
            if item and (not item.isdigit() or len(item) > MAX_ID_DIGITS):
                raise _bad_item(item, offset + at)
    return list(map(int, items))


def _bad_item(item: bytes, offset: int) -> InputError:
    shown = item.split()[0][:SHOWN_CHARS].decode("utf-8", "replace") if item.split() else ""
    return InputError(
        f"not an id at byte {offset}: {shown!r}",
        f"An id is 1 to {MAX_ID_DIGITS} ASCII digits; separate ids by white space or commas.",
    )


def parse_binary(blocks: Iterable[bytes], form: BinaryFormat) -> Iterator[array[int]]:
    """Little-endian ids of 2 or 4 bytes each, as arrays; InputError where the last one is not whole."""
    size = array(TYPECODES[form]).itemsize
    held, offset = b"", 0
    for block in blocks:
        data = held + block
        whole = len(data) - len(data) % size
        ids = array(TYPECODES[form], data[:whole])
        if sys.byteorder == "big":
            ids.byteswap()
        if ids:
            yield ids
        held, offset = data[whole:], offset + whole
    if held:
        raise InputError(f"the last id is cut off: {len(held)} of {size} bytes at byte {offset}")
