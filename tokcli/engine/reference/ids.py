"""Ids as decimal text and as binary data, and tables of numbers, in Python."""

from __future__ import annotations

import re
from array import array
from collections.abc import Sequence
from itertools import pairwise

from tokcli.engine.base.arguments import NO_ID

_ONLY_IDS = rb"[0-9\s,]*"
_MOST_DIGITS = 10  # 2**32 - 1 has ten


def parse_ids(text: bytes, /) -> bytes | None:
    """Return the ids in decimal text between ASCII white space and commas; None where there is anything else.

    >>> array("I", parse_ids(b"1, 23")).tolist(), parse_ids(b"x"), parse_ids(b"4294967296")
    ([1, 23], None, None)
    """
    items = text.replace(b",", b" ").split()
    if not re.fullmatch(_ONLY_IDS, text) or max(map(len, items), default=0) > _MOST_DIGITS:
        return None
    try:
        return array("I", map(int, items)).tobytes()
    except OverflowError:
        return None


def format_ids(ids: Sequence[int], between: bytes, /) -> bytes:
    """Return ids as decimal text with `between` between two of them.

    >>> format_ids([1, 23], b", ")
    b'1, 23'
    """
    return between.join(b"%d" % id for id in ids)


def format_records(
    ids: Sequence[int], offsets: Sequence[int], between: bytes, joint: bytes, limit: int, /
) -> tuple[bytes, bool]:
    """Return the ids of records as decimal text, and whether a record has more than `limit` ids.

    >>> format_records([5, 6, 7], [0, 2, 3], b" ", b"; ", 1)
    (b'5; 7', True)
    """
    records = [ids[first:end] for first, end in pairwise(offsets)]
    text = joint.join(format_ids(record[:limit], between) for record in records)
    return text, any(len(record) > limit for record in records)


def format_rows(columns: list[tuple[Sequence[int], bytes | None]], /) -> bytes:
    r"""Return a table as lines with tabs between their cells.

    A column is its numbers and None: then a cell is the number, and empty for NO_ID. Or it is numbers and lines of
    text: then a cell is the line with that number. Raise ValueError where columns have different lengths.

    >>> format_rows([([7, NO_ID], None), ([1, 0], b"a\nb\n")])
    b'7\tb\n\ta\n'
    """
    cells = []
    for numbers, text in columns:
        if text is None:
            cells.append([b"" if number == NO_ID else b"%d" % number for number in numbers])
        else:
            lines = text.removesuffix(b"\n").split(b"\n") if text else []
            if max(numbers, default=-1) >= len(lines):
                raise ValueError("a number in a column has no line")
            cells.append([lines[number] for number in numbers])
    return b"".join([b"%b\n" % row for row in map(b"\t".join, zip(*cells, strict=True))])


def narrow_ids(ids: Sequence[int], /) -> bytes:
    """Return the lower 16 bits of each id as uint16.

    >>> array("H", narrow_ids([1, 65538])).tolist()
    [1, 2]
    """
    return array("H", [id & 0xFFFF for id in ids]).tobytes()


def pack_records(
    ids: Sequence[int], offsets: Sequence[int], begin: int, extra: int | None, is_narrow: bool
) -> tuple[bytes, bytes]:
    """Return the ids of records, of 16 or 32 bits, and where each record ends (uint64), counted in ids from `begin`.

    >>> packed, ends = pack_records([5, 6, 7], [0, 2, 3], 10, 9, False)
    >>> array("I", packed).tolist(), array("Q", ends).tolist()
    ([5, 6, 9, 7, 9], [13, 15])
    """
    last = array("I", () if extra is None else [extra])
    packed, ends = array("I"), array("Q")
    for first, end in pairwise(offsets):
        packed += array("I", ids[first:end]) + last
        ends.append(begin + len(packed))
    return narrow_ids(packed) if is_narrow else packed.tobytes(), ends.tobytes()
