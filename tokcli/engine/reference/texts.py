"""Text in UTF-8, in Python: what of it is valid, its characters, and the records that it is made of."""

from __future__ import annotations

import codecs
import json
from array import array
from itertools import accumulate
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from typing_extensions import Buffer

_CONTINUING = bytes(range(0x80, 0xC0))
_REPLACEMENT = "\ufffd".encode()
_NO_LIMIT = 2**63 - 1


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


def replace_invalid(data: Buffer, limit: int = _NO_LIMIT) -> tuple[bytes, int]:
    r"""Return data with U+FFFD for what is not UTF-8, up to `limit` bytes, and how many bytes of the data that took.

    >>> replace_invalid(b"a\xff\xe4\xb8b"), replace_invalid(b"a\xffbc", 5)
    ((b'a\xef\xbf\xbd\xef\xbf\xbdb', 5), (b'a\xef\xbf\xbdb', 3))
    """
    given = bytes(data)
    replaced = str(given, "utf-8", "replace").encode()
    if len(replaced) <= limit:
        return replaced, len(given)
    out, at = bytearray(), 0
    while at < len(given) and len(out) < limit:
        size, is_text = _first_sequence(given[at : at + 4])
        size = min(size, limit - len(out)) if is_text else size
        out += given[at : at + size] if is_text else _REPLACEMENT
        at += size
    return bytes(out), at


def _first_sequence(data: bytes) -> tuple[int, bool]:
    """Return the size of the first character, or of the bytes that become one U+FFFD; and whether it is a character."""
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        if not error.start:
            return error.end, False
        text = data[: error.start].decode()
    return len(text[0].encode()), True


def record_ends(data: Buffer, separator: int, /) -> bytes:
    r"""Return the places after each byte that is `separator` (uint64).

    >>> array("Q", record_ends(b"a\nbc\nd", 10)).tolist()
    [2, 5]
    """
    records = bytes(data).split(bytes([separator]))[:-1]
    return array("Q", accumulate(len(record) + 1 for record in records)).tobytes()


def json_texts(lines: bytes, name: bytes, other: bytes, /) -> tuple[bytes, bytes] | None:
    r"""Return the strings that member `name` is on each line, as UTF-8 in a row, and where each ends (uint64).

    None unless every line is an object that has `name`, as a string of whole characters, and lacks the member `other`.

    >>> texts, ends = json_texts(b'{"a": "b"}\n{"a": "\\u00e9"}\n', b"a", b"c")
    >>> texts.decode(), array("Q", ends).tolist()
    ('b\xe9', [1, 3])
    """
    wanted, unwanted = name.decode(errors="surrogatepass"), other.decode()
    texts: list[bytes] = []
    try:
        *each, rest = lines.decode().split("\n")
        if rest or not each:
            return None
        for line in each:
            members = json.loads(line, parse_constant=_no_constant)
            if type(members) is not dict or unwanted in members or type(members.get(wanted)) is not str:
                return None
            texts.append(members[wanted].encode())
    except (ValueError, RecursionError):
        return None
    return b"".join(texts), array("Q", accumulate(map(len, texts))).tobytes()


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is not a JSON number")
