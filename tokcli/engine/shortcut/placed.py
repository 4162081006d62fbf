"""The places of a shortcut's tokens in a text, which are known where the tokens have the bytes of the text."""

from __future__ import annotations

from array import array
from typing import TYPE_CHECKING

from tokcli.engine.tokens import Tokens
from tokcli.engine.unicode.ranges import SPACES

if TYPE_CHECKING:
    from typing_extensions import Buffer

    from tokcli.engine import _native
    from tokcli.engine.shortcut.shortcut import Shortcut
    from tokcli.engine.tiktoken.native_encoder import NativeEncoder

_BLANKS = SPACES + "\u0120"  # the character of a space's byte in GPT-2's alphabet


def placed(
    shortcut: Shortcut, native: NativeEncoder, decoder: _native.Decoder, text: str, start: int, *, with_blanks: bool
) -> Tokens | None:
    """Return the tokens of a text that a shortcut holds for, which begins at character `start` of the input.

    A space that is put before the text has the place of the first character. Return None where only Python can encode
    the text, or where not all of it becomes tokens.
    """
    plain = shortcut.with_prefix(text)
    added = len(plain) - len(text)
    try:
        data = plain.encode()
    except UnicodeEncodeError:  # a lone surrogate
        return None
    found = placed_utf8(native, decoder, data, start - added, with_blanks=with_blanks)
    if found is not None and found.spans and added:
        found.spans = array("Q", found.spans)
        found.spans[:2] = array("Q", [start, max(found.spans[1], start + 1)])
    return found


def placed_utf8(
    native: NativeEncoder, decoder: _native.Decoder, data: Buffer, start: int, *, with_blanks: bool
) -> Tokens | None:
    """Return the tokens of UTF-8 as `placed` does; nothing is put before it."""
    ids = native.encode_utf8(data)
    places = None if ids is None else decoder.place(ids, data, start, with_blanks)
    if ids is None or places is None:
        return None
    blanks = None if places[1] is None else memoryview(places[1]).cast("I")
    return Tokens(ids, spans=memoryview(places[0]).cast("Q"), blanks=blanks)


def blanks_of(text: str) -> tuple[int, int]:
    """Return the number of white-space characters, GPT-2's for a space included, that a token begins and ends with.

    >>> blanks_of("\\u0120a "), blanks_of("  ")
    ((1, 1), (2, 2))
    """
    return len(text) - len(text.lstrip(_BLANKS)), len(text) - len(text.rstrip(_BLANKS))
