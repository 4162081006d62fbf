"""The errors that tokcli raises, with what is known about each mistake as fields, and the exit status of the program.

Hints address a caller of the library; `cli/hints.py` has those that name options of the command line. Where tiktoken
raises a built-in exception for the same mistake, the error is a subclass of it, so that programs written for tiktoken
still catch it.
"""

from __future__ import annotations

import errno
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Literal, TypeAlias

    Unit: TypeAlias = Literal["byte", "character"]  # of an offset; both count from 0

EXIT_CHECK_FAILED = 1  # a check that the user asked for did not hold (`--max`, `--fail-if-truncated`)
EXIT_ERROR = 2  # usage, unreadable or invalid input, no vocabulary
MAX_QUOTED = 80  # characters of what the user typed that a message repeats
_REASON = 160  # characters of what another package says
SHORTAGES = (errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.EIO)  # which say nothing about the file
ROOM_BYTES = 1 << 25  # with less free memory than this, any failure may be due to the shortage
_COMPARED = 100  # characters; no known name is longer, and the time to compare grows with the square


def reason_of(error: Exception) -> str:
    """Return why a call of the operating system failed, in its words: "no such file or directory".

    >>> reason_of(FileNotFoundError("/bucket/name")), reason_of(OSError(13, "Permission denied"))
    ('no such file or directory', 'permission denied')
    """
    if isinstance(error, FileNotFoundError) and not error.strerror:  # fsspec's names the path and nothing else
        return "no such file or directory"
    return (getattr(error, "strerror", None) or str(error)).lower()


def is_memory_short(needed: int = ROOM_BYTES) -> bool:
    """Return whether fewer than `needed` bytes are free; by default, so few that any failure may be due to that."""
    try:
        bytes(needed)  # memory that is not touched: this takes 10 µs
    except MemoryError:
        return True
    return False


def not_loaded(error: ImportError, install: str) -> tuple[str, str]:
    """Return why a package cannot be used, and a hint: it is not installed, or, with too little memory, does not load.

    >>> not_loaded(ModuleNotFoundError("No module named 'torch'"), "pip install torch")
    ('which is not installed', 'pip install torch')
    >>> not_loaded(ImportError("libarrow.so: failed to map segment from shared object"), "pip install pyarrow")
    ('which cannot be loaded: libarrow.so: failed to map segment from shared object', '')
    """
    if isinstance(error, ModuleNotFoundError):
        return "which is not installed", install
    return f"which cannot be loaded: {' '.join(str(error).split())[:_REASON]}", ""


def did_you_mean(name: str, known: Iterable[str], cutoff: float = 0.6) -> str:
    """Return the end of an error message that names up to three of the known names nearest to `name`, or "".

    Names below `cutoff`, from 0 to 1 for the same name, are not near.

    >>> did_you_mean("o200k", ["o200k_base", "gpt2"])
    "; did you mean 'o200k_base'?"
    >>> did_you_mean("p50k", ["p50k_base", "p50k_edit"])
    "; did you mean 'p50k_edit' or 'p50k_base'?"
    """
    from difflib import get_close_matches

    near = get_close_matches(name[:_COMPARED], list(known), n=3, cutoff=cutoff)
    *others, last = map(repr, near) if near else [""]
    return f"; did you mean {', '.join(others)}{' or ' if others else ''}{last}?" if near else ""


def _seen(name: str) -> str:
    """Return a name as messages have it: in quotes if there is nothing else to see of it."""
    return name if name.strip() else repr(name)


class TokcliError(Exception):
    """The base class of tokcli's errors. The message is composed of the fields below, here and nowhere else.

    `what` says what is wrong and `hint` what to do next (it may be empty). `where` names the place that was read: a
    file, a record, a line. `offset` says where in it, counted in bytes or characters as `unit` says, and `detail` what
    was found there. Callers that know the place may set these fields as the error propagates.

    >>> str(TokcliError("no such file", where="a.txt"))
    'a.txt: no such file'
    >>> str(TokcliError("not an id", where="a.txt", offset=7, unit="byte", detail="'x'"))
    "a.txt: not an id at byte 7: 'x'"
    """

    exit_status = EXIT_ERROR

    def __init__(
        self,
        what: str,
        hint: str = "",
        *,
        where: str | None = None,
        offset: int | None = None,
        unit: Unit | None = None,
        detail: str = "",
    ) -> None:
        super().__init__(what)
        self.what = what
        self.hint = hint
        self.where = where
        self.offset = offset
        self.unit = unit
        self.detail = detail

    def __str__(self) -> str:
        where = "" if self.where is None else f"{_seen(self.where)}: "
        place = "" if self.offset is None else f" at {self.unit} {self.offset}"
        return where + self.what + place + (self.detail and f": {self.detail}")


