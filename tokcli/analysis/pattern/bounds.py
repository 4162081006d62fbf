"""The time and the depth that explaining a pattern may take, which compiles and matches it many times.

Each compilation and each match has the time limit of the call (`engine/base/time_limit.py`); all of them together
have a `Deadline`, which is asked between them.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from time import monotonic

from tokcli.engine.base.time_limit import seconds_allowed, time_limit
from tokcli.errors import PatternError, PatternTimeoutError

TIMES = 2  # the time limit: once for what may be left out (texts that are tried), once for what must be done
_LEAST_SECONDS = 0.1  # for a match: all but few take less


class Deadline:
    """When the time of an explanation is up, counted from now on."""

    def __init__(self) -> None:
        self.seconds = seconds_allowed()
        self.was_late = False
        self._begin = monotonic()

    def is_late(self) -> bool:
        """Return whether the time limit of the call is over, and remember that: what may be left out is."""
        self.was_late = self.was_late or monotonic() - self._begin > self.seconds
        return self.was_late

    def check(self) -> None:
        """Raise PatternTimeoutError after TIMES the time limit."""
        if monotonic() - self._begin > TIMES * self.seconds:
            what = f"pattern: more than {TIMES * self.seconds:g} s to explain"
            raise PatternTimeoutError(what, "Write a shorter pattern, or allow more time.")

    def for_a_match(self) -> AbstractContextManager[None]:
        """Allow a match what is left of the time limit."""
        return time_limit(max(self._begin + self.seconds - monotonic(), _LEAST_SECONDS))


@contextmanager
def refusing_depth() -> Iterator[None]:
    """Raise PatternError where groups are nested so deep that Python's stack does not hold them."""
    try:
        yield
    except RecursionError:
        raise PatternError("pattern: its groups are nested too deep to be explained") from None
