"""Notes on JSON that is read as one text, where its records may be what was meant."""

from __future__ import annotations

import re

from tokcli.cli import messages

LINES = (".jsonl", ".ndjson")  # the ends of names of JSON Lines
PACKED = ("gz", "bz2", "xz", "zst")
_TWO_OBJECTS = rb"\{[^\r\n]*\}\r?\n\{"  # each on a line
_ARRAY_OF_OBJECTS = rb"\[\s*\{"


def note_json(shown: str, name: str, first: bytes, *, is_found: bool) -> None:
    """Print a note once if an input that is read as text, and begins with the bytes `first`, has records in JSON.

    A file that -r found (`is_found`) gets none: the text of all files was asked for.
    """
    if is_found:
        return
    plain, _, end = name.lower().rpartition(".")
    is_named_lines = (plain if end in PACKED else name.lower()).endswith(LINES)
    if first[:1] == b"{" and (is_named_lines or re.match(_TWO_OBJECTS, first)):
        text = f"{shown}: JSON Lines, read as one text; --records jsonl reads the text of each object."
        messages.print_note_once(text, "JSON Lines")
    elif re.match(_ARRAY_OF_OBJECTS, first):
        chat = " (count --chat counts messages)" if b'"role"' in first else ""
        lines = "--records jsonl reads objects on lines, as jq -c '.[]' writes them"
        text = f"{shown}: a JSON array, read as one text{chat}; {lines}."
        messages.print_note_once(text, "a JSON array")
