"""`encode --shards --dask`: tasks that encode documents, parts of long ones, or records. This machine writes the ids.

So the shards are those of a run without a cluster, byte for byte, and are resumed in the same way.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from tokcli.cli import streams
from tokcli.cli.cluster_work import ClusterWork, cluster_of, in_tasks, shift, work_of
from tokcli.cli.encode.encode_inputs import encode_batch, encode_one
from tokcli.cli.encode.shards.shard_run import Run
from tokcli.cli.encode.write_ids import IdWriter
from tokcli.cli.inputs.sections import Section
from tokcli.cli.records import batches_of
from tokcli.cli.request import TextRequest
from tokcli.cluster.tasks import in_order
from tokcli.engine.base.time_limit import time_limit
from tokcli.errors import TokcliError

if TYPE_CHECKING:
    from typing_extensions import Buffer

    from tokcli.cli.encode.encode_options import EncodeRequest


class Documents(NamedTuple):
    """The ids (uint32) of documents, and `places`, where each begins and the last ends in the ids (uint64).

    `offset` is the byte of the input at which the first document begins. `error` is that of the document after them.
    """

    offset: int
    ids: bytes
    places: bytes
    error: TokcliError | None = None


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
        ids = memoryview(made.ids).cast("I")
        if self._request.options.records is not None:
            writer.at(section.number, made.offset)
            writer.add_records(ids, memoryview(made.places).cast("Q"))
        elif made.error is None:
            if not section.start:
                writer.at(section.number, 0)
                writer.begin()
            writer.add(writer.render(ids), len(ids))
            if section.stop is None:
                writer.end()
        if made.error is not None:
            raise made.error


def encode_sections(sections: list[Section], work: ClusterWork) -> list[list[Documents]]:
    """Return the encoded documents of each section (a task of the cluster)."""
    request = TextRequest(work.options, work.encodings[0])
    with time_limit(work.seconds):
        return [list(_encoded(request, section)) for section in sections]


def _encoded(request: EncodeRequest, section: Section) -> Iterator[Documents]:
    try:
        if request.options.records is None:
            yield _document(request, section)
        else:
            yield from _records(request, section)
    except TokcliError as error:
        yield Documents(section.start, b"", array("Q", [0]).tobytes(), shift(error, section))


def _document(request: EncodeRequest, section: Section) -> Documents:
    """Return the ids of a document, or of the part of one that a section is."""
    held = _Held()
    if section.is_whole:
        encode_one(request, section.source, held)
        return held.documents(0)
    tokenizer = request.encoding.tokenizer
    with streams.naming(section.source.shown):
        for part in tokenizer.read_parts(section.blocks(), request.read_options):
            ids = tokenizer.encode_part(part)
            held.add(ids, len(ids))
    held.end()
    return held.documents(0)


def _records(request: EncodeRequest, section: Section) -> Iterator[Documents]:
    for unparsed in batches_of(section, request.options):
        batch = unparsed.parse()
        offset = section.start + batch.offset
        made = encode_batch(request, batch)
        if made is not None:
            ids, places = made
            yield Documents(offset, ids.tobytes(), places.tobytes())
        else:
            held = _Held()
            for record in batch.records():
                encode_one(request, record, held)
            yield held.documents(offset)
        if batch.error is not None:
            yield Documents(offset + len(batch.data), b"", array("Q", [0]).tobytes(), batch.error)


class _Held(IdWriter):
    """A writer that holds the ids of documents in memory, for a task to return."""

    def __init__(self) -> None:
        super().__init__(streams.Output(None))
        self._ids, self._places = array("I"), array("Q", [0])

    def render(self, ids: memoryview) -> Buffer:
        return ids

    def add(self, rendered: Buffer, count: int) -> None:
        del count
        self._ids.frombytes(memoryview(rendered).cast("B"))

    def end(self, was_cut: bool = False) -> None:
        del was_cut
        self._places.append(len(self._ids))

    def documents(self, offset: int) -> Documents:
        return Documents(offset, self._ids.tobytes(), self._places.tobytes())
