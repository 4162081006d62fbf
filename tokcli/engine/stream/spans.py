"""Spans of tokens for output: formatted as lines or JSON, and converted from characters to bytes.

Spans are an array of uint64 with two numbers for each token: the first and the past-the-end character, or byte.
"""

from __future__ import annotations

from tokcli.engine import backend
from tokcli.engine.tokens import Spans


def format_lines(ids: memoryview, spans: Spans, shift: int = 0) -> bytes:
    r"""Return a line for each id (uint32), with the id and its span between tabs, moved on by `shift`.

    >>> from array import array
    >>> format_lines(memoryview(array("I", [7])), array("Q", [0, 2]))
    b'7\t0\t2\n'
    """
    lines: bytes = backend.code().format_spans(ids, spans, shift)
    return lines


def format_json(spans: Spans, shift: int = 0) -> bytes:
    """Return spans, moved on by `shift`, as the items of a JSON array.

    >>> from array import array
    >>> format_json(array("Q", [0, 2, 2, 3]), 5)
    b'[5, 7], [7, 8]'
    """
    items: bytes = backend.code().format_spans(None, spans, shift)
    return items


def byte_spans(data: bytes | memoryview, spans: Spans) -> Spans:
    """Return spans in the characters of a text as spans in its bytes; a place past the end of the text is its end.

    >>> from array import array
    >>> byte_spans("aé!".encode(), array("Q", [0, 2, 2, 3])).tolist()
    [0, 3, 3, 4]
    """
    return memoryview(backend.code().byte_spans(data, spans)).cast("Q")
