"""Progress on a terminal: how much of the inputs has been read, on a line that is cleared for any other message."""

from __future__ import annotations

import atexit
import sys
from collections.abc import Iterator
from time import monotonic
from typing import Any, BinaryIO, ClassVar, TextIO

from tokcli.cli.inputs.input_facts import status_of
from tokcli.cli.messages import fitted, print_note_once, progress_cells
from tokcli.cli.streams import Input
from tokcli.engine.stream.chunks import BLOCK_BYTES

QUIET_S, EVERY_S = 1.0, 0.1  # seconds before progress is shown, and from one line of it to the next
SLOW_BYTES = 10_000_000  # after which a run without the native backend says that it is slow
CLEAR = "\r\x1b[K"
MB = 1e6


class ProgressLine:
    """Standard error with a line of progress, which is cleared before anything else is written."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._is_shown = False
        self._next = monotonic() + QUIET_S

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def is_due(self) -> bool:
        """Return whether it is time to show progress."""
        return monotonic() >= self._next

    def show(self, *parts: str) -> None:
        """Show progress in place of what was shown before: those of the parts that fit into a row."""
        self._next, self._is_shown = monotonic() + EVERY_S, True
        self._stream.write(f"{CLEAR}{fitted(parts, progress_cells())}")
        self._stream.flush()

    def clear(self) -> None:
        """Remove the line, if there is one."""
        if self._is_shown:
            self._is_shown = False
            self._stream.write(CLEAR)
            self._stream.flush()

    def write(self, text: str) -> int:
        """Clear the line of progress, and write other text."""
        self.clear()
        return self._stream.write(text)


class _Reading:
    """Progress through all inputs. `total` is their size in bytes, if it is known.

    `line`: where that is shown, if it is. `reason`: why there is no native backend, for a note after SLOW_BYTES.
    """

    def __init__(self, total: int | None, line: ProgressLine | None, reason: str | None = None) -> None:
        self._total, self._line, self._reason = total, line, reason
        self._read = 0
        self._began = monotonic()

    def passing(self, blocks: Iterator[bytes], *, is_found: bool) -> Iterator[bytes]:
        """Yield the blocks of an input, and show how much has been read.

        The line is cleared at the end of an input, but stays from one file that -r found to the next.
        """
        for block in blocks:
            self._read += len(block)
            if self._reason is not None and self._read > SLOW_BYTES:
                print_note_once(f"this is slow without the native backend ({self._reason}).", "slow")
                self._reason = None
            if self._line is not None and self._line.is_due():
                self._line.show(*self._parts())
            yield block
        if self._line is not None and not is_found:
            self._line.clear()

    def _parts(self) -> list[str]:
        rate = self._read / max(monotonic() - self._began, 1e-9)
        done = f"{self._read / MB:,.0f}"
        if not self._total:
            return [f"{done} MB", f"{rate / MB:,.0f} MB/s"]
        left = round(max(0, self._total - self._read) / max(rate, 1))
        share = f"{done} of {self._total / MB:,.0f} MB ({min(1.0, self._read / self._total):.0%})"
        return [share, f"{rate / MB:,.0f} MB/s", f"{left // 60}:{left % 60:02d} left"]


class _WatchedInput(Input):
    """An input that shows how much has been read; so do the files that -r finds in it."""

    reading: ClassVar[_Reading]  # of all inputs

    def read(self, file: BinaryIO, size: int, most: int = 0) -> Iterator[bytes]:
        return self.reading.passing(super().read(file, size, most), is_found=self.found_in is not None)

    def blocks(self, size: int = BLOCK_BYTES, most: int = 0) -> Iterator[bytes]:
        blocks = super().blocks(size, most)
        is_held = self.data is not None and self.found_in is not None  # read by -r already, to see that it is text
        return self.reading.passing(blocks, is_found=True) if is_held else blocks


def watched(inputs: list[Input], *, shows: bool = True, reason: str | None = None) -> list[Input]:
    """Return inputs that show on standard error, which is a terminal, how much of them has been read.

    Without `shows` they do not. `reason`: why there is no native backend, which a note tells once much has been read.
    """
    line = ProgressLine(sys.stderr) if shows else None
    if line is not None:
        sys.stderr = line
        atexit.register(line.clear)
    files = [status_of(source) for source in inputs if source.data is None]
    total = None if None in files else sum(file.st_size for file in files if file)
    _WatchedInput.reading = _Reading(total, line, reason)
    return [_WatchedInput(**vars(source)) for source in inputs]
