"""The Python way of the native module's small functions and classes, with the same names and parameters.

It is their specification, and what `backend.code()` gives where there is no native code. Arrays are
returned as bytes, as native code returns them.
"""

from tokcli.engine.reference.count_blocks import RunMerger
from tokcli.engine.reference.ids import format_ids, format_records, format_rows, narrow_ids, pack_records, parse_ids
from tokcli.engine.reference.known_tokens import KnownTokens
from tokcli.engine.reference.matches import BytesMatch as LongestMatch
from tokcli.engine.reference.piece_table import PieceTable
from tokcli.engine.reference.spans import byte_spans, format_spans, mapped_spans, trimmed_spans
from tokcli.engine.reference.texts import count_chars, json_texts, record_ends, replace_invalid, valid_utf8

__all__ = [
    "KnownTokens",
    "LongestMatch",
    "PieceTable",
    "RunMerger",
    "byte_spans",
    "count_chars",
    "format_ids",
    "format_records",
    "format_rows",
    "format_spans",
    "json_texts",
    "mapped_spans",
    "narrow_ids",
    "pack_records",
    "parse_ids",
    "record_ends",
    "replace_invalid",
    "trimmed_spans",
    "valid_utf8",
]
