"""Bytes in and out of the process: named inputs, outputs that are written atomically, and broken standard streams.

Nothing is decoded here, and no newline is translated: the commands and the engine know what the bytes mean.
"""

from __future__ import annotations

import _signal as signal  # type: ignore[import-not-found]  # as in __main__.py
import errno
import fcntl
import io
import os
import stat
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from itertools import chain
from typing import TYPE_CHECKING, BinaryIO, NoReturn

from tokcli.atomic import Replacement, new_file_mode, open_file_at
from tokcli.cli.inputs.json_notes import note_json
from tokcli.cli.inputs.name_list import names_in
from tokcli.cli.options import NamedInputs, Options
from tokcli.engine.stream.chunks import BLOCK_BYTES
from tokcli.errors import InputError, MissingFileError, OutputError, TokcliError, reason_of

if TYPE_CHECKING:
    from types import TracebackType

    from typing_extensions import Buffer

    from tokcli.engine.stream.chunks import Utf8Errors

STANDARD_INPUT = STANDARD_OUTPUT = "-"
COMPRESSED = (b"\x1f\x8b\x08", b"BZh", b"\xfd7z", b"\x28\xb5\x2f")  # how compressed data begins
MARKS = (b"\xff\xfe", b"\xfe\xff", b"\0\0\xfe\xff")  # how UTF-16 and UTF-32 text begins, if it says what it is
POINTER = b"version https://git-lfs.github.com/spec/"  # how a Git LFS pointer begins, which is not the file itself
CONVERTED = (*COMPRESSED, *MARKS, POINTER)
_BEGUN = {begin[:size] for begin in CONVERTED for size in range(1, min(4, len(begin)))}
FOLDER_HINTS = "Name the files in it.", "Use -r to read the files in it, or name them."
FEWEST_BLOCKS = 16  # of a file that threads share, unless it is short: so they all end at about the same time
BUFFER_BYTES = 1 << 16  # of output, as much as a pipe holds
STDOUT = 1  # the number of standard output
CLOSED_OUTPUT = "standard output: closed", "Write to a file with -o."
_ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
NOTICE_SECONDS = 0.25  # within which a signal is noticed
_raised: list[BaseException] = []  # exceptions raised by signals, until the run ends
_closed_at_start: set[int] = set()  # the numbers of standard streams


