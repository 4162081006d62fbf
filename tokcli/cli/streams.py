"""Bytes in and out of the process: inputs by name, an output that is whole or not there, standard streams that break.

Nothing is decoded and no newline is translated here. What the bytes mean is the commands' and the engine's business.
"""

from __future__ import annotations

import io
import os
import stat
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import BinaryIO

from tokcli.engine.stream import BLOCK_BYTES
from tokcli.errors import InputError, OutputError, TokcliError

STANDARD_INPUT = "-"
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
        sys.stderr = open(os.devnull, "w")  # noqa: SIM115, PTH123 - for as long as the process lives


def flush_standard_output() -> None:
    """Brings what is buffered to its reader: an error shows here and not after the exit status was chosen."""
    if sys.stdout is not None:
        sys.stdout.flush()


def abandon_standard_output(*, flush_first: bool = False) -> None:
    """Lets the interpreter end without complaint about output that nobody can take any more."""
    with suppress(OSError, ValueError):
        if flush_first:
            flush_standard_output()
    with suppress(OSError):
        devnull = os.open(os.devnull, os.O_WRONLY)
        os.dup2(devnull, _STDOUT)
        os.close(devnull)


# --- input -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Input:
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
                    raise InputError(f"{self.shown}: {(error.strerror or 'cannot be read').lower()}") from None
                if not block:
                    return
                yield block

    @contextmanager
    def _opened(self) -> Iterator[BinaryIO]:
        if self.name == STANDARD_INPUT:
            if 0 in _closed_at_start or sys.stdin is None:
                raise InputError("standard input: closed", "Name a FILE, or give the text with -t.")
            yield io.FileIO(0, "rb", closefd=False)  # type: ignore[misc]  # it is one in all that we use
            return
        try:
            file = open(self.name, "rb", buffering=0)  # noqa: SIM115, PTH123 - the name may be no valid text
        except OSError as error:
            raise InputError(f"{self.name}: {(error.strerror or 'cannot be opened').lower()}") from None
        except ValueError as error:  # a NUL in the name
            raise InputError(f"{self.name!r}: {error}") from None
        with file:
            if stat.S_ISDIR(os.fstat(file.fileno()).st_mode):
                raise InputError(f"{self.name}: is a directory", "Name the files in it.")
            yield file  # type: ignore[misc]


@contextmanager
def naming(source: Input) -> Iterator[None]:
    """Puts the name of an input before what goes wrong with it."""
    try:
        yield
    except InputError as error:
        raise InputError(_named(source, error), error.hint) from None
    except TokcliError as error:
        error.what = _named(source, error)
        raise


def _named(source: Input, error: TokcliError) -> str:
    return error.what if error.what.startswith(f"{source.shown}:") else f"{source.shown}: {error.what}"


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
        return [Input(name) for name in _names_in(Input(names_from))]
    return [Input(name) for name in files or [STANDARD_INPUT]]


def _names_in(source: Input) -> list[str]:
    names = b"".join(source.blocks()).split(b"\0")
    if names[-1] == b"":
        names.pop()
    if b"" in names:
        raise InputError(f"{source.shown}: name {names.index(b'') + 1} is empty", "Names are separated by one NUL.")
    return [os.fsdecode(name) for name in names]


# --- output ----------------------------------------------------------------------------------------------------------


class Output:
    """Where data goes: standard output, or a file that gets its name when all of it is written.

    Use as a context manager; leaving it by an exception leaves no file behind and an old one as it was.
    """

    def __init__(self, path: str | None, sources: Iterable[Input] = ()) -> None:
        self._path = path
        self._sources = list(sources)
        self._temporary: Path | None = None
        self._target: Path | None = None
        self._file: BinaryIO

    @property
    def is_terminal(self) -> bool:
        """Whether a person reads it."""
        return self._path is None and os.isatty(_STDOUT)

    def __enter__(self) -> Output:
        if self._path is None:
            if _STDOUT in _closed_at_start:
                raise OutputError("standard output: closed", "Write to a file with -o.")
            self._file = open(_STDOUT, "wb", buffering=1 << 16, closefd=False)  # noqa: SIM115, PTH123
        else:
            self._file = self._open_file(Path(self._path))
        return self

    def _open_file(self, path: Path) -> BinaryIO:
        try:
            target = Path(os.path.realpath(path))
            try:
                mode = target.stat().st_mode
            except FileNotFoundError:
                mode = stat.S_IFREG | (0o666 & ~_umask())
            if stat.S_ISDIR(mode):
                raise OutputError(f"{path}: is a directory", "Name a file.")
            if not stat.S_ISREG(mode):  # a pipe, a terminal, /dev/null: there is nothing to replace
                return target.open("wb", buffering=1 << 16)
            for source in self._sources:
                if source.data is None and _is_same(source.name, target):
                    raise OutputError(f"{path}: is also an input", "Write to another file.")
            import tempfile

            number, name = tempfile.mkstemp(prefix=f".{target.name[:64]}.", suffix=".tmp", dir=target.parent)
            self._temporary, self._target = Path(name), target
            os.fchmod(number, stat.S_IMODE(mode))
            return open(number, "wb", buffering=1 << 16)  # noqa: SIM115, PTH123
        except OutputError:
            raise
        except (OSError, ValueError) as error:
            raise OutputError(f"{path}: {_reason(error)}") from None

    def write(self, data: bytes) -> None:
        """Writes bytes; OutputError where they do not fit, BrokenPipeError where nobody reads."""
        try:
            self._file.write(data)
        except BrokenPipeError:
            raise
        except OSError as error:
            raise self._error(error) from None

    def flush(self) -> None:
        """Brings what is buffered to its reader."""
        try:
            self._file.flush()
        except BrokenPipeError:
            raise
        except OSError as error:
            raise self._error(error) from None

    @property
    def can_patch(self) -> bool:
        """Whether `patch` can write the beginning again."""
        return self._temporary is not None

    def patch(self, data: bytes) -> None:
        """Overwrites the beginning, where `can_patch`."""
        self._file.seek(0)
        self.write(data)
        self._file.seek(0, os.SEEK_END)

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if kind is not None:
            self._give_up(kind)
            return
        self.flush()
        if self._path is None:
            return
        try:
            if self._temporary is not None and self._target is not None:
                os.fsync(self._file.fileno())
                self._file.close()
                self._temporary.replace(self._target)
                self._temporary = None
            else:
                self._file.close()
        except OSError as error:
            self._give_up(OSError)
            raise self._error(error) from None

    def _give_up(self, kind: type[BaseException]) -> None:
        with suppress(OSError, ValueError):
            if self._path is None and issubclass(kind, (TokcliError, KeyboardInterrupt)):
                self._file.flush()  # what was right before the error stays right
        with suppress(OSError, ValueError):
            if self._path is not None:
                self._file.close()
            else:
                self._file.detach()  # type: ignore[attr-defined]
        if self._temporary is not None:
            with suppress(OSError):
                self._temporary.unlink()

    def _error(self, error: OSError) -> OutputError:
        return OutputError(f"{self._path or 'standard output'}: {_reason(error)}", "Not all of it was written.")


def _reason(error: Exception) -> str:
    return (getattr(error, "strerror", None) or str(error)).lower()


def _umask() -> int:
    mask = os.umask(0o077)
    os.umask(mask)
    return mask


def _is_same(name: str, target: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(0) if name == STANDARD_INPUT else os.stat(name), target.stat())  # noqa: PTH116
    except (OSError, ValueError):
        return False
