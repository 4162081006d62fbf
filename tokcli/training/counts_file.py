"""A file of the counts of pieces: compressed, in ascending order of the pieces, so that any number of files can merge.

Layout, little-endian: HEAD (magic, version, size of the header) and CHECKSUM (CRC-32 of the header), then that many
bytes of JSON (`pat_str`, `special_tokens`, `errors`: what the pieces were made with); then blocks, each SIZES
(compressed bytes, bytes) and a zlib stream of rows as `take_block` of engine/base/count_rows.py writes them;
then SIZES of zeros, END (the number of blocks), and CHECKSUM (CRC-32 of all from the header to here). Equal counts give
equal bytes, in whatever order they were made. Version 1, which is still read, has no checksums.
"""

from __future__ import annotations

import json
import os
import stat
import struct
import zlib
from collections.abc import Callable, Iterable, Iterator
from typing import Any, BinaryIO

from tokcli.engine.stream.chunks import MAX_PIECE_BYTES
from tokcli.errors import InputError, reason_of
from tokcli.training.count_blocks import BLOCK_BYTES, is_one_long_row_at_the_end

MAGIC = b"TOKCOUNT"
VERSION = 2
HEAD = struct.Struct("<8sII")
CHECKSUM = struct.Struct("<I")
SIZES = struct.Struct("<II")
END = struct.Struct("<Q")
MAX_HEADER_BYTES = 1 << 22  # a pattern and special tokens
MAX_BLOCK_BYTES = 2 * BLOCK_BYTES + MAX_PIECE_BYTES  # a block ends with the row that fills it
LEVEL = 1  # of compression: half the time of the default level, for files some 15% larger


def write_counts(write: Callable[[bytes], object], about: dict[str, Any], blocks: Iterable[bytes]) -> None:
    """Write a counts file; `about` says what the pieces were made with, as the module's docstring lists."""
    header = json.dumps(about, sort_keys=True).encode()
    checksum = zlib.crc32(header)
    write(HEAD.pack(MAGIC, VERSION, len(header)) + CHECKSUM.pack(checksum) + header)
    number = 0
    for block in blocks:
        data = zlib.compress(block, LEVEL)
        sizes = SIZES.pack(len(data), len(block))
        checksum = zlib.crc32(data, zlib.crc32(sizes, checksum))
        write(sizes + data)
        number += 1
    end = SIZES.pack(0, 0) + END.pack(number)
    write(end + CHECKSUM.pack(zlib.crc32(end, checksum)))


class CountsFile:
    """A counts file that is open for reading. InputError names the file where it is damaged.

    `about` is its header, `version` its layout; in version 1, some damage is not found.
    """

    def __init__(self, file: BinaryIO, name: str) -> None:
        self._file = file
        self._name = name
        self._checksum = 0  # of what was read since it was set
        try:
            self.about = self._read_header()
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def _read_header(self) -> dict[str, Any]:
        name = self._name
        magic, self.version, size = HEAD.unpack(self._read(HEAD.size, "not a counts file"))
        if magic != MAGIC:
            raise InputError("not a counts file", where=name)
        if self.version not in (1, VERSION):
            raise InputError(
                f"counts of version {self.version}; this program reads version {VERSION} and before", where=name
            )
        if size > MAX_HEADER_BYTES:
            raise self.damaged()
        checksum = self._read(CHECKSUM.size) if self.version > 1 else b""
        self._checksum = 0
        header = self._read(size)
        if checksum and CHECKSUM.pack(self._checksum) != checksum:
            raise self.damaged()
        try:
            about = json.loads(header)
        except (ValueError, RecursionError):
            raise self.damaged() from None
        if not _is_header(about):
            raise self.damaged()
        return dict(about)

    def blocks(self) -> Iterator[bytes]:
        """Yield the blocks, each checked against its size and zlib's checksum; after the last, check the file's own."""
        number = 0
        while True:
            compressed, size = SIZES.unpack(self._read(SIZES.size))
            if not compressed:
                break
            if size > MAX_BLOCK_BYTES or compressed > MAX_BLOCK_BYTES:
                raise self.damaged()
            inflater = zlib.decompressobj()
            try:
                block = inflater.decompress(self._read(compressed), size + 1)
            except zlib.error:
                raise self.damaged() from None
            if len(block) != size or not inflater.eof or inflater.unused_data:
                raise self.damaged()
            if size > 2 * BLOCK_BYTES and not is_one_long_row_at_the_end(block):
                raise self.damaged()
            yield block
            number += 1
        (blocks,), checksum = END.unpack(self._read(END.size)), CHECKSUM.pack(self._checksum)
        if blocks != number or (self.version > 1 and self._read(CHECKSUM.size) != checksum) or self._file.read(1):
            raise self.damaged()

    def damaged(self) -> InputError:
        """Return the error for a damaged file."""
        return InputError("a damaged counts file", "Count the corpus again.", where=self._name)

    def _read(self, size: int, what: str = "a damaged counts file") -> bytes:
        try:
            data = self._file.read(size)
        except OSError as error:
            raise InputError(reason_of(error), where=self._name) from None
        if len(data) != size:
            raise InputError(what + (", it ends too early" if size != HEAD.size else ""), where=self._name)
        self._checksum = zlib.crc32(data, self._checksum)
        return data


def _is_header(about: object) -> bool:
    return (
        isinstance(about, dict)
        and isinstance(about.get("pat_str"), str)
        and isinstance(about.get("special_tokens"), list)
        and all(isinstance(token, str) for token in about["special_tokens"])
    )


def open_counts(path: str | os.PathLike[str]) -> CountsFile:
    """Open a counts file and read its header; InputError where that is not possible."""
    try:
        number = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)  # else opening a pipe waits for a writer
        if not stat.S_ISREG(os.fstat(number).st_mode):
            os.close(number)
            raise InputError(
                "not a regular file", "Counts are read twice, so they must be in a regular file.", where=os.fspath(path)
            )
        file = open(number, "rb")  # noqa: SIM115, PTH123 - read block by block, and closed with its reader
    except OSError as error:
        raise InputError(reason_of(error), where=os.fspath(path)) from None
    return CountsFile(file, os.fspath(path))
