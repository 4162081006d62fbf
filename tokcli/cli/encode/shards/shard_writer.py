"""Documents into shards of at most so many tokens: which document goes where, and where a shard ends.

A document that does not fit into what is left of a shard begins the next one. A document longer than a shard begins a
new one and is cut wherever a shard is full; its end may be followed by other documents.
"""

from __future__ import annotations

from array import array
from bisect import bisect_right
from typing import TYPE_CHECKING

from tokcli.cli.encode.shards.layouts import WIDTH, Shard
from tokcli.cli.encode.shards.shard_folder import NextDocument, ShardFolder
from tokcli.cli.encode.spool import Spool
from tokcli.cli.encode.write_ids import IdWriter
from tokcli.engine.stream.ids import BinaryFormat, packed_records

if TYPE_CHECKING:
    from typing_extensions import Buffer


class ShardWriter(IdWriter):
    """Writes each input or record as a document: `begin`, any number of `add`, `end`; or many by `add_records`.

    `limit` is the number of tokens that a shard holds. `at` says where the next documents come from, so that a run that
    is resumed knows where to go on; such a run skips what is in whole shards already.
    """

    def __init__(self, folder: ShardFolder, form: BinaryFormat, limit: int) -> None:
        self._folder, self._form, self._limit = folder, form, limit
        self.width = WIDTH[form]
        self._shard: Shard | None = None
        self._place = (0, 0)
        self._done = 0  # documents since the place
        self._written = 0  # tokens of the next document that are in shards already
        self._skipped, self._dropped = folder.progress.position[2:]  # documents and tokens still to be skipped
        self._resumed_at = folder.progress.position[:2] if folder.progress.shards else None  # until it is reached
        self.status = folder.progress.status

    def at(self, number: int, offset: int) -> None:
        """Set the place of the next document: the first from byte `offset` of input `number` on."""
        self._place, self._done = (number, offset), 0
        if self._resumed_at is not None:
            self._check(self._resumed_at == self._place)
            self._resumed_at = None

    def _check(self, is_there: bool) -> None:
        """Raise InputError if the place where the run goes on is not in the inputs."""
        if not is_there:
            raise self._folder.damaged("names a place that is not in the inputs")

    # --- many documents ----------------------------------------------------------------------------------------------

    def add_records(self, ids: memoryview, offsets: memoryview) -> None:
        """Write documents whose ids (uint32) begin at `offsets` (uint64); the last offset ends the last of them."""
        begin = self._tokens
        data, ends = packed_records(ids, offsets, begin, None, self._form)
        self.add_packed(data.cast("B"), ends, begin)

    def add_packed(self, data: memoryview, ends: memoryview, begin: int = 0) -> None:
        """Write documents whose ids and ends are as `packed_records` makes them; `data` has the bytes of the ids."""
        first = min(self._skipped, len(ends))
        self._skipped, self._done = self._skipped - first, self._done + first
        while first < len(ends):
            at = ends[first - 1] if first else begin  # where the next document begins
            fits = bisect_right(ends, at + self._limit - self._tokens, first)
            last = max(fits, first + 1)
            some = data[(at - begin) * self.width : (ends[last - 1] - begin) * self.width]
            if fits > first:
                self._check(not self._dropped)  # what was cut did not fit
                shard = self._open()
                shard.write(some, _moved(ends[first:fits], shard.tokens - at))
                self._done += fits - first
            elif self._shard is not None:
                self._commit()
                continue
            else:
                count = ends[first] - at
                self.begin()
                self.add(some[: count * self.width], count)
                self.end()
            first = last

    @property
    def _tokens(self) -> int:
        """The tokens in the shard so far."""
        return 0 if self._shard is None else self._shard.tokens

    # --- one document ------------------------------------------------------------------------------------------------

    def begin(self) -> None:
        self._held = Spool()  # a document, until it is known whether it fits into the shard
        self._is_alone = self._shard is None

    def add(self, rendered: Buffer, count: int) -> None:
        if self._skipped or not count:
            return
        size = self._held.size // self.width + count
        if not self._is_alone and self._open().tokens + size > self._limit:
            self._commit()
            self._is_alone = True
            for block in self._held.blocks():
                self._add_cut(memoryview(block).cast("B"))
            self._held.close()
        if self._is_alone:
            self._add_cut(memoryview(rendered).cast("B"))
        else:
            self._held.write(rendered)

    def _add_cut(self, data: memoryview) -> None:
        """Write ids of a document that began a shard, and begin another shard whenever one is full."""
        dropped = min(self._dropped, len(data) // self.width)
        self._dropped, self._written = self._dropped - dropped, self._written + dropped
        data = data[dropped * self.width :]
        while data:
            shard = self._open()
            if shard.tokens == self._limit:
                shard.end_document()
                self._commit(continues=True)
                continue
            part = data[: (self._limit - shard.tokens) * self.width]
            shard.write_part(part)
            self._written += len(part) // self.width
            data = data[len(part) :]

    def end(self, was_cut: bool = False) -> None:
        super().end(was_cut)
        self._done += 1
        if self._skipped:
            self._skipped -= 1
            return
        self._check(not self._dropped)
        shard = self._open()
        if not self._is_alone:
            for block in self._held.blocks():
                shard.write_part(block)
            self._held.close()
        shard.end_document()
        self._written = 0

    # --- shards ------------------------------------------------------------------------------------------------------

    def _open(self) -> Shard:
        if self._shard is None:
            self._shard = self._folder.new_shard()
        return self._shard

    def _commit(self, *, continues: bool = False) -> None:
        assert self._shard is not None
        position = NextDocument(*self._place, self._done, self._written)
        self._folder.add(self._shard, position, self.status, continues=continues)
        self._shard = None

    def close(self) -> None:
        """End the last shard."""
        self._check(self._resumed_at is None and not self._skipped and not self._dropped)
        if self._shard is not None:
            self._commit()

    def discard(self) -> None:
        """Remove an incomplete shard."""
        if self._shard is not None:
            self._shard.discard()


def _moved(ends: memoryview, by: int) -> memoryview:
    """Return ends (uint64) with a number added to each."""
    return memoryview(array("Q", map(by.__add__, ends))) if by else ends
