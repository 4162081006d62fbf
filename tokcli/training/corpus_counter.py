"""Counts the pieces of a corpus: in threads, natively where the pattern allows it, and within a limit of memory.

Counts that do not fit are written to sorted runs (counts_file.py), which are merged at the end: nothing is dropped.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Protocol

from tokcli.engine.base.count_rows import rows_of
from tokcli.engine.pretokenizers.pretokenizer import PreTokenizer
from tokcli.engine.stream.chunks import Chunk, ReadOptions, read_chunks, split_chunk
from tokcli.engine.stream.parallel import ordered
from tokcli.engine.stream.parts import read_parts
from tokcli.engine.stream.utf8 import SplitText, StreamPart, special_finder, valid_utf8
from tokcli.engine.tiktoken.native_encoder import native_splitter
from tokcli.errors import InputError, OutputError, TokcliError, reason_of
from tokcli.training.count_blocks import BLOCK_BYTES, merge_runs
from tokcli.training.counts_file import open_counts, write_counts
from tokcli.training.piece_table import count_pieces, make_table
from tokcli.training.runs_folder import RunsFolder, new_run

if TYPE_CHECKING:
    from pathlib import Path

    from tokcli.engine import _native
    from tokcli.engine.stream.chunks import Blocks, Utf8Errors

MAX_RUNS = 64  # runs that are merged at once: each takes an open file and a block
RESERVED = 0.4  # share of the memory allowed for sorting, merging, the text that is read, and Python itself
MIN_TABLE_BYTES = 1 << 20  # with a limit below this, a run would be written every few words


class PieceCounts:
    """The pieces of a corpus and their counts: in a table, or in runs that are merged when they are read.

    `memory` is how many bytes a trainer may take, about; None for no limit.
    """

    def __init__(self, table: _native.PieceTable, runs: Sequence[Path] = (), memory: int | None = None) -> None:
        self.table, self.runs, self.memory = table, runs, memory

    def blocks(self) -> Iterator[bytes]:
        """Return an iterator of all rows in ascending order of their pieces, as blocks."""
        return merge_files(self.runs) if self.runs else table_blocks(self.table)

    def items(self) -> Iterator[tuple[bytes, int]]:
        """Yield all pieces and their counts; those of a table in the order in which they came."""
        if self.runs:
            return (row for block in self.blocks() for row in rows_of(block))
        return map(self.table.item, range(len(self.table)))


def table_blocks(table: _native.PieceTable) -> Iterator[bytes]:
    """Yield the rows of a table in ascending order, as blocks."""
    table.sort()
    while block := table.next_block(BLOCK_BYTES):
        yield block


def merge_files(paths: Sequence[str | os.PathLike[str]]) -> Iterator[bytes]:
    """Yield the blocks of several counts files as one run; InputError where one is damaged or a sum is too large."""
    files = [open_counts(path) for path in paths]
    try:
        yield from merge_runs([file.blocks() for file in files])
    except ValueError as error:
        if isinstance(error, InputError):
            raise
        names = ", ".join(str(os.fspath(path)) for path in paths[:3])
        raise InputError("a damaged counts file", "Count the corpus again.", where=names) from None
    except OverflowError:
        raise InputError("the counts add up to more than 2**62") from None
    finally:
        for file in files:
            file.close()


class ProgressKeeper(Protocol):
    """Saves from time to time how far a corpus is counted, so that a killed session can be resumed."""

    def due(self) -> bool:
        """Return whether it is time to save."""

    def save(self, offset: int) -> None:
        """Save the counts of the text up to byte `offset`."""


class CorpusCounter:
    """Counts a corpus; `threads` and `memory` (bytes, None for no limit) do not change the result.

    Runs are written to `folder` and stay there; without one, to a folder of their own that `close` removes.

    >>> counter = CorpusCounter(PreTokenizer(r"\\w+|\\s+"))
    >>> counter.add_stream([b"ab a", b"b"])
    >>> sorted(counter.finish().items())
    [(b' ', 1), (b'ab', 2)]
    """

    def __init__(
        self,
        pretokenizer: PreTokenizer,
        *,
        errors: Utf8Errors = "strict",
        special_tokens: Iterable[str] = (),
        threads: int = 1,
        memory: int | None = None,
        folder: Path | None = None,
    ) -> None:
        self._pretokenizer = pretokenizer
        self._errors: Utf8Errors = errors
        self.special_tokens = frozenset(special_tokens)
        self.about = {"pat_str": pretokenizer.pat_str, "special_tokens": sorted(self.special_tokens), "errors": errors}
        self._splitter = native_splitter(pretokenizer)
        self._is_resumable = pretokenizer.is_known and errors == "strict"
        self._threads = threads if self._splitter is not None else 1
        self._limit = None if memory is None else max(int(memory * (1 - RESERVED)) // self._threads, MIN_TABLE_BYTES)
        self._memory = memory
        self._folder = folder
        self._temporary: RunsFolder | None = None
        self._runs: list[Path] = []
        self._idle: list[_native.PieceTable] = []  # a table for each thread that has worked
        self._lock = threading.Lock()

    def add_stream(
        self,
        blocks: Blocks,
        progress: Callable[[int], object] = lambda _: None,
        offset: int = 0,
        keeper: ProgressKeeper | None = None,
    ) -> None:
        """Count one text, given as blocks of bytes from `offset` on; `progress` is called with the bytes just counted.

        Where the text can be cut, counting stops when `keeper` is due, has it save the offset, and goes on.
        """
        parts = iter(self._parts(blocks))
        at, is_open = offset, True  # the end of the last part given to a thread

        def until_due() -> Iterator[StreamPart]:
            nonlocal at, is_open
            for part in parts:
                at += _size(part)
                yield part
                if keeper is not None and self._is_resumable and keeper.due():
                    return
            is_open = False

        while is_open:
            # (nobody needs the results before the end, so this thread may wait for a part)
            for done in ordered(self._work, until_due(), self._threads, is_large=_is_large, may_wait=False):
                progress(done)
            if is_open and keeper is not None:
                keeper.save(at)

    def _work(self, part: StreamPart) -> int:
        with self._leased_table() as table:
            if isinstance(part, SplitText):
                table.count_split(part.data, part.ends)
            elif not isinstance(part, Chunk):
                assert self._splitter is not None
                table.count(part, self._splitter)
            elif not part.special:
                for piece, count in count_pieces(split_chunk(part, self._pretokenizer)).items():
                    table.add(piece, count)
        return _size(part)

    def add_texts(self, texts: Iterable[bytes], progress: Callable[[int], object] = lambda _: None) -> None:
        """Count texts (UTF-8, or bytes that `errors` allows), each on its own."""
        finder = special_finder(self.special_tokens)
        for text in texts:
            is_plain = not finder.is_in(text) and valid_utf8(text) == len(text)
            if is_plain and isinstance(self._splitter, int):
                with self._leased_table() as table:
                    table.count(text, self._splitter)
                progress(len(text))
            else:
                self.add_stream([text], progress)

    def add_blocks(self, blocks: Iterable[bytes]) -> None:
        """Add blocks of counts; ValueError for a damaged one, OverflowError for counts above MAX_COUNT."""
        for block in blocks:
            with self._leased_table() as table:
                table.add_block(block)

    def adopt(self, runs: list[Path]) -> None:
        """Replace the runs written so far by others, such as those of a session to resume."""
        self._runs = list(runs)

    def flush(self) -> list[Path]:
        """Write all counts to runs, merge some where there are many, and return the paths of all runs."""
        return self._flush(MAX_RUNS // 2)

    def _flush(self, most: int) -> list[Path]:
        """Write all counts to runs and merge them down to `most`; merged runs stay, for a checkpoint may name them."""
        tables, self._idle = self._idle, []
        for table in tables:
            self._spill(table)
        while len(self._runs) > most:
            merged = self._write_run(merge_files(self._runs[:most]))
            self._runs = [*self._runs[most:], merged]
        return list(self._runs)

    def finish(self) -> PieceCounts:
        """Return the counts; nothing can be added afterwards, and nothing read after `close`."""
        in_memory = sum(table.memory for table in self._idle)
        if self._runs or (self._limit is not None and in_memory > self._limit):
            return PieceCounts(make_table(), self._flush(MAX_RUNS), self._memory)
        whole, *others = self._idle or [make_table()]
        self._idle = []
        while others:
            whole.update(others.pop())
        if whole.has_overflown:
            raise InputError("a count is more than 2**62")
        return PieceCounts(whole, memory=self._memory)

    def _parts(self, blocks: Blocks) -> Iterable[StreamPart]:
        options = ReadOptions(self._errors, self.special_tokens)
        if self._splitter is None:
            return read_chunks(blocks, self._pretokenizer, options)
        return read_parts(blocks, self._pretokenizer, self._splitter, options)

    @contextmanager
    def _leased_table(self) -> Iterator[_native.PieceTable]:
        """Give a thread a table of its own, and then write the table to a run if it has become too large."""
        with self._lock:
            table = self._idle.pop() if self._idle else make_table()
        try:
            yield table
            if self._limit is not None and table.memory > self._limit:
                self._spill(table)
        finally:
            with self._lock:
                self._idle.append(table)

    def _spill(self, table: _native.PieceTable) -> None:
        if len(table):
            path = self._write_run(table_blocks(table))
            with self._lock:
                self._runs.append(path)
            table.clear()

    def _write_run(self, blocks: Iterator[bytes]) -> Path:
        path = None
        try:
            with self._lock:
                if self._folder is None:
                    self._temporary = RunsFolder()
                    self._folder = self._temporary.path
            number, path = new_run(self._folder)
            with open(number, "wb") as file:  # noqa: PTH123 - opened already
                write_counts(file.write, self.about, blocks)
        except BaseException as error:
            if path is not None:
                path.unlink(missing_ok=True)
            if not isinstance(error, OSError) or isinstance(error, TokcliError):
                raise
            is_given = self._folder is not None and self._temporary is None
            elsewhere = "" if is_given else "name another folder with TMPDIR, "
            raise OutputError(
                reason_of(error),
                f"Free some space, {elsewhere}or allow more memory.",
                where=str(self._folder or error.filename),
            ) from None
        return path

    def close(self) -> None:
        """Remove the runs, unless they are in the `folder` that was given."""
        if self._temporary is not None:
            self._temporary.close()


def _size(part: StreamPart) -> int:
    """Return the size of a part in bytes."""
    return len(part.data) if isinstance(part, Chunk) else part.nbytes


def _is_large(part: StreamPart) -> bool:
    return not isinstance(part, Chunk) and part.nbytes > BLOCK_BYTES
