"""The counts of many inputs, in order: short files many at a time, so that threads share them; long ones in parts."""

from __future__ import annotations

import io
import os
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from itertools import chain, islice
from threading import Lock
from typing import TYPE_CHECKING, NamedTuple

from tokcli.cli import messages, streams
from tokcli.cli.request import LARGE_BYTES, TextRequest
from tokcli.cli.terminal.reading import ProgressLine
from tokcli.cli.walk.binary_files import HEAD_BYTES, is_binary
from tokcli.engine.roles.record_runs import Records, count_records
from tokcli.errors import EXIT_ERROR, TokcliError
from tokcli.render.numbers import counted

if TYPE_CHECKING:
    from tokcli.cli.chat.conversation import CountedChat
    from tokcli.cli.count.count_options import CountRequest

SHORT_BYTES = 1 << 18  # a longer file is read in parts, which threads share
JOINED_BYTES = 1 << 20  # of short files that are counted in one call
FILES = 128  # that a thread takes at a time
PATIENCE_S = 0.02  # several times as long as it takes to find and read so many files that the system has in memory


class Row(NamedTuple):
    """The count of an input: tokens by each encoding, bytes that were read, its name, the folder it was found in.

    `chat` is what --chat found in it.
    """

    tokens: tuple[int, ...]
    size: int
    path: str
    root: str
    chat: CountedChat | None = None


class Outcome(NamedTuple):
    """The outcome of an input: its `row`, an `error`, or neither if it is binary; if `is_long`, it is still unread."""

    source: streams.Input
    row: Row | None = None
    error: TokcliError | None = None
    is_long: bool = False


def one_for_each(request: CountRequest) -> list[CountRequest]:
    """Return a request for each encoding that -e and -m name; they differ in nothing else."""
    return [request, *map(TextRequest, request.options.columns()[1:])]


