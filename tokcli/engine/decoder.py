"""Ids as they are written: decimal text, read as a stream and strictly, or binary; and written.

What bytes an id stands for is `Encoding`'s business.
"""

from __future__ import annotations

import re
import sys
from array import array
from collections.abc import Iterable, Iterator
from typing import Literal

from tokcli.engine import backend
from tokcli.errors import InputError

BinaryFormat = Literal["u16", "u32"]
Ids = memoryview | list[int]  # a list where one may be above uint32
NO_LIMIT = 2**64 - 1
TYPECODES: dict[BinaryFormat, str] = {"u16": "H", "u32": "I"}

MAX_ID_DIGITS = 10  # 2**32 - 1 has ten
SHOWN_CHARS = 40  # of a bad item, in messages
_SEPARATORS = rb"[\s,]+"  # of bytes: ASCII white space only
_ONLY_IDS = rb"[0-9\s,]*"
_BRACKET = ord("[")
_SEPARATING = (b" ", b"\n", b",", b"\t", b"\r", b"\v", b"\f")


def parse_ids(blocks: Iterable[bytes]) -> Iterator[Ids]:
    """Decimal ids in blocks of text, as sequences of ids.

    An id is 1 to 10 ASCII digits; between ids stand ASCII white space and commas, around them all one pair of brackets
    or none. Anything else is an InputError that names the item and its byte offset.

    >>> [list(ids) for ids in parse_ids([b"[1, 23", b"4 5]"])]
    [[1], [234, 5]]
    """
    for text, offset in cut_ids(blocks):
        yield ids_in(text, offset)


def cut_ids(blocks: Iterable[bytes]) -> Iterator[tuple[bytes, int]]:
    """(ids without the brackets, byte offset of it), cut where no id is; what it is, `ids_in` has to say."""
    offset = 0  # of `held`, in the input
    held = b""  # the end of what was read: an id may go on in the next block
    opened: bool | None = None  # by a bracket; None before the first item
    closed = False
    for block in blocks:
        held += block
        if opened is None:
            begins = len(held) - len(held.lstrip())
            if begins == len(held):
                continue
            opened = held[begins] == _BRACKET
            held, offset = held[begins + opened :], offset + begins + opened
        if opened and not closed and (end := held.find(b"]")) >= 0:
            yield held[:end], offset
            closed, held, offset = True, held[end + 1 :], offset + end + 1
        if closed:
            _refuse_any(held, offset)
            held, offset = b"", offset + len(held)
        cut = _last_separator(held)
        if cut:
            yield held[:cut], offset
            held, offset = held[cut:], offset + cut
        elif len(held) > SHOWN_CHARS:
            ids_in(held, offset)  # too long for an id: says so
    if opened and not closed:
        raise InputError(f"the list of ids has no closing bracket at byte {offset + len(held)}")
    if held:
        yield held, offset


def _last_separator(text: bytes) -> int:
    """Behind the last separator; 0 where there is none."""
    for start in (max(0, len(text) - SHOWN_CHARS), 0):  # as a rule one of the last bytes is one
        if cut := max(text.rfind(separator, start) for separator in _SEPARATING) + 1:
            return cut
    return 0


def _refuse_any(text: bytes, offset: int) -> None:
    if text.strip():
        raise _bad_item(text, offset + len(text) - len(text.lstrip()))


def ids_in(text: bytes, offset: int = 0) -> Ids:
    """The ids in a text without brackets, which begins at `offset`; InputError as in `parse_ids`."""
    native = backend.native()
    if native is not None and (ids := native.parse_ids(text)) is not None:
        return memoryview(ids).cast("I")
    items = text.replace(b",", b" ").split() if b"," in text else text.split()
    if not re.fullmatch(_ONLY_IDS, text) or (items and max(map(len, items)) > MAX_ID_DIGITS):
        at = 0
        for item in re.split(_SEPARATORS, text):
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


def parse_binary(blocks: Iterable[bytes], form: BinaryFormat) -> Iterator[memoryview]:
    """Little-endian ids of 2 or 4 bytes each, as buffers of them; InputError where the last one is not whole."""
    size = array(TYPECODES[form]).itemsize
    held, offset = b"", 0
    for block in blocks:
        data = held + block if held else block
        whole = len(data) - len(data) % size
        if whole:
            ids = memoryview(data)[:whole]
            yield in_other_order(ids.cast("H") if form == "u16" else ids.cast("I"))
        held, offset = data[whole:], offset + whole
    if held:
        raise InputError(f"the last id is cut off: {len(held)} of {size} bytes at byte {offset}")


def in_other_order(ids: memoryview) -> memoryview:
    """Ids from little-endian to this machine's order, or the other way round."""
    if sys.byteorder == "little":
        return ids
    swapped = array(ids.format, ids)
    swapped.byteswap()
    return memoryview(swapped)


def format_ids(ids: memoryview, between: bytes) -> bytes:
    """Ids (uint32) as decimal text.

    >>> format_ids(memoryview(array("I", [1, 23])), b", ")
    b'1, 23'
    """
    native = backend.native()
    text: bytes = between.join(b"%d" % i for i in ids) if native is None else native.format_ids(ids, between)
    return text


def format_records(
    ids: memoryview, offsets: memoryview, between: bytes, joint: bytes, limit: int | None
) -> tuple[bytes, bool]:
    """The same for records whose ids begin at `offsets` (uint64), `joint` between two of them; of each at most `limit`.

    The second is whether that left any out. Native only, as what makes such records is.
    """
    native = backend.native()
    assert native is not None
    made: tuple[bytes, bool] = native.format_records(ids, offsets, between, joint, NO_LIMIT if limit is None else limit)
    return made


def binary_ids(ids: memoryview, form: BinaryFormat) -> memoryview:
    """Ids (uint32) as little-endian ids of 2 or 4 bytes; of larger ones the upper bits are lost."""
    if form == "u16":
        native = backend.native()
        narrow = array("H", [i & 0xFFFF for i in ids]) if native is None else native.narrow_ids(ids)
        ids = memoryview(narrow).cast("B").cast("H")
    return in_other_order(ids)
