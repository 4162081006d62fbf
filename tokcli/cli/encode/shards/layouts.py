"""The files of a shard, in each of the layouts: their names and their contents.

Ids come as little-endian bytes and go to the file as they are. Each file gets its name when all of it is on the disk.
"""

from __future__ import annotations

import os
import re
import struct
from array import array
from collections.abc import Iterator
from contextlib import suppress
from hashlib import sha256
from itertools import chain
from operator import sub
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from tokcli.atomic import Replacement, new_file_mode
from tokcli.cli.encode.spool import Spool
from tokcli.cli.inputs.columns import import_pyarrow
from tokcli.engine.stream import npy
from tokcli.engine.stream.ids import U16_IDS, BinaryFormat, in_other_order
from tokcli.formats.limits import open_regular_file

if TYPE_CHECKING:
    from typing_extensions import Buffer

    from tokcli.engine.encoding import Encoding

WIDTH: dict[BinaryFormat, int] = {"u16": 2, "u32": 4}  # bytes of an id
READ_BYTES = 1 << 20
UNSYNCED_BYTES = 1 << 23  # of a file that the system may hold back while it is being written
GROUP_TOKENS, GROUP_DOCUMENTS = 1 << 20, 1 << 18  # either ends a row group of parquet: readers hold one in memory


def form_of(encoding: Encoding) -> BinaryFormat:
    """Return how the shards of an encoding have its ids: as two bytes if these hold all of them, else as four."""
    return "u16" if encoding.n_vocab <= U16_IDS else "u32"


class HashedFile:
    """A file that is being written, and the SHA-256 of its bytes; `commit` gives it its name."""

    def __init__(self, folder: str, name: str) -> None:
        self.name = name
        self._path = Path(folder, name)
        self._made = Replacement(str(self._path), mode=new_file_mode())
        self._digest = sha256()
        self._is_patched = False
        self._size = self._begun = 0  # bytes written, and how many of them are on their way to the disk
        self.closed = False  # pyarrow reads it

    def write(self, data: Buffer) -> int:
        """Write bytes, and return their number."""
        self._digest.update(data)
        written = self._made.file.write(data)
        self._size += written
        if self._size - self._begun >= UNSYNCED_BYTES:
            self._begin_sync()
        return written

    def _begin_sync(self) -> None:
        """Have the system send the new bytes to the disk while more are made, so that `finish` waits for the last only.

        By itself Linux holds back hundreds of megabytes, and then all threads wait until they are synced. What is on
        the disk already gives its memory back, which the next bytes take.
        """
        self._begun = self._size
        if hasattr(os, "posix_fadvise"):
            with suppress(OSError):  # a file system may know no advice; "not needed again" makes Linux write
                os.posix_fadvise(self._made.file.fileno(), 0, self._size, os.POSIX_FADV_DONTNEED)

    def flush(self) -> None:
        """Do nothing; pyarrow calls it."""

    def patch(self, data: bytes) -> None:
        """Overwrite the beginning of the file."""
        self._made.file.seek(0)
        self._made.file.write(data)
        self._is_patched = True

    def finish(self) -> None:
        """Sync the file to disk, so that only its name is missing."""
        self._made.finish()

    def commit(self) -> None:
        """Give the file its name."""
        self._made.commit()

    def discard(self) -> None:
        """Remove the file unless it has been committed."""
        self._made.discard()

    def facts(self) -> dict[str, str]:
        """Return the name of the committed file and its SHA-256 (hex), as members of the index."""
        digest = digest_of_file(self._path) if self._is_patched else self._digest.hexdigest()
        return {"file": self.name, "sha256": digest}


def digest_of_file(path: Path) -> str:
    """Return the SHA-256 (hex) of a regular file; VocabularyError where it cannot be read."""
    digest = sha256()
    with open_regular_file(path) as file:
        while block := file.read(READ_BYTES):
            digest.update(block)
    return digest.hexdigest()


