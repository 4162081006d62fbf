"""Records encoded in runs: as many at once as native code takes, and each of the others by itself.

A tokenizer encodes a buffer of records in one native call, or not at all: one text that only its Python rules encode
would send thousands of others there. So what it does not take is halved, down to the records that are the reason.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterator
from contextlib import suppress
from itertools import accumulate
from typing import TYPE_CHECKING, TypeVar

from tokcli.engine import backend
from tokcli.engine.native_models.text_model import Refused
from tokcli.engine.tokens import joined_ids
from tokcli.errors import TokcliError

if TYPE_CHECKING:
    from typing_extensions import Buffer

    from tokcli.engine.native_models.text_model import RecordEncoder
    from tokcli.engine.stream.chunks import ReadOptions
    from tokcli.engine.tokenizer import Tokenizer

Made = TypeVar("Made")

GIVE_UP_AFTER = 64  # records that are encoded by themselves, without a run among them: then runs are not looked for


class Records:
    """Texts in one buffer; each ends `separator_size` bytes before one of `ends` (uint64).

    Where `is_utf8`, all of them are known to be UTF-8.

    >>> records = Records(b"one\\ntwo\\nthree\\n", array("Q", [4, 8, 14]), 1)
    >>> [(half.data, list(half.ends)) for half in records.halves()]
    [(b'one\\n', [4]), (b'two\\nthree\\n', [4, 10])]
    """

    def __init__(self, data: bytes, ends: Buffer, separator_size: int, *, is_utf8: bool = False) -> None:
        self.data, self.separator_size, self.is_utf8 = data, separator_size, is_utf8
        self.ends = memoryview(ends).cast("B").cast("Q")

    @classmethod
    def of(cls, texts: list[bytes]) -> Records:
        """Return texts as records without separators."""
        return cls(b"".join(texts), array("Q", accumulate(map(len, texts))), 0)

    def __iter__(self) -> Iterator[bytes]:
        begin = 0
        for end in self.ends:
            yield self.data[begin : end - self.separator_size]
            begin = end

    def halves(self) -> Iterator[Records]:
        """Yield the first half of the records, and the others."""
        half = len(self.ends) // 2
        cut = self.ends[half - 1]
        yield Records(self.data[:cut], self.ends[:half], self.separator_size, is_utf8=self.is_utf8)
        ends = array("Q", [end - cut for end in self.ends[half:]])
        yield Records(self.data[cut:], ends, self.separator_size, is_utf8=self.is_utf8)


def encode_records(
    tokenizer: Tokenizer, records: Records, options: ReadOptions
) -> tuple[memoryview, memoryview] | None:
    """Return the ids of all records (uint32), and where those of each begin and the last ones end (uint64).

    Return None where no run of records is taken, or one of the records is an error.
    """

    def ask(native: RecordEncoder, some: Records) -> tuple[memoryview, memoryview]:
        return native.encode_records(some.data, some.ends, some.separator_size)

    def alone(data: bytes) -> tuple[memoryview, memoryview]:
        ids = joined_ids(list(map(tokenizer.encode_part, tokenizer.read_parts([data], options))))
        return ids, memoryview(array("Q", [0, len(ids)]))

    made = _in_runs(tokenizer, records, options, ask, alone)
    if made is None:
        return None
    if len(made) == 1:
        return made[0]
    offsets = array("Q", [0])
    for _, some in made:
        begin = offsets[-1]
        offsets.extend([begin + offset for offset in some[1:]])
    return joined_ids([ids for ids, _ in made]), memoryview(offsets)


def count_records(tokenizer: Tokenizer, records: Records, options: ReadOptions) -> memoryview | None:
    """Return the number of ids of each record (uint32); None as `encode_records` does."""

    def ask(native: RecordEncoder, some: Records) -> memoryview:
        return native.count_records(some.data, some.ends, some.separator_size)

    def alone(data: bytes) -> memoryview:
        return memoryview(array("I", [sum(map(tokenizer.count_part, tokenizer.read_parts([data], options)))]))

    made = _in_runs(tokenizer, records, options, ask, alone)
    return None if made is None else joined_ids(made)


def _in_runs(
    tokenizer: Tokenizer,
    records: Records,
    options: ReadOptions,
    ask: Callable[[RecordEncoder, Records], Made],
    alone: Callable[[bytes], Made],
) -> list[Made] | None:
    """Return what `ask` makes of each run of records, and `alone` of each other record; None where that is vain."""
    if not records.ends or not backend.is_native():
        return None
    made: list[Made] = []
    left, has_run = [records], False
    while left:
        some = left.pop()
        native = tokenizer.for_records(some.data, options, is_utf8=some.is_utf8)
        found = None
        if native is not None:
            with suppress(Refused):
                found = ask(native, some)
        has_run |= found is not None
        if found is None and len(some.ends) > 1:
            left += reversed(list(some.halves()))
            continue
        if found is None:
            if not has_run and len(made) == GIVE_UP_AFTER:
                return None
            try:
                found = alone(some.data[: len(some.data) - some.separator_size])
            except TokcliError:  # it is told with the record's name when the records are encoded one by one
                return None
        made.append(found)
    return made
