"""A run of `encode --shards`: its inputs, section by section, and the documents in them, encoded on this machine."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from tokcli.cli.encode.encode_inputs import encode_one
from tokcli.cli.encode.encode_records import encode_batch
from tokcli.cli.encode.shards.shard_folder import ShardFolder
from tokcli.cli.encode.shards.shard_writer import ShardWriter
from tokcli.cli.encode.spool import Spool
from tokcli.cli.inputs.input_facts import size_on_disk
from tokcli.cli.inputs.records import batches_of
from tokcli.cli.inputs.sections import Section, is_one_piece, record_from
from tokcli.cli.json_stream import dump, path_members
from tokcli.cli.record import SEPARATOR

if TYPE_CHECKING:
    from tokcli.cli.encode.encode_options import EncodeRequest


class Run:
    """One run of `encode --shards`, which encodes the documents on this machine, section by section."""

    def __init__(self, request: EncodeRequest, folder: ShardFolder, writer: ShardWriter) -> None:
        self._request, self._writer = request, writer
        self._folder, self._position = folder, folder.progress.position
        self._sources = Spool()  # lines of JSON, for the index

    def encode(self, found: Iterator[Section]) -> None:
        """Write the documents of the sections that no shard holds yet; InputError names what is wrong with one."""
        try:
            self._encode_all(self._left(found))
            texts = self._request.texts
            if not isinstance(texts, list):
                texts.end()
                texts.status = max(texts.status, self._writer.status)
            self._writer.close()
        finally:
            self._writer.discard()

    def _note(self, section: Section) -> None:
        """Keep what the index will say about a section."""
        about: dict[str, Any] = {**path_members(section.source.name), "bytes": size_on_disk(section.source)}
        if not section.is_whole:
            about |= {"start": section.start} | ({} if section.stop is None else {"end": section.stop})
        self._sources.write(dump(about).encode() + b"\n")

    def sources(self) -> Iterator[bytes]:
        """Yield what the index says about each section, as JSON objects."""
        held = b""
        for block in self._sources.blocks():
            *lines, held = (held + bytes(block)).split(b"\n")
            yield from lines
        self._sources.close()

    def _left(self, found: Iterator[Section]) -> Iterator[Section]:
        """Yield the sections, or ends of sections, that are still to be encoded; with -r, report unreadable files."""
        texts, before = self._request.texts, 0
        for section in found:
            self._note(section)
            if section.number < self._position.input:
                before += 1
                continue
            if section.number == self._position.input and not self._may_go_on(section, before):
                raise self._folder.damaged("names a place where no document begins")
            if not isinstance(texts, list):
                source = texts.checked(section.source)
                self._writer.status = texts.status
                if source is None:
                    continue
                section = section._replace(source=source)
            if section.number == self._position.input and self._position.offset:
                section = section._replace(start=self._position.offset)
            yield section

    def _may_go_on(self, section: Section, before: int) -> bool:
        """Return whether a run may have been saved in this section, with `before` sections done."""
        done, at, kind = self._folder.progress, self._position, self._request.options.records
        if not done.shards:
            return True
        if kind is None:
            most = before + at.documents  # with -r, files that could not be read are missing
            is_right = done.documents == most if isinstance(self._request.texts, list) else done.documents <= most
            return is_right and at.offset == 0 and at.documents <= 1
        if at.offset < section.start or at.documents > done.documents:
            return False
        if at.offset == section.start or is_one_piece(section.source):  # what is compressed is read first, or rows
            return True
        size = size_on_disk(section.source) or 0
        end = size if section.stop is None else section.stop
        return at.offset < end and record_from(section.source, size, at.offset, SEPARATOR[kind]) == at.offset

    def _encode_all(self, found: Iterator[Section]) -> None:
        """Encode the documents of sections, and write them."""
        for section in found:
            if self._request.options.records is None:
                self._writer.at(section.number, 0)
                encode_one(self._request, section.source, self._writer)
            else:
                self._encode_records(section)

    def _encode_records(self, section: Section) -> None:
        request = self._request
        batches = batches_of(section, request.options)
        for batch, made in request.shared_batches(batches, lambda batch: encode_batch(request, batch)):
            self._writer.at(section.number, section.start + batch.offset)
            if made is not None:
                self._writer.add_records(*made)
            else:
                for record in batch.records():
                    encode_one(request, record, self._writer)
            batch.raise_error()
