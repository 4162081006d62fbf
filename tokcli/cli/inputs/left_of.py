"""What --skip-invalid leaves of an input: an input of which no record is JSON is an error, not an empty answer."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from tokcli.cli import messages
from tokcli.cli.inputs.column_files import columns_in
from tokcli.errors import InputError, TokcliError

if TYPE_CHECKING:
    from typing import Protocol

    class RecordSource(Protocol):
        """An input that has records, or a section of one."""

        @property
        def shown(self) -> str:
            """The name in messages."""

        @property
        def notes(self) -> bool:
            """Whether notes may be printed."""

        @property
        def skips_invalid(self) -> bool:
            """Whether invalid records are left out."""

        def blocks(self, size: int, most: int) -> Iterator[bytes]:
            """Return the bytes in blocks of at most `size` bytes, which grow up to `most`."""


NOT_LINES = "JSON Lines have an object on each line: jq -c . writes an object so, and jq -c '.[]' those of an array."


class Left:
    """Whether records of an input are kept, and what is wrong with one that is left out; threads may add to it."""

    def __init__(self, source: RecordSource) -> None:
        self._source = source
        self._has_kept = self._has_objects = False
        self._first: TokcliError | None = None

    def add(self, kept: int, left_out: list[TokcliError], *, has_objects: bool = True) -> None:
        """Take notice of records that were read together; `has_objects` says whether any of them is a JSON object."""
        self._has_kept |= kept > 0
        self._has_objects |= has_objects
        if left_out:
            self._first = self._first or left_out[0]
            messages.leave_out(len(left_out), str(left_out[0]))

    def error(self) -> TokcliError | None:
        """Return the error of an input without any JSON object, once all is read; note where only texts are missing."""
        if self._first is None or self._has_kept:
            return None
        if not self._has_objects:
            return InputError(f"no record of the input is a JSON object, such as {self._first}", NOT_LINES)
        if self._source.notes:
            messages.print_note(f"{self._source.shown}: no record is valid, so that all are left out.")
        return None


def refuse_columns(source: RecordSource, blocks: Iterator[bytes], *, as_text: bool) -> Iterator[bytes]:
    """Yield the blocks of JSON Lines; InputError for those of Parquet and Arrow files, which pipes cannot hold."""
    first = next(blocks, b"")
    if (found := columns_in(first)) is not None:
        hint = "Write it to a file, uncompressed, and name that." if as_text else NOT_LINES
        raise InputError(f"{found}, not JSON Lines", hint, where=source.shown)
    if first:
        yield first
    yield from blocks
