"""The places of a shortcut's tokens in a text, which are known where the tokens have the bytes of the text."""

from __future__ import annotations

from array import array
from typing import TYPE_CHECKING

from tokcli.engine.tokens import Spans, Tokens

if TYPE_CHECKING:
    from tokcli.engine import _native
    from tokcli.engine.shortcut.shortcut import Shortcut
    from tokcli.engine.tiktoken.native_encoder import NativeEncoder


def placed(
    shortcut: Shortcut, native: NativeEncoder, decoder: _native.Decoder, text: str, start: int, *, with_blanks: bool
) -> Tokens | None:
    """Return the tokens of a text that a shortcut holds for, which begins at character `start` of the input.

    A space that is put before the text has the place of the first character. Return None where only Python can encode
    the text, or where not all of it becomes tokens.
    """
    plain = shortcut.with_prefix(text)
    ids = native.encode_array(plain)
    places = None if ids is None else decoder.place(ids, plain.encode(), start - (len(plain) - len(text)), with_blanks)
    if ids is None or places is None:
        return None
    spans: Spans = memoryview(places[0]).cast("Q")
    if len(plain) > len(text):
        spans = array("Q", places[0])
        spans[:2] = array("Q", [start, max(spans[1], start + 1)])
    return Tokens(ids, spans=spans, blanks=None if places[1] is None else memoryview(places[1]).cast("I"))
