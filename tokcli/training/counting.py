"""Counts the pieces of a corpus: in threads, natively where the pattern allows it, and within a limit of memory.

What does not fit is spilled to sorted runs (counts_file.py), which are merged at the end: nothing is dropped.
"""

from __future__ import annotations

import os
import tempfile
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from tokcli.engine import backend
from tokcli.engine.native_encoder import FAMILY_OF
from tokcli.engine.parallel import ordered
from tokcli.engine.pretokenizer import PreTokenizer
from tokcli.engine.stream import Blocks, Chunk, Errors, read_chunks, split_chunk
from tokcli.engine.utf8_stream import read_parts, special_finder, valid_utf8
from tokcli.errors import InputError, OutputError
from tokcli.training.counts import BLOCK_BYTES, Table, count_pieces, items_of, make_table, merge_runs, rows_of
from tokcli.training.counts_file import open_counts, write_counts

if TYPE_CHECKING:
    from tokcli.engine.utf8_stream import Part

MAX_RUNS = 64  # merged at once: each takes a file and a block
RESERVED = 0.4  # of the memory that is allowed: for sorting, merging, what is being read, and Python itself
MIN_TABLE_BYTES = 1 << 20  # a limit below this spills for every few words


@dataclass
class Counted:
    """The counts of a corpus: in a table, or in runs that are merged when they are read."""

    table: Table
    runs: list[Path] = field(default_factory=list)
    memory: int | None = None  # bytes that whoever reads them may take, about

    def blocks(self) -> Iterator[bytes]:
        """All rows in ascending order of their pieces."""
        if self.runs:
            return merge_files(self.runs)
        return table_blocks(self.table)

    def items(self) -> Iterator[tuple[bytes, int]]:
        """All pieces and their counts: of a table in the order in which they came."""
        if self.runs:
            return (row for block in self.blocks() for row in rows_of(block))
        return items_of(self.table)


def table_blocks(table: Table) -> Iterator[bytes]:
    """The rows of a table in order, as blocks."""
    table.sort()
    while block := table.next_block(BLOCK_BYTES):
        yield block


def merge_files(paths: Sequence[str | os.PathLike[str]]) -> Iterator[bytes]:
    """Counts files as one run of blocks; InputError where one is damaged or a sum is too large."""
    files = [open_counts(path) for path in paths]
    try:
        yield from merge_runs([file.blocks() for file in files])
    except ValueError as error:
        if isinstance(error, InputError):
            raise
        names = ", ".join(str(os.fspath(path)) for path in paths[:3])
        raise InputError(f"{names}: a damaged counts file", "Make it again with --counts-only.") from None
    except OverflowError:
        raise InputError("the counts add up to more than 2**62") from None
    finally:
        for file in files:
            file.close()


class Keep(Protocol):
    """Who keeps what is counted, so that a run that is killed can go on."""

    @property
    def due(self) -> Callable[[], bool]: ...
    def save(self, offset: int) -> None: ...


