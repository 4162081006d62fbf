"""`train`: the corpus, as files, folders, records or counts; counted, within --limit, and kept in checkpoints."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any

from tokcli.cli import records, streams
from tokcli.errors import InputError

if TYPE_CHECKING:
    from tokcli.cli.train_checkpoint import Checkpoint
    from tokcli.cli.train_progress import Progress
    from tokcli.training.counting import Counting

BINARY_HEAD = 8192  # bytes at the beginning of a file in which a NUL tells that it is no text
READ_BYTES = 1 << 18


def sources_of(given: dict[str, Any], note: Callable[[str], None]) -> list[streams.Input]:
    """The inputs that the options name; the files in folders with -r, in order of their names."""
    sources = streams.inputs(given["files"], given["text"], given["files0_from"])
    if not given["recursive"]:
        return sources
    return [file for source in sources for file in _files_in(source, note)]


def _files_in(source: streams.Input, note: Callable[[str], None]) -> Iterator[streams.Input]:
    """A file itself, or the text files below a folder; hidden ones are left out, others that hold no text noted."""
    if source.data is not None or not os.path.isdir(source.name):  # noqa: PTH112
        yield source
        return
    for folder, folders, names in os.walk(source.name):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(names):
            path = os.path.join(folder, name)  # noqa: PTH118
            if name.startswith(".") or not _is_regular(path):
                continue
            with open(path, "rb") as file:  # noqa: PTH123
                is_binary = b"\0" in file.read(BINARY_HEAD)
            if is_binary:
                note(f"{path}: not a text, left out")
            else:
                yield streams.Input(path)


def _is_regular(path: str) -> bool:
    try:
        return stat.S_ISREG(os.stat(path).st_mode)  # noqa: PTH116
    except OSError:
        return False


def size_of(source: streams.Input) -> int | None:
    """The bytes of an input; None where that cannot be told."""
    if source.data is not None:
        return len(source.data)
    try:
        status = os.fstat(0) if source.name == streams.STANDARD_INPUT else os.stat(source.name)  # noqa: PTH116
    except (OSError, ValueError):
        return None
    return status.st_size if stat.S_ISREG(status.st_mode) else None


class Corpus:
    """Inputs and how much of them is taken: `limit` bytes in all, and of each input all but `held_back` percent."""

    def __init__(self, sources: list[streams.Input], *, limit: int | None, held_back: float, kind: str | None,
                 field: str | None) -> None:  # fmt: skip
        self.sources = sources
        self._left = limit
        self._held_back = held_back
        self._kind: Any = kind
        self._field = field
        if held_back and any(size_of(source) is None for source in sources):
            raise InputError("--hold-back is for files: of a stream nobody knows where its end begins")

    def total_bytes(self) -> int | None:
        """How much will be counted; None where that cannot be told."""
        sizes = [size_of(source) for source in self.sources]
        if None in sizes:
            return self._left
        total = sum(self._taken(size or 0) for size in sizes)
        return total if self._left is None else min(total, self._left)

    def _taken(self, size: int) -> int:
        return size - int(size * self._held_back / 100)

    def held_back(self) -> Iterator[bytes]:
        """What was held back of each input."""
        for source in self.sources:
            size = size_of(source) or 0
            data = b"".join(_between(source.blocks(READ_BYTES), self._taken(size), size))
            yield data.decode("utf-8", "ignore").encode()  # it may begin within a character

    def count(self, counting: Counting, progress: Progress, checkpoint: Checkpoint | None) -> None:
        """Counts all of it, from where a checkpoint says."""
        first, offset = checkpoint.position if checkpoint else (0, 0)
        for number, source in enumerate(self.sources):
            if number < first:
                self._skip(self._taken(size_of(source) or 0))
                continue
            with streams.naming(source.shown):
                if self._kind is not None:
                    texts = (record.data for record in records.read_records(source, self._kind, self._field))
                    counting.add_texts(self._within(texts), progress.counted)
                else:
                    begin = offset if number == first else 0
                    self._skip(begin)
                    progress.counted(begin)
                    keep = checkpoint.of(number) if checkpoint else None
                    counting.add_stream(self._limited(source, begin), progress.counted, begin, keep)
            if checkpoint and checkpoint.due():
                checkpoint.save(number + 1, 0)

    def _skip(self, size: int) -> None:
        if self._left is not None:
            self._left = max(self._left - size, 0)

    def _limited(self, source: streams.Input, begin: int) -> Iterator[bytes]:
        """The blocks of an input from `begin` on, as far as they are taken; a character is not cut in two."""
        size = size_of(source) if self._held_back else None
        end = None if size is None else self._taken(size)
        if self._left is not None:
            end = begin + self._left if end is None else min(end, begin + self._left)
        blocks = source.blocks(READ_BYTES)
        if end is None:
            yield from _between(blocks, begin, None)
            return
        last = b""
        for block in _between(blocks, begin, end):
            if last:
                self._skip(len(last))
                yield last
            last = block
        self._skip(len(last))
        size_now = size_of(source)
        yield last if size_now is not None and size_now <= end else _whole_characters(last)

    def _within(self, texts: Iterable[bytes]) -> Iterator[bytes]:
        """Texts, as far as --limit allows."""
        for text in texts:
            if self._left is not None and len(text) >= self._left:
                yield _whole_characters(text[: self._left])
                self._left = 0
                return
            self._skip(len(text))
            yield text


def _between(blocks: Iterable[bytes], begin: int, end: int | None) -> Iterator[bytes]:
    """The bytes from `begin` to `end` of a stream."""
    at = 0
    for block in blocks:
        part = block[max(begin - at, 0) : None if end is None else max(end - at, 0)]
        at += len(block)
        if part:
            yield part
        if end is not None and at >= end:
            return


def _whole_characters(text: bytes) -> bytes:
    """A text without the beginning of a character at its end."""
    for back in range(1, min(4, len(text) + 1)):
        lead = text[-back]
        if lead >= 0xC0:
            needed = 2 + (lead >= 0xE0) + (lead >= 0xF0)
            return text[:-back] if needed > back else text
        if lead < 0x80:
            return text
    return text
