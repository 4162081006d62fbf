"""What is written after other output: it waits in memory, or on disk where there is much of it."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from functools import partial
from typing import IO, TYPE_CHECKING

from tokcli.cli.streams import Output

if TYPE_CHECKING:
    from typing_extensions import Buffer

SPOOL_BYTES = 1 << 22  # of offsets or .npy ids kept in memory before they go to a temporary file


class Spool:
    """Bytes that are to be written later: in memory up to SPOOL_BYTES, then in a temporary file without a name."""

    def __init__(self) -> None:
        self.size = 0  # bytes
        self._parts: list[Buffer] = []
        self._file: IO[bytes] | None = None

    def write(self, data: Buffer) -> None:
        """Add bytes at the end."""
        self.size += memoryview(data).nbytes
        self._parts.append(data)
        if self.size <= SPOOL_BYTES:
            return
        if self._file is None:
            self._file = tempfile.TemporaryFile()  # noqa: SIM115 - closed in `copy_to`, or with the process
        self._file.writelines(self._parts)
        self._parts.clear()

    def blocks(self) -> Iterator[Buffer]:
        """Yield all bytes, in blocks; none may be added from then on."""
        if self._file is not None:
            self._file.seek(0)
            yield from iter(partial(self._file.read, SPOOL_BYTES), b"")
        yield from self._parts

    def close(self) -> None:
        """Close the temporary file, if there is one; its bytes are lost."""
        if self._file is not None:
            self._file.close()

    def copy_to(self, output: Output) -> None:
        """Write all bytes to the output, and close the temporary file."""
        for block in self.blocks():
            output.write(block)
        self.close()