class Shard:
    """A shard that is being written: a file of ids, with a file beside it in some layouts.

    `write` takes whole documents with their ends (uint64, in tokens of the shard), `write_part` a part of a document
    that `end_document` ends. This class is the layout flat, whose ends are in the index only; subclasses are others.
    """

    NAME: ClassVar = "shard-{:05}.bin"
    BESIDE: ClassVar[str | None] = None  # the end of the second file's name, in place of the first one's
    INDEX: ClassVar = "index.json"

    def __init__(self, folder: str, number: int, form: BinaryFormat) -> None:
        self.tokens = self.documents = 0
        self._width, self._form = WIDTH[form], form
        self._ends = Spool()
        self._files: list[HashedFile] = []
        try:
            for name in self.names(number):
                self._files.append(HashedFile(folder, name))
            self._begin()
        except BaseException:
            self.discard()
            raise

    @classmethod
    def names(cls, number: int) -> list[str]:
        """Return the names of the files of a shard, that of the ids first."""
        name = cls.NAME.format(number)
        return [name] if cls.BESIDE is None else [name, _beside(name, cls.BESIDE)]

    @classmethod
    def sizes(cls, tokens: int, documents: int, form: BinaryFormat) -> list[int]:
        """Return the bytes of each file of a shard, that of the ids first; none where data is compressed."""
        del documents
        return [tokens * WIDTH[form]]

    @classmethod
    def owns(cls, name: str) -> bool:
        """Return whether a file of this name may be one of this layout, or one that is still being written."""
        name = re.sub(r"\A\.(.+)\.[0-9a-f]{12}\.tmp\Z", r"\1", name)
        number = re.search(r"[0-9]{5,18}", name)
        return name == cls.INDEX or (number is not None and name in cls.names(int(number[0])))

    def write(self, data: Buffer, ends: memoryview) -> None:
        """Write whole documents, which end at `ends`; the last end is that of the data."""
        self._files[0].write(data)
        self._add_ends(ends)

    def write_part(self, data: Buffer) -> None:
        """Write a part of a document."""
        self._files[0].write(data)
        self.tokens += memoryview(data).nbytes // self._width

    def end_document(self) -> None:
        """End the document whose parts have been written."""
        self._add_ends(memoryview(array("Q", [self.tokens])))

    def _add_ends(self, ends: memoryview) -> None:
        if len(ends):
            self.tokens = ends[-1]
            self.documents += len(ends)
            self._ends.write(ends.cast("B"))

    def ends(self) -> Iterator[memoryview]:
        """Yield the ends of all documents (uint64, in tokens), in blocks."""
        for block in self._ends.blocks():
            yield memoryview(block).cast("B").cast("Q")

    def commit(self) -> list[dict[str, str]]:
        """Give the files their names, and return the members of each for the index."""
        self._finish()
        for file in self._files:  # before any gets its name: a full disk is noticed here
            file.finish()
        for file in reversed(self._files):
            file.commit()
        return [file.facts() for file in self._files]

    def discard(self) -> None:
        """Remove the files that have no names yet."""
        for file in self._files:
            file.discard()
        self._ends.close()

    def _begin(self) -> None:
        """Write what comes before the ids."""

    def _finish(self) -> None:
        """Write what is known only when all documents have been written."""


class NpyShard(Shard):
    """The layout npy: a file that `numpy.load` opens."""

    NAME = "shard-{:05}.npy"

    @classmethod
    def sizes(cls, tokens: int, documents: int, form: BinaryFormat) -> list[int]:
        del documents
        return [npy.HEADER_BYTES + tokens * WIDTH[form]]

    def _begin(self) -> None:
        self._files[0].write(npy.header(0, self._form))

    def _finish(self) -> None:
        self._files[0].patch(npy.header(self.tokens, self._form))


class DatatroveShard(Shard):
    """The files of datatrove's TokenizedFile: the ids, and beside them the ends of the documents as uint64."""

    NAME, BESIDE = "{:05}_00000.ds", ".ds.index"

    @classmethod
    def sizes(cls, tokens: int, documents: int, form: BinaryFormat) -> list[int]:
        return [tokens * WIDTH[form], documents * 8]

    def _finish(self) -> None:
        for ends in self.ends():
            self._files[1].write(in_other_order(ends))


