"""`decode --records`: the ids of many records decoded at once, where an id has the same bytes behind any other.

Whatever is unusual, or wrong, is left to decode.py, which takes such records one by one and names what is wrong.
"""

from __future__ import annotations

import sys
from array import array
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from tokcli.cli.json_stream import line, parse_objects, text_member
from tokcli.cli.record import SEPARATOR, ids_of
from tokcli.engine import backend
from tokcli.engine.base.arguments import NO_ID
from tokcli.engine.stream.decoding import ByteDecoder, KnownBytes
from tokcli.errors import InputError, UnknownTokenError

if TYPE_CHECKING:
    from typing_extensions import Buffer

    from tokcli.cli.inputs.records import Batch
    from tokcli.cli.options import RecordKind
    from tokcli.engine.encoding import Encoding

_END = NO_ID  # stands for the end of a record among the ids of all
_END_TEXT, _END_BYTES = b"%d" % _END, _END.to_bytes(4, sys.byteorder)
_FIRST = 1 << 31  # the first of the numbers that replace ids at the beginning of records, where they have other bytes
_LONGEST_ROW = 8  # of ids, of which the last is the first with text
_HIGHEST = 3 if sys.byteorder == "little" else 0  # the number of the highest byte of an id
_BELOW_FIRST = bytes(range(128))  # highest bytes of ids


class _Begun(NamedTuple):
    """What is known of the last id of a row that begins a text: the number that replaces it, and two facts.

    `is_behind`: whether the beginning ends with it. `holds`: whether some of its bytes depend on what is behind it.
    """

    number: int
    is_behind: bool
    holds: bool


class BatchDecoder:
    """Decodes batches of records to their texts, as records or as JSON objects; the ids in `left_out` have no text.

    `fits` says whether it can: whether every id is below _FIRST, and has the same bytes behind any other.
    """

    def __init__(self, encoding: Encoding, kind: RecordKind, left_out: frozenset[int], *, as_json: bool) -> None:
        self._encoding, self._kind, self._separator = encoding, kind, SEPARATOR[kind]
        self._left_out, self._as_json = left_out, as_json
        self._known = KnownBytes(self._each)
        self._behind: ByteDecoder | None = None  # a decoder that is behind the beginning of a text
        self._begins: list[bytes] = []  # the bytes of the ids that are replaced, by number
        self._begun: dict[tuple[int, ...], _Begun] = {}  # by row
        begin = encoding.tokenizer.decode_stream()
        self._has_begins = begin is not None and begin.place == "beginning"
        self.fits = encoding.max_token_value < _FIRST and (begin is None or begin.place != "between")

    def _each(self, ids: Sequence[int]) -> list[bytes]:
        return list(map(self._bytes_of, ids))

    def _bytes_of(self, id: int) -> bytes:
        if id == _END:
            return self._separator
        if id >= _FIRST:
            return self._begins[id - _FIRST]
        if id in self._left_out:
            return b""
        return self._encoding.decode_single_token_bytes(id) if self._behind is None else self._behind.add([id])

    def decode(self, batch: Batch, field: str | None) -> tuple[bytes, int] | None:
        """Return what is written for a batch, and the number of records; None where these are decoded one by one."""
        data = batch.texts.data
        ids = self._ids_of_objects(data, field) if self._kind == "jsonl" else self._ids_of_lines(data)
        if ids is None or _above(ids[0]) != ids[1] or (self._has_begins and not self._replace_begins(ids[0])):
            return None
        try:
            if self._as_json:
                return b"".join(line(text_member(self._known.joined(some))) for some in _records_in(ids[0])), ids[1]
            return self._known.joined(ids[0]), ids[1]
        except UnknownTokenError:
            return None

    def _replace_begins(self, ids: array[int]) -> bool:
        """Replace the ids with which records begin by numbers from _FIRST on; return False where that cannot be done.

        An id gets a number of its own for each row of ids that may be before it at the beginning.
        """
        begin = 0
        for some in _records_in(ids):
            row: tuple[int, ...] = ()
            holds = False
            for at, id in enumerate(some):
                if id in self._left_out:
                    continue
                row = *row, id
                begun = self._begun.get(row) or self._learn(row)
                if begun is None:
                    return False
                ids[begin + at], holds = begun.number, begun.holds
                if begun.is_behind:
                    break
            if holds:
                return False
            begin += len(some) + 1
        return True

    def _learn(self, row: tuple[int, ...]) -> _Begun | None:
        """Find the bytes of the last id of a row that begins a text; None where that is not worth it."""
        decoder = self._encoding.tokenizer.decode_stream()
        if decoder is None or len(row) > _LONGEST_ROW:
            return None
        try:
            data = [decoder.add([id]) for id in row][-1]
        except UnknownTokenError:
            return None
        is_behind = decoder.place == "behind"
        if is_behind:
            self._behind = decoder
        begun = self._begun[row] = _Begun(_FIRST + len(self._begins), is_behind, holds=decoder.finish() != b"")
        self._begins.append(data)
        return begun

    def _ids_of_lines(self, data: bytes) -> tuple[array[int], int] | None:
        """Return the ids of lines, each with an `_END` behind its ids, and the number of lines."""
        end, count = self._separator, data.count(self._separator)
        if b"[" in data:  # a list each: brackets are nowhere but around them
            data, joint = b"".join((end, data)), b"".join((b"]", end, b"["))
            if not data.count(b"[") == data.count(end + b"[") == data.count(b"]") == data.count(b"]" + end) == count:
                return None
            data = data[len(end) + 1 :].replace(joint, end).replace(b"]", b"")
        text = data.replace(end, b" %b " % _END_TEXT)
        found: Buffer | None = backend.code().parse_ids(text)
        if found is None:
            return None
        ids = array("I")
        ids.frombytes(found)
        return ids, count

    def _ids_of_objects(self, data: bytes, field: str | None) -> tuple[array[int], int] | None:
        """Return the ids of JSON objects on lines, each with an `_END` behind its ids, and the number of objects."""
        objects = parse_objects([line for line in data.split(b"\n") if line.strip()])
        if objects is None:
            return None
        ids = array("I")
        try:
            for members in objects:
                ids.extend(ids_of(members, field, ""))
                ids.append(_END)
        except (InputError, OverflowError):
            return None
        return ids, len(objects)


def _above(ids: array[int]) -> int:
    """Return how many ids are not below _FIRST."""
    return len(ids.tobytes()[_HIGHEST::4].translate(None, _BELOW_FIRST))


def _records_in(ids: array[int]) -> Iterator[memoryview]:
    """Yield the ids of each record, which an `_END` ends; no other id has a highest byte like its."""
    data, begin = memoryview(ids).cast("B"), 0
    text = data.tobytes()
    while (end := text.find(_END_BYTES, begin)) >= 0:
        yield memoryview(ids)[begin // 4 : end // 4]
        begin = end + 4
