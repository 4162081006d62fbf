"""A record of --records: its text, its name in messages, and the members of the JSON object that it comes from.

How inputs become records is told by `inputs/records.py`, which most runs do not load.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from tokcli.engine.stream.utf8 import without_surrogates
from tokcli.errors import InputError, NotUtf8Error

if TYPE_CHECKING:
    from tokcli.cli.streams import Input
    from tokcli.engine.stream.chunks import Utf8Errors

PAIR = "text_pair"  # the member with the second text of a record
SEPARATOR = {"lines": b"\n", "nul": b"\0", "jsonl": b"\n"}


class Record:
    """One record: the bytes of its text, its name in messages, and the members of a JSON object."""

    __slots__ = ("data", "members", "shown")

    def __init__(self, data: bytes, shown: str, members: dict[str, Any] | None = None) -> None:
        self.data, self.shown, self.members = data, shown, members

    def blocks(self) -> Iterable[bytes]:
        """Return the bytes, as a stream of one block."""
        return [self.data]


def text_of(members: dict[str, Any], field: str, where: str | None, errors: Utf8Errors = "strict") -> bytes:
    """Return the text in a member of a JSON object, as UTF-8; InputError if it is missing or is not a string.

    A lone surrogate, which UTF-8 cannot hold, is an error, too, if `errors` is strict, and else U+FFFD, as in tiktoken.
    """
    text = _member(members, field, where)
    if not isinstance(text, str):
        raise InputError(f"member {field!r} is not a string", where=where)
    try:
        return text.encode()
    except UnicodeEncodeError as error:
        if errors == "strict":
            found = f"\\u{ord(text[error.start]):04x}"
            raise NotUtf8Error(
                f"half of a surrogate pair in member {field!r}",
                "Pass errors='replace' (U+FFFD for what is not UTF-8).",
                where=where,
                offset=error.start,
                unit="character",
                detail=found,
            ) from None
        return without_surrogates(text).encode()


def has_pair(source: Input | Record) -> bool:
    """Return whether an input is a record that has a second text, in its member text_pair."""
    return isinstance(source, Record) and PAIR in (source.members or ())


def pair_of(source: Input | Record, errors: Utf8Errors) -> Record | None:
    """Return the second text of a record as a record; None where there is none."""
    if not isinstance(source, Record) or source.members is None or not has_pair(source):
        return None
    return Record(text_of(source.members, PAIR, source.shown, errors), source.shown)


def ids_of(members: dict[str, Any], field: str, where: str) -> list[int]:
    """Return the ids in a member of a JSON object; InputError if it is not a list of whole numbers."""
    ids = _member(members, field, where)
    if not isinstance(ids, list) or not all(type(item) is int for item in ids):
        raise InputError(f"member {field!r} is not a list of ids", where=where)
    return ids


def _member(members: dict[str, Any], field: str, where: str | None) -> object:
    """Return the member `field` of a JSON object; where none has this name, a.b is member b of the object in a."""
    if field in members:
        return members[field]
    found: object = members
    for name in field.split("."):
        if not isinstance(found, dict) or name not in found:
            known = ", ".join(map(repr, list(members)[:8])) or "none"
            raise InputError(f"no member {field!r} (it has {known})", "Name the member with --field.", where=where)
        found = found[name]
    return found
