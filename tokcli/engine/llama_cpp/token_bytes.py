"""The bytes of the tokens of a GGUF file, each by itself."""

from __future__ import annotations

import re

from tokcli.engine.bpe.byte_alphabet import BYTE_OF, VISIBLE_SPACE
from tokcli.engine.spec.models import BYTE, CONTROL, NORMAL, UNKNOWN, USER_DEFINED, LlamaModel
from tokcli.engine.tokens import check_growth, most_made_of


def bytes_of(model: LlamaModel, id: int) -> bytes:
    """Return the bytes of an id; none for unused tokens."""
    text, kind = model.texts[id], model.kinds[id]
    data = text.encode("utf-8", "surrogateescape")
    if model.kind == "rwkv":
        return unescaped(text)
    if model.kind == "plamo2":
        return bytes([int(text[3:5], 16)]) if kind & BYTE else data
    if kind & (CONTROL | UNKNOWN | USER_DEFINED):
        return data
    if kind & NORMAL:
        return data.replace(VISIBLE_SPACE.encode(), b" ") if model.shows_spaces else _bytes_of_characters(text)
    return bytes([_number(data[3:5])]) if kind & BYTE else b""


def _number(digits: bytes) -> int:
    """Return the low byte of what C's strtol reads in base 16: spaces, a sign, digits; what follows is ignored."""
    found = re.match(rb"[ \t-\r]*([+-]?)([0-9A-Fa-f]*)", digits)
    value = int(found[2] or b"0", 16) if found else 0
    return (-value if found and found[1] == b"-" else value) & 0xFF


def _bytes_of_characters(text: str) -> bytes:
    """Return the bytes of a text in GPT-2's alphabet; other characters become [UNK_BYTE_0x...], as in llama.cpp."""
    data, unknown = text.encode("utf-8", "surrogateescape"), len(text) - sum(char in BYTE_OF for char in text)
    check_growth(unknown * (len(data) + 21), most_made_of(len(data)), "vocabulary")
    out = bytearray()
    for char in text:
        if char in BYTE_OF:
            out.append(BYTE_OF[char])
        else:
            shown = "\ufffd" if "\udc80" <= char <= "\udcff" else char  # a byte that is not UTF-8
            out += b"[UNK_BYTE_0x%s%s]" % (shown.encode().hex().encode(), data)
    return bytes(out)


_ESCAPE = re.compile(rb"\\(?:x([0-9a-f]{2})|(.))", re.DOTALL)


def unescaped(text: str) -> bytes:
    r"""Return the bytes of a token that is written with RWKV's escapes.

    >>> unescaped(r"a\n\x0a")
    b'a\n\n'
    """

    def plain(match: re.Match[bytes]) -> bytes:
        if match[1]:
            return bytes([int(match[1], 16)])
        return {b"t": b"\t", b"n": b"\n", b"r": b"\r"}.get(match[2], match[2])

    return _ESCAPE.sub(plain, text.encode("utf-8", "surrogateescape"))
