"""UTF-8 in Python: how much of it is valid, and how many characters it has."""

from __future__ import annotations

import codecs

from typing_extensions import Buffer

_CONTINUING = bytes(range(0x80, 0xC0))


def valid_utf8(text: Buffer, /) -> int:
    r"""Return the number of bytes, from the beginning, that are whole characters of UTF-8.

    >>> valid_utf8(b"ab\xc3"), valid_utf8(b"a\xffb")
    (2, 1)
    """
    try:
        return codecs.utf_8_decode(text, "strict", False)[1]
    except UnicodeDecodeError as error:
        return error.start


def count_chars(text: Buffer, /) -> int:
    """Return the number of characters of a text in UTF-8; of other bytes, how many do not continue a character.

    >>> count_chars("a\u4e2d".encode())
    2
    """
    return len(bytes(text).translate(None, _CONTINUING))
