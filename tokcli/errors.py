"""The errors that tokcli raises, each knowing the exit status it ends the program with.

Nothing is printed here: the command line turns an error into its message and, below it, what to do next. Where tiktoken
raises a built-in exception for the same mistake, the kind here is a subclass of it, so that programs written for
tiktoken go on catching what they caught.
"""

from __future__ import annotations

EXIT_CHECK_FAILED = 1  # a check that was asked for did not hold (`--max`, `--fail-if-truncated`)
EXIT_ERROR = 2  # usage, unreadable or invalid input, no vocabulary


class TokcliError(Exception):
    """A mistake that can be named: `what` happened and where, and in `hint` what to do next (may be empty).

    >>> str(TokcliError("a.txt: no such file"))
    'a.txt: no such file'
    """

    exit_status = EXIT_ERROR

    def __init__(self, what: str, hint: str = "") -> None:
        super().__init__(what)
        self.what = what
        self.hint = hint

    def __str__(self) -> str:  # KeyError would print the repr
        return self.what


class InputError(TokcliError, ValueError):
    """Input that cannot be read as what it should be: not UTF-8, not an id, not a record."""


class OutputError(TokcliError, OSError):
    """Output that cannot be written: a full disk, a closed stream, an output that is also an input."""


class VocabularyError(TokcliError, ValueError):
    """A vocabulary file that is damaged, contradicts itself, or is in no format that we read."""


class PatternError(TokcliError, ValueError):
    """A pattern that does not compile, leaves text out, matches nothing, or takes too long."""


class UnknownEncodingError(TokcliError, ValueError):
    """No encoding has this name."""


class UnknownModelError(TokcliError, KeyError):
    """No encoding is known for this model."""


class UnknownTokenError(TokcliError, KeyError):
    """The vocabulary has no such token, or no such id."""


class DisallowedSpecialTokenError(TokcliError, ValueError):
    """A special token stands in the text and was not allowed.

    `token` is its text and `offset` where it begins, in code points of the text that was given.
    """

    def __init__(self, what: str, hint: str, *, token: str, offset: int) -> None:
        super().__init__(what, hint)
        self.token = token
        self.offset = offset

    def __reduce__(self) -> tuple[object, ...]:
        return (_disallowed, (self.what, self.hint, self.token, self.offset))


def _disallowed(what: str, hint: str, token: str, offset: int) -> DisallowedSpecialTokenError:
    return DisallowedSpecialTokenError(what, hint, token=token, offset=offset)


class NetworkError(TokcliError, OSError):
    """A download that failed, was refused, or is not allowed (`--offline`)."""


class CheckFailed(TokcliError):
    """A check that was asked for did not hold; not an error of the program."""

    exit_status = EXIT_CHECK_FAILED