class Terminated(BaseException):
    """Raised when signal `number` asks the process to end while a file is written that then has to be removed."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number


def watch_signals() -> None:
    """Let Ctrl-C end the run even where Python would lose it.

    Python notices a signal that comes just before a blocking call only when that call returns: a timer interrupts the
    call. Python drops an exception that is raised within one of its own callbacks, such as a finalizer, and prints a
    traceback: the timer raises it again, until `forget_signals`.
    """
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:  # shells ignore it for background jobs
        signal.signal(signal.SIGINT, _end_by_signal)
    signal.signal(signal.SIGALRM, _remind)
    signal.setitimer(signal.ITIMER_REAL, NOTICE_SECONDS, NOTICE_SECONDS)
    sys.unraisablehook = callable  # a hook that does nothing, and takes no memory


def forget_signals() -> None:
    """Stop raising the exceptions of signals again, because the run is ending."""
    _raised.clear()


def _end_by_signal(number: int, _: object) -> NoReturn:
    _raised.append(KeyboardInterrupt() if number == signal.SIGINT else Terminated(number))
    raise _raised[-1]


def _remind(_: int, __: object) -> None:
    if _raised:
        raise _raised[-1]


def _ending_as_errors() -> list[int]:
    """Make signals that would end the process at once raise an exception instead; return their numbers."""
    found = [number for number in _ENDING if signal.getsignal(number) is signal.SIG_DFL]
    with suppress(ValueError):  # not the main thread
        for number in found:
            signal.signal(number, _end_by_signal)
        return found
    return []


def occupy_closed_streams() -> None:
    """Open /dev/null in place of standard streams that are closed, so that no file opened later gets their number."""
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            _closed_at_start.add(number)
            os.open(os.devnull, os.O_RDWR)
    for name, number in (("stdout", STDOUT), ("stderr", 2)):  # Python has None in their place
        if number in _closed_at_start or getattr(sys, name) is None:
            _closed_at_start.add(number)
            setattr(sys, name, open(os.devnull, "w"))  # noqa: SIM115 - for as long as the process lives


def is_standard_output_open() -> bool:
    """Return whether standard output was open when the program started."""
    return STDOUT not in _closed_at_start and sys.stdout is not None


class Input(Options):
    """One input: a file, standard input, or the text of --text (`data`). `name` is what the user called it."""

    name: str
    data: bytes | None = None  # of --text, or read already
    found_in: str | None = None  # the folder in which -r found the file; None where the user named it
    as_is: bool = False  # whether compressed data is read as it is, not decompressed
    is_listed: bool = False  # whether a list names the file, whose maker may not have looked what is in it
    may_be_folder: bool = False  # whether the command has -r
    may_be_ids: bool = False  # whether the bytes are binary ids, which may begin as compressed data do
    opens: Callable[[str], BinaryIO] = io.FileIO  # opens the file, or a url
    notes: bool = False  # whether notes say how it is read, and that the program waits for a terminal
    as_text: bool = False  # whether JSON is read as text, not as records
    skips_invalid: bool = False  # whether records that are no JSON, or have no text, are left out
    errors: Utf8Errors | None = None  # of text, which may be UTF-16 with a byte order mark; None: bytes as they are

    @property
    def shown(self) -> str:
        """The name of the input in messages."""
        return "standard input" if self.name == STANDARD_INPUT else self.name

    def status(self) -> os.stat_result | None:
        """Return the status of the file of this name, as `os.stat` gives it; None if it is not a regular file."""
        if self.data is not None:
            return None
        try:
            status = os.fstat(0) if self.name == STANDARD_INPUT else os.stat(self.name)
        except (OSError, ValueError):
            return None
        return status if stat.S_ISREG(status.st_mode) else None

    def blocks(self, size: int = BLOCK_BYTES, most: int = 0) -> Iterator[bytes]:
        """Yield the bytes in blocks: decompressed, and marked UTF-16 as UTF-8; InputError where they cannot be read.

        Each has at most `size` bytes (converted, more), or up to twice as many as the one before it, and then `most`.
        """
        if self.data is not None:
            yield from (self.data[i : i + size] for i in range(0, len(self.data), size))
            return
        with self.opened() as file:
            blocks = self.read(file, size, most)
            first = next(blocks, b"")
            while first in _BEGUN and (block := next(blocks, b"")):
                first += block
            blocks = chain([first] if first else (), blocks)
            if first.startswith(CONVERTED):
                from tokcli.cli.inputs.converted import converted  # codecs, for such data only

                blocks = converted(self, blocks)
            elif self.as_text and first[:1] in (b"{", b"["):
                note_json(self.shown, self.name, first, is_found=self.found_in is not None)
            yield from blocks

    def read(self, file: BinaryIO, size: int, most: int = 0) -> Iterator[bytes]:
        """Yield the rest of the opened file in blocks, as `blocks` does; InputError where it cannot be read."""
        if most and (status := self.status()) is not None:
            most = min(most, status.st_size // FEWEST_BLOCKS)
        try:
            while block := file.read(size):
                yield block
                size = max(size, min(2 * size, most))
        except OSError as error:
            raise InputError(reason_of(error), where=self.shown) from None

    @contextmanager
    def opened(self) -> Iterator[BinaryIO]:
        """Open the file, standard input, or bytes that were read already; InputError where that is not possible."""
        if self.data is not None:
            yield io.BytesIO(self.data)
            return
        if self.name == STANDARD_INPUT:
            if 0 in _closed_at_start or sys.stdin is None:
                raise InputError("closed", "Name a FILE, or give the text with -t.", where="standard input")
            with suppress(OSError, AttributeError):  # with 64 KiB in a pipe, writing and reading would take turns
                fcntl.fcntl(0, fcntl.F_SETPIPE_SZ, BLOCK_BYTES)
            file: BinaryIO = io.FileIO(0, "rb", closefd=False)
            if self.notes and file.isatty():
                from tokcli.cli.terminal.typed import TypedInput  # threading, for people at a terminal only

                file = TypedInput()
            yield file
            return
        try:
            file = self.opens(self.name)
        except OSError as error:
            hint = FOLDER_HINTS[self.may_be_folder] if isinstance(error, IsADirectoryError) else ""
            kind = MissingFileError if error.errno in (errno.ENOENT, errno.ENAMETOOLONG) else InputError
            raise kind(reason_of(error), hint, where=self.name) from None
        except ValueError as error:  # a NUL in the name
            raise InputError(str(error), where=repr(self.name)) from None
        with file:
            yield file


@contextmanager
def naming(shown: str) -> Iterator[None]:
    """Add the name of an input to errors that name no place yet, except errors of the output."""
    try:
        yield
    except TokcliError as error:
        if error.where is None and not isinstance(error, OutputError):
            error.where = shown
        raise


def inputs(asked: NamedInputs, default: str = STANDARD_INPUT) -> list[Input]:
    """Return the inputs that a command line names; `default` where it names none."""
    notes = not asked.quiet
    if asked.text is not None:
        return [Input(name="--text", data=os.fsencode(asked.text), notes=notes, skips_invalid=asked.skip_invalid)]
    names, own, listed = list(asked.files) or [default], vars(asked), asked.list_of_names
    if listed is not None:
        names = names_in(Input(name=listed).blocks(), listed, by_line=asked.files_from is not None)
    as_text = "recursive" in own and notes and not (own.get("records") or own.get("chat"))
    return [Input(name=name, as_is=asked.no_decompress, is_listed=listed is not None, may_be_folder="recursive" in own,
                  notes=notes, as_text=as_text, skips_invalid=asked.skip_invalid, errors=own.get("errors", "strict"))
            for name in names]  # fmt: skip


class Output:
    """Where data goes: standard output, or a file that gets its name when all of it is written.

    This is a context manager: an exception leaves no new file, and an old one unchanged. OutputError: the path is one
    of the `sources`. What is no regular file, or an open file of this process (/dev/fd/3), is written in place.
    """

    def __init__(self, path: str | None, sources: Iterable[Input] = ()) -> None:
        self._path = None if path == STANDARD_OUTPUT else path
        self._sources = sources
        self._replacement: Replacement | None = None
        self._signals: list[int] = []  # that end the run as errors do
        self._file: BinaryIO

    @property
    def is_terminal(self) -> bool:
        """Whether the output goes to a terminal."""
        return self._path is None and os.isatty(STDOUT)

    @property
    def is_replaced(self) -> bool:
        """Whether the output is a regular file, which `patch` can change until all of it is written."""
        return self._replacement is not None

    def __enter__(self) -> Output:
        if self._path is not None:
            try:
                self._file = self._open_file(self._path)
            except BaseException:
                self._discard()
                raise
            return self
        if STDOUT in _closed_at_start:
            raise OutputError(*CLOSED_OUTPUT)
        status = os.fstat(STDOUT)
        if stat.S_ISREG(status.st_mode) and status.st_size:  # appended to: as an input it would grow meanwhile
            self._refuse_sources("standard output", status)
        self._file = open(STDOUT, "wb", buffering=BUFFER_BYTES, closefd=False)
        return self

    def _open_file(self, path: str) -> BinaryIO:
        try:
            if (number := open_file_at(path)) is not None and number in _closed_at_start:
                raise OutputError(f"{path}: closed", "Write to a file with -o.")
            try:
                before = os.stat(path)  # of /dev/stdout too, whose real path is no path
                mode = before.st_mode
            except FileNotFoundError:
                before, mode = None, stat.S_IFREG | new_file_mode()
            if stat.S_ISDIR(mode) or os.path.basename(path) in ("", os.curdir, os.pardir):
                raise OutputError(f"{path}: is a directory", "Name a file.")
            if before is not None and stat.S_ISREG(mode):
                self._refuse_sources(path, before)
            if number is not None:  # others may write to it, too, and it may have no name any more
                return open(os.dup(number), "wb", buffering=BUFFER_BYTES)
            target = os.path.realpath(path)
            if not stat.S_ISREG(mode) or (before is not None and not _is_same(target, before)):  # nothing to replace
                return open(path, "wb", buffering=BUFFER_BYTES)
            blocked = signal.pthread_sigmask(signal.SIG_BLOCK, _ENDING)  # until it is known what has to be removed
            try:
                self._signals = _ending_as_errors()
                self._replacement = Replacement(target, mode=stat.S_IMODE(mode))
            finally:
                signal.pthread_sigmask(signal.SIG_SETMASK, blocked)
            return self._replacement.file
        except OutputError:
            raise
        except (OSError, ValueError) as error:
            raise OutputError(f"{path}: {reason_of(error)}") from None

    def _refuse_sources(self, shown: str, status: os.stat_result) -> None:
        if any(source.data is None and _is_same(source.name, status) for source in self._sources):
            raise OutputError(f"{shown}: is also an input", "Write to another file.")

    def answer(self, objects: Iterable[bytes]) -> None:
        """Take the JSON objects that the next lines answer; only `AllFields` uses them."""

    def write(self, data: Buffer) -> None:
        """Write bytes; OutputError where they do not fit, BrokenPipeError where nobody reads."""
        with self._errors_named():
            self._file.write(data)

    @contextmanager
    def as_one(self) -> Iterator[None]:
        """Write all that is written meanwhile at once, or nothing of it if an error comes first."""
        file, held = self._file, io.BytesIO()
        self._file = held
        try:
            yield
        finally:
            self._file = file
        with self._errors_named():
            file.write(held.getbuffer())

    def flush(self) -> None:
        """Flush the buffer, so that the reader gets what was written."""
        with self._errors_named():
            self._file.flush()

    def finish(self) -> None:
        """Write and close a file that has no name yet, so that several files get their names together or not at all."""
        with self._errors_named():
            if self._replacement is not None:
                self._replacement.finish()

    def patch(self, data: bytes) -> None:
        """Overwrite the beginning of a file that `is_replaced`."""
        with self._errors_named():
            self._file.seek(0)
            self._file.write(data)
            self._file.seek(0, os.SEEK_END)

    @contextmanager
    def _errors_named(self) -> Iterator[None]:
        try:
            yield
        except BrokenPipeError:
            raise
        except OSError as error:
            where, hint = self._path or "standard output", "Not all of it was written."
            if error.errno in (errno.ENOSPC, errno.EDQUOT):
                hint = "Free some space, or write elsewhere with -o."
            raise OutputError(f"{where}: {reason_of(error)}", hint) from None

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, traceback: TracebackType | None
    ) -> None:
        try:
            if kind is None:
                self._finish()
            elif self._path is None and issubclass(kind, (TokcliError, KeyboardInterrupt)):
                with suppress(OSError, ValueError):
                    self._file.flush()  # what was written before the error is right
        finally:
            self._give_up()

    def _finish(self) -> None:
        with self._errors_named():
            if self._replacement is not None:
                self._replacement.commit()
            else:
                self._file.flush()

    def _give_up(self) -> None:
        """Close what is open, and remove an incomplete file."""
        self._discard()
        if self._path is not None and self._replacement is None:
            with suppress(OSError, ValueError):
                self._file.close()

    def _discard(self) -> None:
        """Remove an incomplete file, and let signals end the process again."""
        if self._replacement is not None:
            self._replacement.discard()
        for number in self._signals:
            signal.signal(number, signal.SIG_DFL)


def _is_same(name: str, status: os.stat_result) -> bool:
    try:
        return os.path.samestat(os.fstat(0) if name == STANDARD_INPUT else os.stat(name), status)
    except (OSError, ValueError):
        return False
