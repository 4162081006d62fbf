"""Inputs as records (--records): each line, NUL-ended string or JSON object; and JSON that is safe to show."""

from __future__ import annotations

import re
from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import accumulate
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeVar

from tokcli.cli.streams import Input, Output
from tokcli.engine import backend
from tokcli.engine.stream import BLOCK_BYTES, MAX_PIECE_BYTES
from tokcli.engine.text import without_surrogates
from tokcli.errors import InputError, TokcliError

if TYPE_CHECKING:
    from typing_extensions import Buffer

    from tokcli.cli.options import Request

Made = TypeVar("Made")

Kind = Literal["lines", "nul", "jsonl"]
SEPARATOR = {"lines": b"\n", "nul": b"\0", "jsonl": b"\n"}

MAX_RECORD_BYTES = MAX_PIECE_BYTES  # a record is held in memory, as a piece is

# What a terminal might act on, or nobody would see: in JSON as \uXXXX, which is the same text.
_UNSAFE = (
    "[\x7f-\x9f\xad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\ud800-\udfff"
    "\U000e0000-\U000e0fff]"
)


class Record(NamedTuple):
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


class Batch:
    """Records that were read together: their texts in `data`, which end at `ends` (uint64) behind a separator.

    `error` is what is wrong with the record after them.
    """

    def __init__(
        self,
        source: Input,
        numbers: Sequence[int],
        data: bytes,
        ends: Buffer,
        separator_size: int,
        *,
        members: list[dict[str, Any]] | None = None,
        error: TokcliError | None = None,
        is_awaited: bool = False,
    ) -> None:
        self.data, self.ends, self.separator_size = data, ends, separator_size
        self._source, self._numbers, self._members = source, numbers, members
        self._error, self._is_awaited = error, is_awaited

    def records(self) -> Iterator[Record]:
        """One by one."""
        at = 0
        for i, (number, end) in enumerate(zip(self._numbers, memoryview(self.ends).cast("B").cast("Q"), strict=True)):
            members = None if self._members is None else self._members[i]
            yield Record(self.data[at : end - self.separator_size], f"{self._source.shown}: record {number}", members)
            at = end

    def raise_error(self) -> None:
        """Raises what is wrong with the next record."""
        if self._error is not None:
            raise self._error

    def finish(self, output: Output) -> None:
        """To be called when the answers are written: who waits for them gets them, and what is wrong is raised."""
        self.raise_error()
        if self._is_awaited:
            output.flush()


def read_batches(source: Input, kind: Kind, field: str | None = None, *, as_text: bool = True) -> Iterator[Batch]:
    """The records of an input, as many at a time as have been read; InputError names the one that is none.

    Of JSON objects the text in the member `field`, or, where not `as_text`, the whole object.
    """
    number = 0
    for raw, is_awaited in _whole_records(source, kind):
        ends = _ends_in(raw, SEPARATOR[kind])
        first, number = number + 1, number + len(ends)
        if kind == "jsonl" and as_text:
            yield _texts(source, first, raw, ends, field or "text", is_awaited)
        else:
            yield Batch(source, range(first, number + 1), raw, ends, 1, is_awaited=is_awaited)


def _whole_records(source: Input, kind: Kind) -> Iterator[tuple[bytes, bool]]:
    """(records with their separators, whether more may only come when they are answered)."""
    separator, number = SEPARATOR[kind], 0
    parts: list[bytes] = []  # of a record that spans blocks
    size = 0
    for block in source.blocks():
        end = block.rfind(separator) + 1
        if end:
            whole = b"".join([*parts, block[:end]])
            number += whole.count(separator)
            yield whole, len(block) < BLOCK_BYTES
            parts, size = [], 0
        parts.append(block[end:])
        size += len(parts[-1])
        if size > MAX_RECORD_BYTES:
            raise InputError(f"{source.shown}: record {number + 1} is above {MAX_RECORD_BYTES >> 20} MiB")
    if size:
        yield b"".join([*parts, separator]), False


def _ends_in(data: bytes, separator: bytes) -> memoryview:
    native = backend.native()
    if native is not None:
        return memoryview(native.record_ends(data, separator[0])).cast("Q")
    sizes = accumulate(len(record) + 1 for record in data.split(separator)[:-1])
    return memoryview(array("Q", sizes))


def _texts(source: Input, first: int, raw: bytes, ends: memoryview, field: str, is_awaited: bool) -> Batch:
    """The texts of JSON objects, up to the first that has none."""
    numbers, texts, all_members, error, at = [], [], [], None, 0
    for number, end in enumerate(ends, first):
        line, where, at = raw[at : end - 1], f"{source.shown}: record {number}", end
        if not line.strip():
            continue
        try:
            members = read_object(line, where)
            texts.append(text_of(members, field, where))
        except TokcliError as wrong:
            error = wrong
            break
        numbers.append(number)
        all_members.append(members)
    text_ends = array("Q", accumulate(map(len, texts)))
    return Batch(
        source, numbers, b"".join(texts), text_ends, 0, members=all_members, error=error, is_awaited=is_awaited
    )


def shared_batches(request: Request, source: Input, work: Callable[[Batch], Made]) -> Iterator[tuple[Batch, Made]]:
    """Each batch of an input and what `work` makes of it, which --jobs threads share."""
    batches = read_batches(source, request.options["records"], request.field)
    return request.shared(lambda batch: (batch, work(batch)), batches, lambda batch: 4 * len(batch.data))


def read_records(source: Input, kind: Kind, field: str | None) -> Iterator[Record]:
    """The records of an input as text; InputError names the one that is none."""
    for batch in read_batches(source, kind, field):
        yield from batch.records()
        batch.raise_error()


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
    return text if text.isascii() and "\x7f" not in text else re.sub(_UNSAFE, _escaped, text)


def _escaped(match: re.Match[str]) -> str:
    units = match[0].encode("utf-16-be", "surrogatepass").hex()
    return "".join(f"\\u{units[i : i + 4]}" for i in range(0, len(units), 4))
