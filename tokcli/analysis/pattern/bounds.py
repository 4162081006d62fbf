"""Limits on the time and the depth of explaining a pattern, which compiles and matches it many times.

Each compilation and each match has the time limit of the call (`engine/base/time_limit.py`); a `Deadline`, checked
between them, limits all of them together.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from time import monotonic

from tokcli.engine.base.time_limit import seconds_allowed, time_limit
from tokcli.errors import PatternError, PatternTimeoutError

TIMES = 2  # time limits in all: one for what may be left out (trying texts), one for what must be done
_LEAST_SECONDS = 0.1  # that any match gets, however late it is: nearly all take less


class Deadline:
    """The deadline of an explanation: the time limit of the call, counted from when this object is made."""

    def __init__(self) -> None:
        self.seconds = seconds_allowed()
        self.was_late = False
        self._begin = monotonic()

    def is_late(self) -> bool:
        """Return whether the time limit has passed, so that optional work is left out; `was_late` remembers it."""
        self.was_late = self.was_late or monotonic() - self._begin > self.seconds
        return self.was_late

    def check(self) -> None:
        """Raise PatternTimeoutError if TIMES times the time limit has passed."""
        if monotonic() - self._begin > TIMES * self.seconds:
            what = f"pattern: more than {TIMES * self.seconds:g} s to explain"
            raise PatternTimeoutError(what, "Write a shorter pattern, or allow more time.")

    def for_a_match(self) -> AbstractContextManager[None]:
        """Return a context in which a match may take what is left of the time limit."""
        return time_limit(max(self._begin + self.seconds - monotonic(), _LEAST_SECONDS))


@contextmanager
def refusing_depth() -> Iterator[None]:
    """Raise PatternError if groups are nested too deep for Python's stack."""
    try:
        yield
    except RecursionError:
        raise PatternError("pattern: its groups are nested too deep to be explained") from None
