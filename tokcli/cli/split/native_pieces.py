"""The pieces of a text as native code prints them: lines, strings of JSON, and rows of the table."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tokcli.engine import backend

if TYPE_CHECKING:
    from tokcli.analysis.pieces.piece_arrays import PieceArrays
    from tokcli.engine.stream.utf8 import SplitText


def printed_pieces(part: SplitText, between: bytes, *, is_json: bool) -> bytes:
    """Return the pieces of a text joined by `between`, as JSON strings or as `escape` writes them."""
    made: bytes = backend.code().escape_pieces(part.data, part.ends, between, is_json, part.is_invalid)
    return made


def printed_rows(first: int, arrays: PieceArrays, *, is_json: bool) -> bytes:
    """Return the rows of the table for pieces, numbered from `first`: lines, or JSON objects with commas between."""
    columns = arrays.text, arrays.ends, arrays.alternatives, arrays.ids, arrays.counts
    made: bytes = backend.code().piece_rows(*columns, first, arrays.offset, is_json)
    return made