class InputError(TokcliError, ValueError):
    """Input that cannot be read as what it should be: not UTF-8, not an id, not a record."""


class GrowthError(InputError):
    """Input of which a part of a tokenizer, `part`, makes far more than there is."""

    part = ""

    @classmethod
    def of(cls, part: str, most: int) -> GrowthError:
        """Return the error for a part that makes more of an input than the `most` characters that it may."""
        refused = cls(f"the {part} makes more than {most} characters of this input")
        refused.part = part
        refused.hint = refused.advice("the vocabulary file")
        return refused

    def advice(self, file: str) -> str:
        """Return what to do, where the part is that of `file`."""
        return f"Look in the {self.part} of {file} for rules that feed each other, or for long replacements."


class MissingFileError(InputError):
    """There is no file named `where`; the message shortens a long name without a slash, which is hardly a path."""

    def __str__(self) -> str:
        name = _seen(self.where or "")
        is_short = len(name) <= MAX_QUOTED or "/" in name
        return f"{name if is_short else f'{name[:MAX_QUOTED]}...'}: {self.what}"


class NotUtf8Error(InputError):
    """Input that is not UTF-8. `takes_bytes` tells whether errors="bytes" would keep it as it is."""

    takes_bytes = True

    @classmethod
    def of(cls, error: UnicodeDecodeError, *, start: int = 0, takes_bytes: bool = True) -> NotUtf8Error:
        """Return the error for a UnicodeDecodeError in bytes that begin at byte `start` of the input."""
        hint = "Pass errors='replace' (U+FFFD for what is not UTF-8)" + " or errors='bytes' (lossless)" * takes_bytes
        refused = cls(
            "not UTF-8",
            f"{hint}.",
            offset=start + error.start,
            unit="byte",
            detail=f"0x{error.object[error.start]:02x} ({error.reason})",
        )
        refused.takes_bytes = takes_bytes
        return refused


class LongPieceError(InputError):
    """A piece above what one may have, which begins at `offset`: the pattern cuts nothing for that long."""


class WrongUse(InputError):
    """Words that the command line does not have: `word`, an option of `command`; without one, the name of a command."""

    def __init__(self, what: str, hint: str, command: str = "", word: str = "") -> None:
        super().__init__(what, hint)
        self.command, self.word = command, word


class OutputError(TokcliError, OSError):
    """Output that cannot be written: a full disk, a closed stream, an output that is also an input."""


class VocabularyError(TokcliError, ValueError):
    """A vocabulary file that is damaged, contradicts itself, or is in a format that tokcli does not read."""


class NoPatternError(VocabularyError):
    """A file of ranks that neither says how text is split nor is a published one; nobody has named a pattern."""

    SIDECAR = '{"pat_str": "REGEX", "special_tokens": {"NAME": ID}}'  # FILE.json beside it, which would name one


class PatternError(TokcliError, ValueError):
    """A pattern that does not compile, leaves text out, matches nothing, or takes too long."""


class PatternTimeoutError(PatternError):
    """A pattern that took longer than the time limit, to compile or to match."""


class UnknownEncodingError(TokcliError, ValueError):
    """No encoding has the name `name`."""

    name = ""


class NoIdError(TypeError, AssertionError):
    """`is_special_token` was asked of something that is no int (tiktoken raises AssertionError)."""


class VocabularySizeError(VocabularyError, AssertionError):
    """`explicit_n_vocab` contradicts the ranks and the special tokens (tiktoken raises AssertionError)."""


class UnknownModelError(TokcliError, KeyError):
    """No encoding is known for the model `name`."""

    name = ""


class UnknownTokenError(TokcliError, KeyError):
    """The vocabulary has no such token, or no such id."""


class DisallowedSpecialTokenError(TokcliError, ValueError):
    """A special token was found in the text and was not allowed. `token` is its text."""

    token = ""

    @classmethod
    def found(cls, token: str, offset: int, unit: Unit) -> DisallowedSpecialTokenError:
        """Return the error for a special token that begins at `offset`, counted in `unit`s."""
        error = cls(
            f"special token {token!r} found",
            f"Pass allowed_special={{{token!r}, ...}} to encode it as the special token, "
            "or disallowed_special=() to encode it as ordinary text.",
            offset=offset,
            unit=unit,
        )
        error.token = token
        return error


class NetworkError(TokcliError, OSError):
    """A download that failed, was refused, or is not allowed."""


class OfflineError(NetworkError):
    """A download that is needed because the cache lacks the file, and is not allowed."""


class CheckFailed(TokcliError):
    """A check that the user asked for did not hold; not a failure of the program."""

    exit_status = EXIT_CHECK_FAILED
