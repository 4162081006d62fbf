"""`decode --records`: the ids of many records decoded at once, where each id has the same bytes anywhere.

Whatever is unusual, or wrong, is left to decode.py, which takes such records one by one and names what is wrong.
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from typing import TYPE_CHECKING

from tokcli.cli.json_stream import parse_objects
from tokcli.cli.record import SEPARATOR, ids_of
from tokcli.engine import backend
from tokcli.engine.base.arguments import NO_ID
from tokcli.engine.stream.decoding import KnownBytes
from tokcli.errors import InputError, UnknownTokenError

if TYPE_CHECKING:
    from tokcli.cli.inputs.records import Batch
    from tokcli.cli.options import RecordKind
    from tokcli.engine.encoding import Encoding

_END = NO_ID  # stands for the end of a record among the ids of all; a vocabulary that has this id has no batches
_END_TEXT = b"%d" % _END


class BatchDecoder:
    """Decodes batches of records to their texts, each with the separator after it."""

    def __init__(self, encoding: Encoding, kind: RecordKind) -> None:
        self._encoding, self._kind, self._separator = encoding, kind, SEPARATOR[kind]
        self._known = KnownBytes(self._each)

    @staticmethod
    def fits(encoding: Encoding) -> bool:
        """Return whether the ids of several records may be joined."""
        return encoding.tokenizer.decodes_context_free and encoding.max_token_value < _END

    def _each(self, ids: Sequence[int]) -> list[bytes]:
        token = self._encoding.decode_single_token_bytes
        return [self._separator if id == _END else token(id) for id in ids]

    def decode(self, batch: Batch, field: str | None) -> tuple[bytes, int] | None:
        """Return the texts of a batch and their number; None where its records have to be decoded one by one."""
        data = batch.texts.data
        ids = self._ids_of_objects(data, field) if self._kind == "jsonl" else self._ids_of_lines(data)
        if ids is None:
            return None
        try:
            return self._known.joined(ids[0]), ids[1]
        except UnknownTokenError:
            return None

    def _ids_of_lines(self, data: bytes) -> tuple[memoryview, int] | None:
        """Return the ids of lines, each with an `_END` behind its ids, and the number of lines."""
        if _END_TEXT in data:
            return None
        end, count = self._separator, data.count(self._separator)
        if b"[" in data:  # a list each: brackets are nowhere but around them
            data, joint = b"".join((end, data)), b"".join((b"]", end, b"["))
            if not data.count(b"[") == data.count(end + b"[") == data.count(b"]") == data.count(b"]" + end) == count:
                return None
            data = data[len(end) + 1 :].replace(joint, end).replace(b"]", b"")
        text = data.replace(end, b" %b " % _END_TEXT)
        ids: bytes | None = backend.code().parse_ids(text)
        return None if ids is None else (memoryview(ids).cast("I"), count)

    def _ids_of_objects(self, data: bytes, field: str | None) -> tuple[memoryview, int] | None:
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
        return (memoryview(ids), len(objects)) if ids.count(_END) == len(objects) else None
