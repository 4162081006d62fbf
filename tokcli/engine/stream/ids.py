"""Reads and writes ids: decimal text, which is read strictly and as a stream, and little-endian binary data.

Which bytes an id decodes to is left to the tokenizers; `.npy` files are read by `npy.py`.
"""

from __future__ import annotations

import re
import sys
from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Literal

from tokcli.engine import backend
from tokcli.errors import InputError

BinaryFormat = Literal["u16", "u32"]
ReadFormat = BinaryFormat | Literal["i32"]  # int32 is read, never written
Ids = memoryview | list[int]  # a list where an id may be above uint32
NO_LIMIT = 2**64 - 1
U16_IDS = 1 << 16  # the ids that two bytes can hold are those below
TYPECODES: dict[ReadFormat, str] = {"u16": "H", "u32": "I", "i32": "I"}

MAX_ID_DIGITS = 10  # 2**32 - 1 has ten
SHOWN_CHARS = 40  # of an invalid item, in messages
_SEPARATORS = rb"[\s,]+"  # of bytes: ASCII white space only
_BRACKET = ord("[")
_SEPARATING = (b" ", b"\n", b",", b"\t", b"\r", b"\v", b"\f")


def parse_ids(blocks: Iterable[bytes]) -> Iterator[Ids]:
    """Yield the decimal ids in blocks of text, as sequences of ids.

    An id is 1 to 10 ASCII digits. ASCII white space and commas separate ids, and one pair of brackets may enclose them
    all. Anything else raises InputError, which names the item and its byte offset.

    >>> [list(ids) for ids in parse_ids([b"[1, 23", b"4 5]"])]
    [[1], [234, 5]]
    """
    for text, offset in cut_ids(blocks):
        yield ids_in(text, offset)


def cut_ids(blocks: Iterable[bytes]) -> Iterator[tuple[bytes, int]]:
    """Yield (text, its byte offset), cut between ids and without the brackets, for `ids_in` to read the ids in it."""
    offset = 0  # of `held`, in the input
    held = b""  # the end of what was read: an id may continue in the next block
    opened: bool | None = None  # whether a bracket opened the list; None before the first item
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
            ids_in(held, offset)  # too long for an id: raises
    if opened and not closed:
        raise InputError("the list of ids has no closing bracket", offset=offset + len(held), unit="byte")
    if held:
        yield held, offset


def _last_separator(text: bytes) -> int:
    """Return the index after the last separator; 0 where there is none."""
    for start in (max(0, len(text) - SHOWN_CHARS), 0):  # as a rule one of the last bytes is a separator
        if cut := max(text.rfind(separator, start) for separator in _SEPARATING) + 1:
            return cut
    return 0


def _refuse_any(text: bytes, offset: int) -> None:
    if text.strip():
        raise _bad_item(text, offset + len(text) - len(text.lstrip()))


def ids_in(text: bytes, offset: int = 0) -> Ids:
    """Return the ids in a text without brackets, which begins at byte `offset`; InputError as in `parse_ids`."""
    if (ids := backend.code().parse_ids(text)) is not None:
        return memoryview(ids).cast("I")
    at = 0
    for item in re.split(_SEPARATORS, text):
        at = text.index(item, at)
        if item and (not item.isdigit() or len(item) > MAX_ID_DIGITS):
            raise _bad_item(item, offset + at)
    return list(map(int, text.replace(b",", b" ").split()))


def _bad_item(item: bytes, offset: int) -> InputError:
    shown = item.split()[0][:SHOWN_CHARS].decode("utf-8", "replace") if item.split() else ""
    return InputError(
        "not an id",
        f"An id is 1 to {MAX_ID_DIGITS} ASCII digits; separate ids by white space or commas.",
        offset=offset,
        unit="byte",
        detail=repr(shown),
    )


