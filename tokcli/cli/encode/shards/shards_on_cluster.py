"""`encode --shards --dask`: tasks that encode documents, parts of long ones, or records. This machine writes the ids.

So the shards are those of a run without a cluster, byte for byte, and are resumed in the same way.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterator
from pickle import PickleBuffer
from typing import TYPE_CHECKING, Any

from tokcli.cli import messages, streams
from tokcli.cli.cluster_work import ClusterWork, cluster_of, in_tasks, shift, work_of
from tokcli.cli.encode.encode_inputs import encode_one
from tokcli.cli.encode.encode_options import EncodeRequest
from tokcli.cli.encode.encode_records import encode_batch
from tokcli.cli.encode.shards.layouts import WIDTH, form_of
from tokcli.cli.encode.shards.shard_run import Run
from tokcli.cli.encode.write_ids import IdWriter
from tokcli.cli.inputs.records import batches_of
from tokcli.cli.inputs.sections import Section
from tokcli.cluster.tasks import in_order
from tokcli.engine.base.time_limit import time_limit
from tokcli.engine.stream.ids import packed_records
from tokcli.errors import TokcliError

if TYPE_CHECKING:
    from typing_extensions import Buffer


NO_ENDS = memoryview(b"").cast("Q")


class Documents:
    """Encoded documents: `data`, the bytes of their ids as a shard has them, and `ends` (uint64), counted in ids.

    `offset` is the byte of the input at which the first document begins. `error` is that of the document after them.
    A part of a document has no end. `left_out`: how many records were left out, and what is wrong with one of them.
    """

    def __init__(
        self,
        offset: int,
        data: Buffer,
        ends: Buffer = NO_ENDS,
        error: TokcliError | None = None,
        left_out: tuple[int, str] = (0, ""),
    ) -> None:
        self.offset, self.error, self.left_out = offset, error, left_out
        self.data, self.ends = memoryview(data).cast("B"), memoryview(ends).cast("B").cast("Q")

    def __reduce_ex__(self, protocol: Any) -> tuple[Any, ...]:
        """Return what makes these documents anew; from protocol 5 on pickle does not copy the ids."""
        as_buffer: Callable[[memoryview], Any] = PickleBuffer if protocol >= 5 else bytes
        return Documents, (self.offset, as_buffer(self.data), as_buffer(self.ends), self.error, self.left_out)


class ClusterRun(Run):
    """A run whose documents a cluster encodes."""

    def _encode_all(self, found: Iterator[Section]) -> None:
        request = self._request
        work = work_of(request.options, [request.encoding])
        with cluster_of(request.options) as client:
            for sections, made in in_order(client, encode_sections, in_tasks(found, request), work):
                for section, documents in zip(sections, made, strict=True):
                    for some in documents:
                        self._write(section, some)

    def _write(self, section: Section, made: Documents) -> None:
        """Write documents of a section, or the part of a document that the section is; raise their error."""
        writer = self._writer
        messages.leave_out(*made.left_out)
        if self._request.options.records is not None:
            writer.at(section.number, made.offset)
            writer.add_packed(made.data, made.ends)
        elif made.error is None:
            if not section.start:
                writer.at(section.number, 0)
                writer.begin()
            writer.add(made.data, len(made.data) // writer.width)
            if section.stop is None:
                writer.end()
        if made.error is not None:
            raise made.error


def encode_sections(sections: list[Section], work: ClusterWork) -> list[list[Documents]]:
    """Return the encoded documents of each section (a task of the cluster)."""
    request = EncodeRequest(work.options, work.encodings[0])
    with time_limit(work.seconds):
        return [list(_encoded(request, section)) for section in sections]


def _encoded(request: EncodeRequest, section: Section) -> Iterator[Documents]:
    try:
        if request.options.records is None:
            yield _document(request, section)
        else:
            yield from _records(request, section)
    except TokcliError as error:
        yield Documents(section.start, b"", error=shift(error, section))


def _document(request: EncodeRequest, section: Section) -> Documents:
    """Return the ids of a document, or of the part of one that a section is."""
    held = _Held(request)
    if section.is_whole:
        encode_one(request, section.source, held)
    else:
        tokenizer, (before, after) = request.encoding.tokenizer, request.frame
        held.add_ids(() if section.start else before)
        with streams.naming(section.source.shown):
            for part in tokenizer.read_parts(section.blocks(), request.read_options):
                ids = tokenizer.encode_part(part)
                held.add(held.render(ids), len(ids))
        held.add_ids(after if section.stop is None else ())
    return Documents(0, held.data)


def _records(request: EncodeRequest, section: Section) -> Iterator[Documents]:
    for unparsed in batches_of(section, request.options):
        batch = unparsed.parse()
        offset = section.start + batch.offset
        left_out = messages.take_left_out()
        made = encode_batch(request, batch)
        if made is not None:
            yield Documents(offset, *packed_records(*made, 0, None, form_of(request.encoding)), left_out=left_out)
        else:
            held = _Held(request)
            for record in batch.records():
                encode_one(request, record, held)
            yield Documents(offset, held.data, held.ends, left_out=left_out)
        if batch.error is not None:
            yield Documents(offset + len(batch.texts.data), b"", error=batch.error)


class _Held(IdWriter):
    """A writer that holds documents in memory, as `Documents` has them."""

    def __init__(self, request: EncodeRequest) -> None:
        form = form_of(request.encoding)
        super().__init__(streams.Output(None), form)
        self.data, self.ends = bytearray(), array("Q")
        self._width = WIDTH[form]

    def add(self, rendered: Buffer, count: int) -> None:
        del count
        self.data += memoryview(rendered).cast("B")

    def end(self, was_cut: bool = False) -> None:
        super().end(was_cut)
        self.ends.append(len(self.data) // self._width)
