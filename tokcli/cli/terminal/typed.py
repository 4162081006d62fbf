"""Text that is typed at a terminal: a note says that the program waits, since a forgotten FILE looks like slow work."""

from __future__ import annotations

import threading
from io import FileIO

from tokcli.cli.messages import print_note

PATIENCE_S = 1.0
NOTE = "reading from the terminal; Ctrl-D at the beginning of a line ends the text"


class TypedInput(FileIO):
    """Standard input from a terminal, which prints a note if nobody types a line within PATIENCE_S seconds."""

    def __init__(self) -> None:
        super().__init__(0, "rb", closefd=False)
        self._note = threading.Timer(PATIENCE_S, print_note, [NOTE])
        self._note.daemon = True
        self._note.start()

    def read(self, size: int | None = -1, /) -> bytes:
        """Read what was typed, and cancel the note."""
        try:
            return super().read(-1 if size is None else size)
        finally:
            self._note.cancel()