class MegatronShard(Shard):
    """The files of Megatron-LM's IndexedDatasetBuilder (megatron/core/datasets/indexed_dataset.py).

    Each document is one of its sequences.
    """

    BESIDE = ".idx"
    HEADER = b"MMIDIDX\x00\x00"
    VERSION = 1
    ABOUT = struct.Struct("<QBQQ")
    CODES: ClassVar[dict[BinaryFormat, int]] = {"u16": 8, "u32": 4}  # uint16; int32, for it has no uint32

    @classmethod
    def sizes(cls, tokens: int, documents: int, form: BinaryFormat) -> list[int]:
        return [tokens * WIDTH[form], len(cls.HEADER) + cls.ABOUT.size + 4 * documents + 8 * (2 * documents + 1)]

    def _finish(self) -> None:
        write, count = self._files[1].write, self.documents
        write(self.HEADER + self.ABOUT.pack(self.VERSION, self.CODES[self._form], count, count + 1))
        last = 0
        for ends in self.ends():
            write(in_other_order(memoryview(array("i", map(sub, ends, chain([last], ends))))))
            last = ends[-1]
        last = 0
        for ends in self.ends():
            starts = array("q", [last * self._width])
            starts.extend(end * self._width for end in ends[:-1])
            write(in_other_order(memoryview(starts)))
            last = ends[-1]
        for first in range(0, count + 1, READ_BYTES):
            write(in_other_order(memoryview(array("q", range(first, min(first + READ_BYTES, count + 1))))))


class ParquetShard(Shard):
    """A parquet file with the column `input_ids`, a list of uint32 for each document.

    A row group ends with the document that fills it, so it does not depend on the batches in which documents come.
    """

    NAME = "shard-{:05}.parquet"
    INDEX = "_index.json"  # readers of folders leave such names out

    @classmethod
    def sizes(cls, tokens: int, documents: int, form: BinaryFormat) -> list[int]:
        del tokens, documents, form
        return []

    def _begin(self) -> None:
        self._arrow = import_pyarrow()
        column = self._arrow.field("input_ids", self._arrow.list_(self._arrow.uint32()))
        self._schema = self._arrow.schema([column])
        self._writer = self._arrow.parquet.ParquetWriter(
            self._files[0], self._schema, compression="zstd", use_dictionary=False, write_statistics=False
        )
        self._group: list[Buffer] = []  # the ids of the row group; where its documents end, counted from its beginning
        self._group_ends = array("i", [0])
        self._group_begin = 0

    def write(self, data: Buffer, ends: memoryview) -> None:
        ids, at, begin = memoryview(data).cast("B"), 0, self.tokens
        for number, end in enumerate(ends):
            self.tokens = end
            self._group_ends.append(end - self._group_begin)
            if self._is_group_full or number == len(ends) - 1:
                self._group.append(ids[at : (end - begin) * self._width])
                at = (end - begin) * self._width
                self._end_group_if_full()
        self._add_ends(ends)

    def write_part(self, data: Buffer) -> None:
        self._group.append(bytes(data))
        self.tokens += memoryview(data).nbytes // self._width

    def end_document(self) -> None:
        self._group_ends.append(self.tokens - self._group_begin)
        super().end_document()
        self._end_group_if_full()

    @property
    def _is_group_full(self) -> bool:
        return self.tokens - self._group_begin >= GROUP_TOKENS or len(self._group_ends) > GROUP_DOCUMENTS

    def _end_group_if_full(self) -> None:
        if self._is_group_full:
            self._end_group()

    def _end_group(self) -> None:
        arrow, kept = self._arrow, b"".join(self._group)
        kind = arrow.uint16() if self._form == "u16" else arrow.uint32()
        count = len(kept) // self._width
        values = arrow.Array.from_buffers(kind, count, [None, arrow.py_buffer(kept)]).cast(arrow.uint32())
        ends = arrow.Array.from_buffers(
            arrow.int32(), len(self._group_ends), [None, arrow.py_buffer(self._group_ends.tobytes())]
        )
        rows = arrow.ListArray.from_arrays(ends, values)
        self._writer.write_batch(arrow.record_batch([rows], schema=self._schema))
        self._group, self._group_ends, self._group_begin = [], array("i", [0]), self.tokens

    def _finish(self) -> None:
        if len(self._group_ends) > 1:
            self._end_group()
        self._writer.close()


LAYOUTS: dict[str, type[Shard]] = {
    "flat": Shard,
    "datatrove": DatatroveShard,
    "megatron": MegatronShard,
    "npy": NpyShard,
    "parquet": ParquetShard,
}


def _beside(name: str, end: str) -> str:
    return name[: name.rindex(".")] + end
