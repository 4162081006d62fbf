"""Sections of inputs: the part of a file that one worker reads, cut where a record ends, or where text can be cut.

Who reads which section is decided elsewhere: by --shard-of, or by what a cluster takes at a time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

from tokcli.cli.inputs.columns import file_of_columns
from tokcli.cli.inputs.input_facts import between, is_converted
from tokcli.cli.record import SEPARATOR
from tokcli.cli.streams import Input
from tokcli.engine.stream.chunks import BLOCK_BYTES

CutFrom = Callable[[int], int]
"""Where a section of a file may end: the first such byte from the given one on."""


class Section(NamedTuple):
    """An input, its number among all inputs, and the bytes of it that are read: all from `start` to `stop`.

    Of a Parquet or Arrow file, which is never cut, `start` and `stop` are rows.
    """

    source: Input
    number: int = 0
    start: int = 0
    stop: int | None = None

    @property
    def shown(self) -> str:
        """The name of the section in messages."""
        return f"{self.source.shown}: after byte {self.start}" if self.start else self.source.shown

    @property
    def notes(self) -> bool:
        """Whether notes may be printed."""
        return self.source.notes

    @property
    def skips_invalid(self) -> bool:
        """Whether invalid records are left out."""
        return self.source.skips_invalid

    @property
    def is_whole(self) -> bool:
        """Whether all of the input is read."""
        return not self.start and self.stop is None

    def blocks(self, size: int = BLOCK_BYTES, most: int = 0) -> Iterator[bytes]:
        """Yield the bytes of the section in blocks, as `Input.blocks` does those of an input.

        The bytes before the section are not read where the file is seekable.
        """
        if self.is_whole or self.source.data is not None or is_converted(self.source):
            yield from between(self.source.blocks(size, most), self.start, self.stop)
            return
        with self.source.opened() as file:
            file.seek(self.start)
            stop = None if self.stop is None else self.stop - self.start
            yield from between(self.source.read(file, size, most), 0, stop)

    def parts(self, size: int, step: int, cut_from: CutFrom) -> Iterator[Section]:
        """Yield the section in parts of about `step` bytes; the input has `size` bytes."""
        end, at = size if self.stop is None else self.stop, self.start
        while at + step < end:
            stop = min(cut_from(at + step), end)
            yield self._replace(start=at, stop=None if stop == size else stop)
            at = stop
        if at < end or at == self.start:
            yield self._replace(start=at)


def is_one_piece(source: Input) -> bool:
    """Return whether a file cannot be cut into sections: it is compressed, UTF-16, or a Parquet or Arrow file."""
    return is_converted(source) or file_of_columns(source) is not None


def separator_of(kind: str | None) -> bytes | None:
    """Return the byte that ends the records of a kind; None without a kind, when a file is one document."""
    return None if kind is None else SEPARATOR[kind]


def record_from(source: Input, size: int, place: int, separator: bytes) -> int:
    """Return the byte, from `place` on, at which the first record begins; `size` where there is none."""
    if place <= 0:
        return 0
    at = place - 1
    for block in Section(source, start=at).blocks():
        if (found := block.find(separator)) >= 0:
            return min(at + found + 1, size)
        at += len(block)
    return size