def parse_binary(blocks: Iterable[bytes], form: ReadFormat) -> Iterator[memoryview]:
    """Yield little-endian ids of 2 or 4 bytes each, as buffers; InputError where one is negative or cut off."""
    size = array(TYPECODES[form]).itemsize
    held, offset = b"", 0
    for block in blocks:
        data = held + block if held else block
        whole = len(data) - len(data) % size
        if whole:
            if form == "i32":
                _refuse_negative(data[:whole], offset)
            ids = memoryview(data)[:whole]
            yield in_other_order(ids.cast("H") if form == "u16" else ids.cast("I"))
        held, offset = data[whole:], offset + whole
    if held:
        raise InputError(f"the last id is cut off: {len(held)} of {size} bytes", offset=offset, unit="byte")


def _refuse_negative(data: bytes, offset: int) -> None:
    high = data[3::4]
    if not high.isascii():  # the highest bit of an id is set
        at = 4 * next(at for at, byte in enumerate(high) if byte >= 1 << 7)
        shown = int.from_bytes(data[at : at + 4], "little", signed=True)
        raise InputError("not an id", "Ids are not negative.", offset=offset + at, unit="byte", detail=repr(shown))


def in_other_order(ids: memoryview) -> memoryview:
    """Return ids with their bytes converted from little-endian to this machine's order, or back."""
    if sys.byteorder == "little":
        return ids
    swapped = array(ids.format, ids)
    swapped.byteswap()
    return memoryview(swapped)


def format_ids(ids: memoryview, between: bytes) -> bytes:
    """Return ids (uint32) as decimal text.

    >>> format_ids(memoryview(array("I", [1, 23])), b", ")
    b'1, 23'
    """
    text: bytes = backend.code().format_ids(ids, between)
    return text


def format_records(
    ids: memoryview, offsets: memoryview, between: bytes, joint: bytes, limit: int | None
) -> tuple[bytes, bool]:
    """Return the ids of records as decimal text, and whether `limit` left any out.

    The ids of each record begin at `offsets` (uint64). `between` separates ids and `joint` records; at most `limit` ids
    of each record are written.
    """
    most = NO_LIMIT if limit is None else min(limit, NO_LIMIT)
    made: tuple[bytes, bool] = backend.code().format_records(ids, offsets, between, joint, most)
    return made


def binary_ids(ids: memoryview, form: BinaryFormat) -> memoryview:
    """Return ids (uint32) as little-endian ids of 2 or 4 bytes; two bytes lose the upper bits of larger ids."""
    if form == "u16":
        ids = memoryview(backend.code().narrow_ids(ids)).cast("H")
    return in_other_order(ids)


def packed_records(
    ids: memoryview, offsets: memoryview, begin: int, extra: int | None, form: BinaryFormat
) -> tuple[memoryview, memoryview]:
    """Return the ids of records as `binary_ids` does, and where each record ends (uint64), counted in ids from `begin`.

    The ids of each record begin at `offsets` (uint64) in `ids` (uint32); the id `extra`, where given, ends each record.

    >>> ids, ends = packed_records(memoryview(array("I", [5, 6, 7])), memoryview(array("Q", [0, 2, 3])), 10, 9, "u16")
    >>> ids.tolist(), ends.tolist()
    ([5, 6, 9, 7, 9], [13, 15])
    """
    data, ends = backend.code().pack_records(ids, offsets, begin, extra, form == "u16")
    packed = memoryview(data).cast("H") if form == "u16" else memoryview(data).cast("I")
    return in_other_order(packed), memoryview(ends).cast("Q")


def special_ids(tokens: Mapping[str, int], is_special: Callable[[int], bool]) -> frozenset[int]:
    """Return the ids of special tokens, but for those that are another token's, too."""
    return frozenset(filter(is_special, tokens.values()))


def without(ids: Ids | Sequence[int], left_out: frozenset[int]) -> Ids | Sequence[int]:
    """Return ids without those that are left out.

    >>> without([1, 2, 3], frozenset({2})), without([1], frozenset())
    ([1, 3], [1])
    """
    if not left_out or left_out.isdisjoint(ids):  # (to look at each id takes as long as to decode it)
        return ids
    return [id for id in ids if id not in left_out]
