"""Compiles patterns with the `regex` package, so that they match by the classes of Unicode 16.0 in any text.

Splitting text with the compiled patterns is the task of `pretokenizer.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, TypeVar

from tokcli.engine.base.time_limit import run_within, seconds_allowed
from tokcli.engine.pretokenizers.known_patterns import KNOWN_PATTERNS
from tokcli.engine.pretokenizers.release import ReleaseCheck, exact_class, matching_ranges, regex_package, release_check
from tokcli.engine.pretokenizers.repeats import check_calls, check_repeats
from tokcli.engine.pretokenizers.rewrite import (
    alternatives,
    name_alternatives,
    place,
    properties,
    rewrite,
    with_simple_case_folding,
    without_required_text,
)
from tokcli.errors import PatternError, PatternTimeoutError

if TYPE_CHECKING:
    import regex

Result = TypeVar("Result")

SHOWN_CHARS = 60  # of a pattern, in messages
LEAST_SECONDS = 1.0  # for compiling, which takes as long whatever the text
# A pattern that is longer may require a long text. `regex` prepares the search for it in cubic time, which neither a
# time limit nor Ctrl-C ends: 3,000 of `a` take a minute.
LONGEST_REQUIRED = 200


class CompiledPattern:
    """A pattern, compiled when it is first used: once as it is, and once more for text that needs exact classes.

    `pat_str` is the pattern that messages show and `source` the one that is compiled, where they differ. Threads may
    share it: at worst two of them compile the same pattern.
    """

    def __init__(self, pat_str: str, source: str | None = None) -> None:
        self._pat_str = pat_str
        self._source = pat_str if source is None else source

    seconds_allowed = staticmethod(seconds_allowed)

    def for_text(self, text: str) -> regex.Pattern[str]:
        """Return the compiled pattern that matches a text by the classes of Unicode 16.0."""
        return self.plain if text.isascii() or self._check.agrees(text) else self.exact

    def alternatives(self) -> list[str]:
        """Return the top-level alternatives of the pattern, in order."""
        return alternatives(self._pat_str)

    def with_named_alternatives(self) -> CompiledPattern | None:
        """Return the pattern with alternative N in the group aN; None where it refers to groups."""
        named = name_alternatives(self._pat_str)
        return CompiledPattern(self._pat_str, named) if named is not None else None

    @cached_property
    def plain(self) -> regex.Pattern[str]:
        """The pattern for text about whose characters the installed `regex` and Unicode 16.0 agree."""
        return compiled(self._pat_str, self._source, exact=False)

    @cached_property
    def exact(self) -> regex.Pattern[str]:
        """The pattern for any text; it takes twice as long, for its classes are spelled out where `regex` differs."""
        return compiled(self._pat_str, self._source, exact=True)

    @cached_property
    def _check(self) -> ReleaseCheck:
        return release_check(properties(self._source))


def within_limit(pat_str: str, work: Callable[[], Result]) -> Result:
    """Return `work()`, which prepares a pattern; PatternTimeoutError if it exceeds the time limit of the call.

    The limit is at least LEAST_SECONDS.
    """
    seconds = max(seconds_allowed(), LEAST_SECONDS)
    try:
        return run_within(seconds, work)
    except TimeoutError:
        raise PatternTimeoutError(
            f"pattern {_shown(pat_str)}: more than {seconds:g} s to compile",
            "Write a shorter pattern, or allow more time.",
        ) from None


@lru_cache(maxsize=64)
def compiled(pat_str: str, source: str, *, exact: bool) -> regex.Pattern[str]:
    """Compile a pattern, with classes that are exact in any text or (faster) as the installed `regex` has them.

    Messages show `pat_str`; `source` is what is compiled. PatternTimeoutError as in `within_limit`; PatternError for
    what is not a pattern, or is too large; MemoryError, also where no thread can be made, is no fault of the pattern.
    """
    kind = regex_package().error  # loaded before the clock runs
    try:
        return within_limit(pat_str, lambda: _compile(pat_str, source, exact))
    except kind as error:
        what, at = f"pattern {_shown(pat_str)}: {getattr(error, 'msg', error)}", _error_position(pat_str, kind)
        if at is None:
            raise PatternError(what) from None
        raise PatternError(f"{what} at position {at}", place(pat_str, at)) from None
    except PatternError:
        raise
    except (RecursionError, OverflowError, ValueError) as error:
        raise PatternError(f"pattern: {type(error).__name__}: too large or too deep") from None


def compiled_search(pattern: str, flags: int = 0) -> regex.Pattern[str]:
    """Compile a pattern to search with, by the limits of any other, but as `regex` itself reads it.

    PatternTimeoutError as in `within_limit`; PatternError for what is not a pattern, or is too large.
    """
    package = regex_package()
    try:
        return within_limit(pattern, lambda: package.compile(_within_size(pattern), flags))
    except PatternError:
        raise
    except (package.error, RecursionError, OverflowError, ValueError) as error:
        raise PatternError(f"pattern: not a regex: {str(error) or type(error).__name__}") from None


def _within_size(source: str) -> str:
    """Return a pattern as it can be compiled; PatternError if it would be too large, or never end."""
    check_repeats(source)
    check_calls(source)
    return without_required_text(source) if len(source) > LONGEST_REQUIRED else source


def _compile(pat_str: str, source: str, exact: bool) -> regex.Pattern[str]:
    if pat_str not in KNOWN_PATTERNS:
        source = _within_size(source)
    return _plain(with_simple_case_folding(rewrite(source, exact_class if exact else lambda *_: None)))


def _plain(source: str) -> regex.Pattern[str]:
    made: regex.Pattern[str] = regex_package().compile(source, flags=regex_package().V1)
    return made


def _shown(pat_str: str) -> str:
    return repr(pat_str if len(pat_str) <= SHOWN_CHARS else pat_str[: SHOWN_CHARS - 3] + "...")


def _error_position(pat_str: str, kind: type[Exception]) -> int | None:
    """Return the position that an error of this kind gives in the pattern as written; None if there is none."""
    try:
        run_within(LEAST_SECONDS, lambda: _plain(pat_str))
    except kind as error:
        position: int | None = getattr(error, "pos", None)
        return position
    except TimeoutError:
        pass
    return None


def every_match(pat_str: str) -> Iterator[tuple[int, int]]:
    """Yield (first, last) code points that a pattern of one character matches, surrogates left out.

    The first code point of a plane without characters answers for the whole plane. PatternTimeoutError where that takes
    too long, because the pattern matches more than one character.
    """
    seconds = max(seconds_allowed(), LEAST_SECONDS)
    try:
        yield from matching_ranges(compiled(pat_str, f"(?:{pat_str})++", exact=True), seconds)
    except TimeoutError:
        raise PatternTimeoutError(f"pattern {_shown(pat_str)}: more than {seconds:g} s for its characters") from None
