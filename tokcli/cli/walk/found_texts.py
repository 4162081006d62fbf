"""The inputs of a command with -r, or of a list: what FILEs name, and with -r the texts in folders among them.

Binary files are skipped, files that cannot be read or are not UTF-8 are reported, and the command goes on.
"""

from __future__ import annotations

import codecs
import os
import stat
from collections.abc import Iterator
from typing import TYPE_CHECKING

from tokcli.cli import messages, streams
from tokcli.cli.inputs.column_files import holds_columns
from tokcli.cli.walk.binary_files import is_binary
from tokcli.cli.walk.folder_walk import Choice, FolderWalk
from tokcli.errors import EXIT_ERROR, NotUtf8Error, TokcliError
from tokcli.render.numbers import counted

if TYPE_CHECKING:
    from tokcli.cli.options import FolderOptions
    from tokcli.engine.stream.chunks import Utf8Errors

CURRENT = ""  # the current folder, when its name is not part of the paths


class FoundTexts:
    """The inputs of a command with -r, or of a list: an iterable that searches as it goes, and again in each loop.

    `named` are the inputs to search; those that the options name, unless they are given. `status` is the exit status: 2
    once anything was reported. With `keeps`, an input holds the bytes of a short text, so that they are read only once.
    With `errors` strict, bytes that are not UTF-8 are reported.
    """

    def __init__(
        self,
        asked: FolderOptions,
        *,
        errors: Utf8Errors = "strict",
        keeps: bool = True,
        named: list[streams.Input] | None = None,
    ) -> None:
        self.named = streams.inputs(asked, CURRENT) if named is None else named
        self._walks = asked.recursive
        self._verbose, self._quiet = asked.verbose, asked.quiet
        self._errors, self._keeps = errors, keeps
        self._walk = FolderWalk(
            Choice(asked.globs, asked.no_ignore, asked.hidden, asked.follow),
            self.failed,
            [*_standard_output(), *_page(asked)],
            self._note,
        )
        own = vars(asked)  # rows of columns are records, but --chunk reads plain text
        self._takes_columns = own.get("records") == "jsonl" and own.get("chunk") is None
        self._skipped = 0
        self._notes: set[str] = set()
        self._hinted = ""  # what the last error that was reported said to do
        self._is_silent = False
        self.status = 0

    def __iter__(self) -> Iterator[streams.Input]:
        """Yield the inputs that can be read; report the others, and at the end how many were binary."""
        for source in self.files():
            if (found := self.checked(source)) is not None:
                yield found
        self.end()

    def checked(self, source: streams.Input) -> streams.Input | None:
        """Return one of the files after checking it; None if it is binary, or has an error, which is reported."""
        try:
            with streams.naming(source.shown):
                found = self._checked(source)
        except TokcliError as error:
            self.failed(error)
            return None
        if found is None:
            self.skipped(source)
        return found

    def files(self) -> Iterator[streams.Input]:
        """Yield the inputs without opening them; report folders that cannot be read."""
        for source in self.named:
            is_file = source.data is not None or source.name == streams.STANDARD_INPUT or not self._walks
            if not is_file and os.path.isdir(source.name or "."):
                as_found = source.replace(found_in=source.name)
                yield from (as_found.replace(name=path) for path in self._walk.files(source.name))
            else:
                yield source

    def quietly(self) -> Iterator[streams.Input]:
        """Yield the same inputs as `files`, but report nothing."""
        self._is_silent = True
        try:
            yield from self.files()
        finally:
            self._is_silent = False

    def failed(self, error: TokcliError) -> None:
        """Report an input that cannot be read."""
        if not self._is_silent:
            self._hinted = messages.report(error, self._hinted)
            self.status = EXIT_ERROR

    def _note(self, text: str) -> None:
        """Print a note of the walk, once."""
        if not self._is_silent and not self._quiet and text not in self._notes:
            self._notes.add(text)
            messages.print_note(text)

    def skipped(self, source: streams.Input) -> None:
        """Count a binary file, and with --verbose name it in a note."""
        self._skipped += 1
        if self._verbose:
            messages.print_note(f"{source.shown}: binary, skipped")

    def end(self) -> None:
        """Print how many files were binary, now that all inputs have been seen."""
        if self._skipped and not self._quiet:
            messages.print_note(f"skipped {counted(self._skipped, 'binary file')}")
        self._skipped = 0

    def _checked(self, source: streams.Input) -> streams.Input | None:
        """Return an input that can be read, with its bytes if it is short; None for a binary file."""
        if source.data is not None or source.name == streams.STANDARD_INPUT or _is_stream(source.name):
            return source
        if self._takes_columns and holds_columns(source.name):
            return source
        blocks = streams.Input(**vars(source)).blocks()  # progress is that of the work, not of this look at the file
        first = next(blocks, b"")
        if is_binary(source, first):
            return None
        size = len(first)
        decoder = codecs.getincrementaldecoder("utf-8")()
        self._check(decoder, first, 0)
        for block in blocks:  # to the end whatever --errors says: it may be damaged compressed data
            self._check(decoder, block, size)
            size += len(block)
        self._check(decoder, b"", size)
        return source.replace(data=first) if self._keeps and size == len(first) else source

    def _check(self, decoder: codecs.IncrementalDecoder, block: bytes, offset: int) -> None:
        """Raise NotUtf8Error, if --errors is strict, for a block (empty at the end) that does not continue UTF-8."""
        if self._errors != "strict":
            return
        before = len(decoder.getstate()[0])
        try:
            decoder.decode(block, not block)
        except UnicodeDecodeError as error:
            raise NotUtf8Error.of(error, start=offset - before) from None


def _is_stream(name: str) -> bool:
    """Return whether a path is that of a pipe or a device, which can be read only once."""
    try:
        return not stat.S_ISREG(os.stat(name).st_mode)
    except (OSError, ValueError):  # a missing file is reported where it is opened
        return False


def _page(asked: FolderOptions) -> list[tuple[int, int]]:
    """Return the identity of the page that --html replaces, if there is one: it is no text of the folder."""
    try:
        status = os.stat(vars(asked).get("html") or "")
    except OSError:
        return []
    return [(status.st_dev, status.st_ino)]


def _standard_output() -> list[tuple[int, int]]:
    """Return the identity of the file that standard output goes to, if any: it would grow while it is read."""
    try:
        status = os.fstat(1)
    except OSError:
        return []
    return [(status.st_dev, status.st_ino)] if stat.S_ISREG(status.st_mode) else []
