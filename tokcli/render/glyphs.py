"""Tables from which native code knows how to show characters outside ASCII, one for each way of showing them.

They are filled as characters occur, by asking the sanitizer (visible.py), so that native code shows each character as
the running Python does.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

from tokcli.engine import backend

if TYPE_CHECKING:
    from typing import Literal

    from typing_extensions import Buffer

    from tokcli.engine import _native

    Kind = Literal[1, 2, 3, 4, 5]

PLAIN: Kind = 1  # the character itself is shown
MARK: Kind = 2  # it is shown on the character before it
SPACE: Kind = 3
HIDDEN: Kind = 4  # only a substitute is shown
HIDDEN_MARK: Kind = 5
FROM_RIGHT = 8  # a flag beside the kind
WIDTH_SHIFT = 4  # the bits of a value below the width


class Glyph(NamedTuple):
    """The way a character is shown: its kind, and where they matter, its width in screen cells and its direction."""

    kind: Kind
    width: int = 0
    from_right: bool = False


class GlyphTable:
    """A table that tells native code how to show characters; `glyph_of` is asked about each of them once."""

    def __init__(self, glyph_of: Callable[[str], Glyph]) -> None:
        self._glyph_of = glyph_of
        self._native: _native.Glyphs | None = None

    def for_text(self, data: Buffer) -> _native.Glyphs:
        """Return the native table, filled with every character of `data`, which is UTF-8."""
        if self._native is None:
            native = backend.native()
            assert native is not None
            self._native = native.Glyphs()
        if missing := self._native.missing(data):
            glyphs = [self._glyph_of(chr(point)) for point in memoryview(missing).cast("I")]
            self._native.learn(missing, bytes(map(_value, glyphs)))
        return self._native


def _value(glyph: Glyph) -> int:
    return glyph.kind | FROM_RIGHT * glyph.from_right | glyph.width << WIDTH_SHIFT
