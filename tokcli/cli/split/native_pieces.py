"""The pieces of a text as native code prints them: lines, strings of JSON, and rows of the table."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tokcli.cli.json_stream import safe
from tokcli.engine import backend
from tokcli.render.glyphs import HIDDEN, PLAIN, Glyph, GlyphTable
from tokcli.render.visible import escape

if TYPE_CHECKING:
    from tokcli.analysis.pieces.piece_arrays import PieceArrays
    from tokcli.engine.stream.utf8 import SplitText

IN_LINES = GlyphTable(lambda char: Glyph(PLAIN if escape(char) == char else HIDDEN))
IN_JSON = GlyphTable(lambda char: Glyph(PLAIN if safe(char) == char else HIDDEN))


def printed_pieces(part: SplitText, between: bytes, *, is_json: bool) -> bytes:
    """Return the pieces of a text joined by `between`, as JSON strings or as `escape` writes them."""
    code = backend.code()
    text = code.replace_noise(part.data)[0] if part.is_noise else part.data
    glyphs = (IN_JSON if is_json else IN_LINES).for_text(text)
    made: bytes = code.escape_pieces(part.data, part.ends, between, glyphs, is_json, part.is_noise)
    return made


def printed_rows(first: int, arrays: PieceArrays, *, is_json: bool) -> bytes:
    """Return the rows of the table for pieces, numbered from `first`: lines, or JSON objects with commas between."""
    code = backend.code()
    glyphs = (IN_JSON if is_json else IN_LINES).for_text(arrays.text)
    columns = arrays.text, arrays.ends, arrays.alternatives, arrays.ids, arrays.counts
    made: bytes = code.piece_rows(*columns, first, arrays.offset, glyphs, is_json)
    return made
