"""Text that is typed at a terminal: a note says that it is waited for, for a forgotten FILE looks like slow work."""

from __future__ import annotations

import threading
from io import FileIO

from tokcli.cli.messages import print_note

PATIENCE_S = 1.0
NOTE = "reading from the terminal; Ctrl-D at the beginning of a line ends the text"


class TypedInput(FileIO):
    """Standard input, a terminal; a note is printed where nobody types a line for a second."""

    def __init__(self) -> None:
        super().__init__(0, "rb", closefd=False)
        self._note = threading.Timer(PATIENCE_S, print_note, [NOTE])
        self._note.daemon = True
        self._note.start()

    def read(self, size: int | None = -1, /) -> bytes:
        """Read what was typed; the note is not printed after it."""
        try:
            return super().read(-1 if size is None else size)
        finally:
            self._note.cancel()
