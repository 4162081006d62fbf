"""Inputs as records (--records): each line, NUL-ended string or JSON object; and JSON that is safe to show."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Literal

from tokcli.cli.streams import Input
from tokcli.engine.stream import MAX_PIECE_BYTES
from tokcli.engine.text import without_surrogates
from tokcli.errors import InputError

Kind = Literal["lines", "nul", "jsonl"]
SEPARATOR = {"lines": b"\n", "nul": b"\0", "jsonl": b"\n"}

MAX_RECORD_BYTES = MAX_PIECE_BYTES  # a record is held in memory, as a piece is

# What a terminal might act on, or nobody would see: in JSON as \uXXXX, which is the same text.
_UNSAFE = re.compile(
    "[\x7f-\x9f\xad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\ud800-\udfff"
    "\U000e0000-\U000e0fff]"
)


@dataclass(frozen=True)
class Record:
    """One record: its bytes (of its text), or for JSON the whole object, and where it stands."""

    data: bytes
    where: str
    members: dict[str, Any] | None = None

    @property
    def shown(self) -> str:
        """Its name in messages."""
        return self.where

    def blocks(self) -> Iterable[bytes]:
        """Its bytes, as a stream of one block."""
        return [self.data]


def read_raw(source: Input, kind: Kind) -> Iterator[tuple[int, bytes]]:
    """(number from 1, bytes) of each record, without its separator; the last one need not have any."""
    separator = SEPARATOR[kind]
    number = size = 0
    parts: list[bytes] = []  # of a record that spans blocks
    for block in source.blocks():
        first, *rest = block.split(separator)
        parts.append(first)
        size = size + len(first) if not rest else len(rest[-1])
        if size > MAX_RECORD_BYTES:
            raise InputError(f"{source.shown}: record {number + 1} is above {MAX_RECORD_BYTES >> 20} MiB")
        for part in rest:
            number += 1
            yield number, b"".join(parts)
            parts = [part]
    last = b"".join(parts)
    if last:
        yield number + 1, last


def read_records(source: Input, kind: Kind, field: str | None) -> Iterator[Record]:
    """The records of an input as text; InputError names the one that is none."""
    for number, raw in read_raw(source, kind):
        where = f"{source.shown}: record {number}"
        if kind != "jsonl":
            yield Record(raw, where)
        elif raw.strip():
            members = read_object(raw, where)
            yield Record(text_of(members, field or "text", where), where, members)


def read_object(raw: bytes, where: str) -> dict[str, Any]:
    """A JSON object, strictly."""
    import json

    try:
        members = json.loads(raw.decode(), parse_constant=_no_constant)
    except RecursionError:
        raise InputError(f"{where}: nested too deep") from None
    except UnicodeDecodeError as error:
        raise InputError(f"{where}: not UTF-8 at byte {error.start} of it") from None
    except json.JSONDecodeError as error:
        at = len(error.doc[: error.pos].encode())
        raise InputError(f"{where}: no JSON at byte {at} of it: {error.msg[:1].lower()}{error.msg[1:]}") from None
    except ValueError as error:  # a number of thousands of digits
        raise InputError(f"{where}: no JSON: {error}") from None
    if not isinstance(members, dict):
        raise InputError(f"{where}: not a JSON object but {type(members).__name__}")
    return members


def _no_constant(name: str) -> object:
    raise ValueError(f"{name} is no JSON number")


def text_of(members: dict[str, Any], field: str, where: str) -> bytes:
    """The text in a member of a JSON object, as UTF-8; lone surrogates become U+FFFD as in tiktoken."""
    text = _member(members, field, where)
    if not isinstance(text, str):
        raise InputError(f"{where}: member {field!r} is no string")
    return without_surrogates(text).encode()


def ids_of(members: dict[str, Any], field: str, where: str) -> list[int]:
    """The ids in a member of a JSON object."""
    ids = _member(members, field, where)
    if not isinstance(ids, list) or not all(type(item) is int for item in ids):
        raise InputError(f"{where}: member {field!r} is no list of ids")
    return ids


def _member(members: dict[str, Any], field: str, where: str) -> object:
    if field not in members:
        known = ", ".join(map(repr, list(members)[:8])) or "none"
        raise InputError(f"{where}: no member {field!r} (it has {known})", "Name the member with --field.")
    return members[field]


def dump(value: object) -> str:
    """JSON on one line, readable, and without a character that a terminal would act on.

    >>> dump({"text": "é\\u202e"})
    '{"text": "é\\\\u202e"}'
    """
    import json

    text = json.dumps(value, ensure_ascii=False)
    return text if text.isascii() and "\x7f" not in text else _UNSAFE.sub(_escaped, text)


def _escaped(match: re.Match[str]) -> str:
    units = match[0].encode("utf-16-be", "surrogatepass").hex()
    return "".join(f"\\u{units[i : i + 4]}" for i in range(0, len(units), 4))
