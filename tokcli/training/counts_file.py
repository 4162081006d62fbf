"""The file that keeps counts of pieces: compressed, in ascending order of the pieces, so that any number can be merged.

Layout, little-endian: HEAD (magic, version, size of what follows), that many bytes of JSON (`pat_str`,
`special_tokens`, `errors`: what the pieces were made with); then blocks, each SIZES (compressed bytes, bytes) and a
zlib stream of rows as `counts.take_block` writes them; then SIZES of zeros and END (the number of blocks). The same
counts are the same bytes, however they were come by.
"""

from __future__ import annotations

import json
import os
import struct
import zlib
from collections.abc import Callable, Iterable, Iterator
from typing import Any, BinaryIO

from tokcli.errors import InputError

MAGIC = b"TOKCOUNT"
VERSION = 1
HEAD = struct.Struct("<8sII")
SIZES = struct.Struct("<II")
END = struct.Struct("<Q")
MAX_HEADER_BYTES = 1 << 22  # a pattern and special tokens
MAX_BLOCK_BYTES = 1 << 28  # a block holds at least one piece, which may have 64 MiB
LEVEL = 1  # of compression: half the time of the default, and some 15 % larger


def write_counts(write: Callable[[bytes], object], about: dict[str, Any], blocks: Iterable[bytes]) -> None:
    """Writes a counts file."""
    header = json.dumps(about, sort_keys=True).encode()
    write(HEAD.pack(MAGIC, VERSION, len(header)) + header)
    number = 0
    for block in blocks:
        data = zlib.compress(block, LEVEL)
        write(SIZES.pack(len(data), len(block)) + data)
        number += 1
    write(SIZES.pack(0, 0) + END.pack(number))


class CountsFile:
    """A counts file that is being read: `about` is its header. InputError, naming the file, where it is damaged."""

    def __init__(self, file: BinaryIO, name: str) -> None:
        self._file = file
        self._name = name
        try:
            self.about = self._read_header()
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Reads no more."""
        self._file.close()

    def _read_header(self) -> dict[str, Any]:
        name = self._name
        magic, version, size = HEAD.unpack(self._read(HEAD.size, "not a counts file"))
        if magic != MAGIC:
            raise InputError(f"{name}: not a counts file", "tokcli train --counts-only -o FILE makes one.")
        if version != VERSION:
            raise InputError(f"{name}: counts of version {version}, and this program reads version {VERSION}")
        if size > MAX_HEADER_BYTES:
            raise self.damaged()
        try:
            about = json.loads(self._read(size))
        except (ValueError, RecursionError):
            raise self.damaged() from None
        if not _is_header(about):
            raise self.damaged()
        return dict(about)

    def blocks(self) -> Iterator[bytes]:
        """The blocks, each checked against its size and its checksum."""
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
            yield block
            number += 1
        if END.unpack(self._read(END.size))[0] != number or self._file.read(1):
            raise self.damaged()

    def damaged(self) -> InputError:
        """The error for what is not as it was written."""
        return InputError(f"{self._name}: a damaged counts file", "Make it again with --counts-only.")

    def _read(self, size: int, what: str = "a damaged counts file") -> bytes:
        try:
            data = self._file.read(size)
        except OSError as error:
            raise InputError(f"{self._name}: {(error.strerror or str(error)).lower()}") from None
        if len(data) != size:
            raise InputError(f"{self._name}: {what}" + (", it ends too early" if size != HEAD.size else ""))
        return data


def _is_header(about: object) -> bool:
    return (
        isinstance(about, dict)
        and isinstance(about.get("pat_str"), str)
        and isinstance(about.get("special_tokens"), list)
        and all(isinstance(token, str) for token in about["special_tokens"])
    )


def open_counts(path: str | os.PathLike[str]) -> CountsFile:
    """A counts file by path, read as far as its header; InputError where it cannot be."""
    try:
        file = open(path, "rb")  # noqa: SIM115, PTH123 - read by and by, and closed with its reader
    except OSError as error:
        raise InputError(f"{os.fspath(path)}: {(error.strerror or str(error)).lower()}") from None
    return CountsFile(file, os.fspath(path))