class ManyCounts:
    """The counts of all inputs by the encodings of some requests, which differ in nothing else.

    `status` is the exit status so far.
    """

    def __init__(self, requests: list[CountRequest]) -> None:
        self.request, asked = requests[0], requests[0].options
        self.requests = requests
        self._texts = self.request.texts
        self._is_single = not asked.recursive and len(self.request.inputs) == 1
        self._status = 0
        self._hinted = ""  # what the last error that was reported said to do
        self._looking = Lock()
        self._progress: _Progress | None = None
        if messages.redraws() and not asked.quiet:
            sys.stderr = line = ProgressLine(sys.stderr)
            self._progress = _Progress(line)

    @property
    def status(self) -> int:
        """The exit status, once all rows have been taken."""
        return max(self._status, self.request.status)

    def rows(self) -> Iterator[Row]:
        """Yield the row of each input; if there are several, those that cannot be read are reported and left out."""
        texts = self._texts
        sources = iter(texts) if isinstance(texts, list) else texts.files()
        try:
            for outcome in self.found(sources):
                row = self._row(outcome)
                if row is not None:
                    yield row
                if self._progress and row:
                    self._progress.counted(row)
        finally:
            if self._progress:
                self._progress.end()
        if not isinstance(texts, list):
            texts.end()

    def found(self, sources: Iterator[streams.Input]) -> Iterator[Outcome]:
        """Yield the outcome of each input; threads share the work on short ones."""

        def batch() -> list[streams.Input]:
            with self._turn():
                return list(islice(sources, FILES))

        batches = iter(batch, [])
        yield from chain.from_iterable(
            self.request.shared(self.outcomes, batches, lambda batch: len(batch) * LARGE_BYTES // 8)
        )

    def _row(self, outcome: Outcome) -> Row | None:
        """Return the row of an outcome, if it has one; report what went wrong."""
        source = outcome.source
        try:
            if outcome.error:
                raise outcome.error
            if outcome.is_long:
                with streams.naming(source.shown):
                    return self._long(source)
        except TokcliError as error:
            if self._is_single:
                raise
            self._hinted = messages.report(error, self._hinted)
            self._status = EXIT_ERROR
            return None
        if outcome.row is None and not isinstance(self._texts, list):
            self._texts.skipped(source)
        return outcome.row

    # --- short files -------------------------------------------------------------------------------------------------

    def outcomes(self, sources: list[streams.Input]) -> list[Outcome]:
        """Return the outcomes of some inputs, in order; those that are not short are left for later."""
        left, made = iter(sources), list[Outcome]()
        while read := self._read(left):
            made += self._joined(read)
        return made

    def _read(self, sources: Iterator[streams.Input]) -> list[tuple[streams.Input, bytes | Outcome]]:
        """Read the next inputs, about JOINED_BYTES of them; return the text of each, or its outcome if it has none."""
        read, size = [], 0
        with self._turn():
            for source in sources:
                text = _read_short(source)
                read.append((source, text))
                size += len(text) if isinstance(text, bytes) else 0
                if size > JOINED_BYTES:
                    break
        return read

    def _joined(self, read: list[tuple[streams.Input, bytes | Outcome]]) -> list[Outcome]:
        """Return the outcomes of short texts, counted in one call; or one by one, where that is not possible."""
        texts = [text for _, text in read if isinstance(text, bytes)]
        columns = [_count_joined(request, texts) for request in self.requests]
        counts = iter(zip(*columns, strict=True) if all(map(len, columns)) else ())
        return [
            made if isinstance(made, Outcome) else self._counted(source, made, next(counts, None))
            for source, made in read
        ]

    def _counted(self, source: streams.Input, text: bytes, tokens: tuple[int, ...] | None) -> Outcome:
        return self._alone(source, text) if tokens is None else Outcome(source, row_of(source, tokens, len(text)))

    @contextmanager
    def _turn(self) -> Iterator[None]:
        """Let one thread at a time look for files and read them, while others count.

        That is Python's work between short system calls. Threads that do it at once hand Python to one another at each
        call, which takes longer than the work. Where files come slowly, no thread waits for its turn.
        """
        is_held = self._looking.acquire(timeout=PATIENCE_S)
        try:
            yield
        finally:
            if is_held:
                self._looking.release()

    def _alone(self, source: streams.Input, data: bytes) -> Outcome:
        try:
            with streams.naming(source.shown):
                return Outcome(source, self.counted(source, lambda: iter([data])))
        except TokcliError as error:
            return Outcome(source, error=error)

    # --- long files --------------------------------------------------------------------------------------------------

    def _long(self, source: streams.Input) -> Row:
        """Count an input in parts, as it is read; for several encodings, keep one that comes only once in a file."""
        if source.data is not None or len(self.requests) == 1 or not _comes_once(source):
            return self.counted(source, source.blocks, is_shared=True)
        with tempfile.TemporaryFile() as kept:
            for block in source.blocks():
                kept.write(block)
            kept.flush()

            def again() -> Iterator[bytes]:
                kept.seek(0)
                return iter(lambda: kept.read(SHORT_BYTES), b"")

            return self.counted(source, again, is_shared=True)

    def counted(self, source: streams.Input, blocks: Callable[[], Iterator[bytes]], *, is_shared: bool = False) -> Row:
        """Count the tokens in blocks of bytes by each encoding."""
        tokens, size = [], 0
        for request in self.requests:
            measured = _Measured(blocks())
            tokenizer = request.encoding.tokenizer
            parts = tokenizer.read_parts(request.watched(measured), request.read_options)
            counts = (request.shared_over if is_shared else map)(tokenizer.count_part, parts)
            counts = self._progress.passing(counts) if self._progress and is_shared else counts
            tokens.append(request.finished_count(sum(counts)))
            size = measured.size
        return row_of(source, tuple(tokens), size)


def row_of(source: streams.Input, tokens: tuple[int, ...], size: int) -> Row:
    """Return the row of an input of `size` bytes."""
    return Row(tokens, size, source.name, source.name if source.found_in is None else source.found_in or os.curdir)


def _read_short(source: streams.Input) -> bytes | Outcome:
    """Return the text of a short file; the outcome of any other input."""
    try:
        data = None
        if source.data is None and not _comes_once(source) and (data := _read_at_once(source)) is None:
            data = _read_blocks(source)
    except TokcliError as error:
        return Outcome(source, error=error)
    return Outcome(source, is_long=True) if data is None else Outcome(source) if is_binary(source, data) else data


def _read_blocks(source: streams.Input) -> bytes | None:
    """Return the bytes of a short file (of a binary one, the first); None if it is long."""
    found, size = [], 0
    for block in source.blocks(HEAD_BYTES):  # small, or each would be given fresh pages by the system
        found.append(block)
        size += len(block)
        if is_binary(source, found[0]):
            break
        if size >= SHORT_BYTES:
            return None
    return b"".join(found)


def _read_at_once(source: streams.Input) -> bytes | None:
    """Return what `_read_blocks` does, for most files; None for a file that has to be read with `Input.blocks`.

    That is one that is long, compressed, UTF-16 or JSON, is no local file, or cannot be read. Reading many short files
    with `Input.blocks` takes three times as long.
    """
    if source.opens is not io.FileIO:
        return None
    data = b""
    try:
        number = os.open(source.name, os.O_RDONLY | os.O_CLOEXEC)
        try:
            while len(data) < SHORT_BYTES and (block := os.read(number, HEAD_BYTES)):
                data += block
                if is_binary(source, data):
                    break
        finally:
            os.close(number)
    except (OSError, ValueError):
        return None
    has_note = source.as_text and source.found_in is None and data[:1] in (b"{", b"[")
    return None if len(data) >= SHORT_BYTES or has_note or data.startswith(streams.CONVERTED) else data


def _comes_once(source: streams.Input) -> bool:
    """Return whether an input cannot be read again: standard input, or a pipe that was named."""
    return source.name == streams.STANDARD_INPUT or (source.found_in is None and not os.path.isfile(source.name))


def _count_joined(request: CountRequest, texts: list[bytes]) -> list[int]:
    """Return the count of each text, if native code takes them all in one call; else no counts."""
    # a character of UTF-8 may not begin in one text and end in the next
    if any(text and text[0] & 0xC0 == 0x80 for text in texts):
        return []
    records = Records.of(texts)
    counts = count_records(request.encoding.tokenizer, records, request.read_options)
    if counts is None:
        return []
    request.watch_records(records)
    return request.finished_counts(counts).tolist()


class _Measured:
    """Blocks of bytes; `size` is how many bytes have been taken."""

    def __init__(self, blocks: Iterable[bytes]) -> None:
        self._blocks = blocks
        self.size = 0

    def __iter__(self) -> Iterator[bytes]:
        for block in self._blocks:
            self.size += len(block)
            yield block


class _Progress:
    """A line on the terminal that says how much has been counted."""

    def __init__(self, line: ProgressLine) -> None:
        self._files = self._tokens = self._within = 0
        self._line = line

    def counted(self, row: Row) -> None:
        """Add an input that was counted, and show progress if it is time."""
        self._files += 1
        self._tokens += row.tokens[0]
        self._within = 0
        self._show()

    def passing(self, counts: Iterable[int]) -> Iterator[int]:
        """Yield the counts of the parts of an input, and show progress meanwhile."""
        for count in counts:
            self._within += count
            self._show()
            yield count

    def _show(self) -> None:
        if self._line.is_due():
            tokens = self._tokens + self._within
            self._line.show(counted(tokens, "token"), counted(self._files, "file"))

    def end(self) -> None:
        """Clear the line."""
        self._line.clear()
