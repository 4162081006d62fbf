"""Bytes in and out of the process: inputs by name, an output that is whole or not there, standard streams that break.

Nothing is decoded and no newline is translated here. What the bytes mean is the commands' and the engine's business.
"""

from __future__ import annotations

import errno
import io
import os
import stat
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, BinaryIO, NamedTuple

from tokcli.engine.stream import BLOCK_BYTES
from tokcli.errors import InputError, OutputError, TokcliError

if TYPE_CHECKING:
    from types import TracebackType

    from typing_extensions import Buffer

STANDARD_INPUT = STANDARD_OUTPUT = "-"
BUFFER_BYTES = 1 << 16  # of output, as much as a pipe holds
_STDOUT = 1
_closed_at_start: set[int] = set()  # of the standard streams


def occupy_closed_streams() -> None:
    """Opens /dev/null in place of standard streams that are closed, so that no file of ours gets their number."""
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            _closed_at_start.add(number)
            os.open(os.devnull, os.O_RDWR)
    if sys.stderr is None or 2 in _closed_at_start:
        sys.stderr = open(os.devnull, "w")  # noqa: SIM115 - for as long as the process lives


def is_standard_output_open() -> bool:
    """Whether there was one when the program started."""
    return _STDOUT not in _closed_at_start and sys.stdout is not None


def flush_standard_output() -> None:
    """Brings what Python buffers (help, a version) to its reader: an error shows before the exit status is chosen."""
    if not is_standard_output_open():
        raise _closed_output()
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        raise
    except OSError as error:
        raise OutputError(f"standard output: {_reason(error)}") from None


def abandon_standard_output() -> None:
    """Lets the interpreter end without complaint about output that nobody can take any more."""
    with suppress(OSError):
        devnull = os.open(os.devnull, os.O_WRONLY)
        os.dup2(devnull, _STDOUT)
        os.close(devnull)


def print_error(what: str, hint: str = "") -> None:
    """`Error: what` and a line with what to do next, on standard error, harmless to any terminal."""
    from tokcli.render.visible import visible

    with suppress(OSError, ValueError):  # nobody to tell
        sys.stderr.write("".join(f"{visible(line)}\n" for line in (f"Error: {what}", hint) if line))
        sys.stderr.flush()


# --- input -----------------------------------------------------------------------------------------------------------


class Input(NamedTuple):
    """One input: a file, standard input, or the text of --text. `name` is what the user called it."""

    name: str
    data: bytes | None = None  # of --text

    @property
    def shown(self) -> str:
        """Its name in messages."""
        return "standard input" if self.name == STANDARD_INPUT else self.name

    def blocks(self, size: int = BLOCK_BYTES) -> Iterator[bytes]:
        """Its bytes, in blocks of at most `size`; InputError where it cannot be read."""
        if self.data is not None:
            yield from (self.data[i : i + size] for i in range(0, len(self.data), size))
            return
        with self._opened() as file:
            while True:
                try:
                    block = file.read(size)
                except OSError as error:
                    raise InputError(f"{self.shown}: {_reason(error)}") from None
                if not block:
                    return
                yield block

    @contextmanager
    def _opened(self) -> Iterator[BinaryIO]:
        if self.name == STANDARD_INPUT:
            if 0 in _closed_at_start or sys.stdin is None:
                raise InputError("standard input: closed", "Name a FILE, or give the text with -t.")
            yield io.FileIO(0, "rb", closefd=False)
            return
        try:
            file = open(self.name, "rb", buffering=0)  # noqa: SIM115 - the name may be no valid text
        except OSError as error:
            hint = "Name the files in it." if isinstance(error, IsADirectoryError) else ""
            raise InputError(f"{self.name}: {_reason(error)}", hint) from None
        except ValueError as error:  # a NUL in the name
            raise InputError(f"{self.name!r}: {error}") from None
        with file:
            yield file


@contextmanager
def naming(shown: str) -> Iterator[None]:
    """Puts the name of an input before what goes wrong with it; no more than once, and not before the output's."""
    try:
        yield
    except OutputError:
        raise
    except TokcliError as error:
        if not error.what.startswith(f"{shown}:"):
            error.what = f"{shown}: {error.what}"
        raise


def inputs(files: Iterable[str], text: str | None, names_from: str | None) -> list[Input]:
    """The inputs that a command line names; standard input where it names none."""
    files = list(files)
    if text is not None:
        if files or names_from:
            raise InputError("both --text and files were given", "Use one of them.")
        return [Input("--text", os.fsencode(text))]
    if names_from is not None:
        if files:
            raise InputError("both --files0-from and files were given", "Use one of them.")
        return [Input(name) for name in _names_in(Input(names_from))]  # fmt: skip
    return [Input(name) for name in files or [STANDARD_INPUT]]