class Counting:
    """A corpus while it is counted. `threads` and `memory` (bytes, None for any) change nothing in the result.

    >>> counting = Counting(PreTokenizer(r"\\w+|\\s+"))
    >>> counting.add_stream([b"ab a", b"b"])
    >>> sorted(counting.finish().items())
    [(b' ', 1), (b'ab', 2)]
    """

    def __init__(
        self,
        pretokenizer: PreTokenizer,
        *,
        errors: Errors = "strict",
        special_tokens: Iterable[str] = (),
        threads: int = 1,
        memory: int | None = None,
        folder: str | os.PathLike[str] | None = None,
    ) -> None:
        self._pretokenizer = pretokenizer
        self._errors: Errors = errors
        self._special = self.special_tokens = frozenset(special_tokens)
        self.timeout = pretokenizer.timeout
        self.about = {"pat_str": pretokenizer.pat_str, "special_tokens": sorted(self._special), "errors": errors}
        native = backend.native()
        family = FAMILY_OF.get(pretokenizer.pat_str)
        self._family: int | None = None  # of scanners that split natively
        if native is not None and family is not None:
            self._family = native.FAMILIES.index(family)
        self._is_resumable = pretokenizer.is_known and errors == "strict"
        self._threads = threads if self._family is not None else 1
        self._limit = None if memory is None else max(int(memory * (1 - RESERVED)) // self._threads, MIN_TABLE_BYTES)
        self._memory = memory
        self._folder = folder
        self._temporary: tempfile.TemporaryDirectory[str] | None = None
        self._runs: list[Path] = []
        self._idle: list[Table] = []  # a table for each thread that has worked
        self._lock = threading.Lock()

    def add_stream(
        self,
        blocks: Blocks,
        progress: Callable[[int], object] = lambda _: None,
        offset: int = 0,
        keep: Keep | None = None,
    ) -> None:
        """Counts one text, given as blocks of bytes from `offset` on; `progress` is told how many bytes more are done.

        Where text can be cut, it stops when `keep` is due, has it saved how far the text is counted, and goes on.
        """
        parts = iter(self._parts(blocks))
        at, is_open = offset, True  # behind the last part that was handed out

        def until_due() -> Iterator[Part]:
            nonlocal at, is_open
            for part in parts:
                at += _size(part)
                yield part
                if keep is not None and self._is_resumable and keep.due():
                    return
            is_open = False

        while is_open:
            for done in ordered(self._work, until_due(), self._threads, is_large=_is_large):
                progress(done)
            if is_open and keep is not None:
                keep.save(at)

    def _work(self, part: Part) -> int:
        table = self._lease()
        try:
            self._count(table, part)
        finally:
            self._give_back(table)
        return _size(part)

    def add_texts(self, texts: Iterable[bytes], progress: Callable[[int], object] = lambda _: None) -> None:
        """Counts texts (UTF-8, or what `errors` allows), each on its own."""
        finder = special_finder(self._special)
        for text in texts:
            if self._family is not None and not finder.may_be_in(text) and valid_utf8(text) == len(text):
                table = self._lease()
                table.count(text, self._family)
                self._give_back(table)
                progress(len(text))
            else:
                self.add_stream([text], progress)

    def add_blocks(self, blocks: Iterable[bytes]) -> None:
        """Adds counts that were made before; ValueError or OverflowError as Table has them."""
        for block in blocks:
            table = self._lease()
            table.add_block(block)
            self._give_back(table)

    def adopt(self, runs: list[Path]) -> None:
        """Takes these runs for those there are."""
        self._runs = list(runs)

    def flush(self) -> list[Path]:
        """Writes all that is counted into runs, and merges them where they are many; the runs, all there are."""
        tables, self._idle = self._idle, []
        for table in tables:
            self._spill(table)
        self._merge_runs(MAX_RUNS // 2)
        return list(self._runs)

    def finish(self) -> Counted:
        """What was counted; nothing can be added afterwards. Runs live as long as this object."""
        tables, self._idle = self._idle, []
        if not self._runs and self._fits(tables):
            whole = tables[0] if tables else make_table()
            while len(tables) > 1:
                whole.update(tables.pop())
            if getattr(whole, "has_overflown", False):
                raise InputError("a count is more than 2**62")
            return Counted(whole, memory=self._memory)
        for table in tables:
            self._spill(table)
        self._merge_runs(MAX_RUNS)
        return Counted(make_table(), self._runs, self._memory)

    def _merge_runs(self, most: int) -> None:
        """Leaves so many runs at most; those that were merged are not removed, for a checkpoint may name them."""
        while len(self._runs) > most:
            merged = self._write_run(merge_files(self._runs[:most]))
            self._runs = [*self._runs[most:], merged]

    def _fits(self, tables: list[Table]) -> bool:
        return self._limit is None or sum(table.memory for table in tables) <= self._limit

    def _parts(self, blocks: Blocks) -> Iterable[Part]:
        if self._family is None:
            return read_chunks(blocks, self._pretokenizer, errors=self._errors, allowed=self._special)
        return read_parts(blocks, self._pretokenizer, errors=self._errors, allowed=self._special)

    def _count(self, table: Table, part: Part) -> None:
        if not isinstance(part, Chunk):
            assert self._family is not None
            table.count(part, self._family)
        elif not part.special:
            for piece, count in count_pieces(split_chunk(part, self._pretokenizer)).items():
                table.add(piece, count)

    def _lease(self) -> Table:
        with self._lock:
            return self._idle.pop() if self._idle else make_table()

    def _give_back(self, table: Table) -> None:
        if self._limit is not None and table.memory > self._limit:
            self._spill(table)
        with self._lock:
            self._idle.append(table)

    def _spill(self, table: Table) -> None:
        if len(table):
            path = self._write_run(table_blocks(table))
            with self._lock:
                self._runs.append(path)
            table.clear()

    def _write_run(self, blocks: Iterator[bytes]) -> Path:
        with self._lock:
            if self._temporary is None:
                try:
                    self._temporary = tempfile.TemporaryDirectory(prefix="tokcli-train-", dir=self._folder)
                except OSError as error:
                    raise OutputError(f"{error.filename}: {(error.strerror or str(error)).lower()}") from None
        number, name = tempfile.mkstemp(suffix=".counts", dir=self._temporary.name)
        try:
            with open(number, "wb") as file:  # noqa: PTH123 - opened already
                write_counts(file.write, self.about, blocks)
        except OSError as error:
            raise OutputError(
                f"{self._temporary.name}: {(error.strerror or str(error)).lower()}",
                "Free some space, name another folder with TMPDIR, or allow more --memory.",
            ) from None
        return Path(name)

    def close(self) -> None:
        """Removes the runs."""
        if self._temporary is not None:
            self._temporary.cleanup()


def _size(part: Part) -> int:
    """The bytes of a part of a text."""
    return len(part.data) if isinstance(part, Chunk) else part.nbytes


def _is_large(part: Part) -> bool:
    return not isinstance(part, Chunk) and part.nbytes > BLOCK_BYTES