def _names_in(source: Input) -> list[str]:
    names = b"".join(source.blocks()).split(b"\0")
    if names[-1] == b"":
        names.pop()
    if b"" in names:
        raise InputError(f"{source.shown}: name {names.index(b'') + 1} is empty", "Names are separated by one NUL.")
    if source.name == STANDARD_INPUT and b"-" in names:
        raise InputError("standard input holds the names of files: it cannot be one of them", "A file is ./- then.")
    return [os.fsdecode(name) for name in names]


# --- output ----------------------------------------------------------------------------------------------------------


class Output:
    """Where data goes: standard output, or a file that gets its name when all of it is written.

    Use as a context manager; leaving it by an exception leaves no file behind and an old one as it was. A path that is
    one of the `sources` is refused; one that is no regular file (a pipe, /dev/null) is written in place.
    """

    def __init__(self, path: str | None, sources: Iterable[Input] = ()) -> None:
        self._path = None if path == STANDARD_OUTPUT else path
        self._sources = sources
        self._temporary: str | None = None
        self._target: str | None = None
        self._file: BinaryIO

    @property
    def is_terminal(self) -> bool:
        """Whether a person reads it."""
        return self._path is None and os.isatty(_STDOUT)

    @property
    def is_replaced(self) -> bool:
        """Whether it is a regular file: all at once when it is whole, and until then `patch` can change it."""
        return self._temporary is not None

    def __enter__(self) -> Output:
        if self._path is not None:
            self._file = self._open_file(self._path)
            return self
        if _STDOUT in _closed_at_start:
            raise _closed_output()
        self._file = open(_STDOUT, "wb", buffering=BUFFER_BYTES, closefd=False)
        return self

    def _open_file(self, path: str) -> BinaryIO:
        try:
            try:
                mode = os.stat(path).st_mode  # of /dev/stdout too, whose real path is no path
            except FileNotFoundError:
                mode = stat.S_IFREG | (0o666 & ~_umask())
            if stat.S_ISDIR(mode) or path.endswith(os.sep):
                raise OutputError(f"{path}: is a directory", "Name a file.")
            if not stat.S_ISREG(mode):  # there is nothing to replace
                return open(path, "wb", buffering=BUFFER_BYTES)
            target = os.path.realpath(path)
            if any(source.data is None and _is_same(source.name, target) for source in self._sources):
                raise OutputError(f"{path}: is also an input", "Write to another file.")
            import tempfile

            folder, name = os.path.split(target)
            number, self._temporary = tempfile.mkstemp(prefix=f".{name[:64]}.", suffix=".tmp", dir=folder)
            self._target = target
            os.fchmod(number, stat.S_IMODE(mode))
            return open(number, "wb", buffering=BUFFER_BYTES)
        except OutputError:
            raise
        except (OSError, ValueError) as error:
            raise OutputError(f"{path}: {_reason(error)}") from None

    def write(self, data: Buffer) -> None:
        """Writes bytes; OutputError where they do not fit, BrokenPipeError where nobody reads."""
        with self._errors_named():
            self._file.write(data)

    def flush(self) -> None:
        """Brings what is buffered to its reader."""
        with self._errors_named():
            self._file.flush()

    def patch(self, data: bytes) -> None:
        """Overwrites the beginning of a file that `is_replaced`."""
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
            raise OutputError(f"{where}: {_reason(error)}", hint) from None

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, traceback: TracebackType | None
    ) -> None:
        try:
            if kind is None:
                self._finish()
            elif self._path is None and issubclass(kind, (TokcliError, KeyboardInterrupt)):
                with suppress(OSError, ValueError):
                    self._file.flush()  # what was right before the error stays right
        finally:
            self._give_up()

    def _finish(self) -> None:
        with self._errors_named():
            self._file.flush()
            if self._temporary is not None and self._target is not None:
                os.fsync(self._file.fileno())
                os.replace(self._temporary, self._target)
                self._temporary = None

    def _give_up(self) -> None:
        """Closes what is open and removes what is not whole; nothing where `_finish` came to its end."""
        if self._path is not None:
            with suppress(OSError, ValueError):
                self._file.close()
        if self._temporary is not None:
            with suppress(OSError):
                os.unlink(self._temporary)


def _closed_output() -> OutputError:
    return OutputError("standard output: closed", "Write to a file with -o.")


def _reason(error: Exception) -> str:
    return (getattr(error, "strerror", None) or str(error)).lower()


def _umask() -> int:
    mask = os.umask(0o077)
    os.umask(mask)
    return mask


def _is_same(name: str, target: str) -> bool:
    try:
        return os.path.samestat(os.fstat(0) if name == STANDARD_INPUT else os.stat(name), os.stat(target))
    except (OSError, ValueError):
        return False
