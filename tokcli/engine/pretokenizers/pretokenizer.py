"""`PreTokenizer`: a pat_str cuts text into pieces, which merging never crosses.

It matches by the character classes of Unicode 16.0, says where text may be cut into chunks, and refuses patterns that
leave text out. Encoding the pieces is the task of `bpe/`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cached_property
from itertools import pairwise, takewhile
from typing import TYPE_CHECKING, Any

from tokcli.engine.pretokenizers import cuts
from tokcli.engine.pretokenizers.known_patterns import KNOWN_PATTERNS
from tokcli.errors import PatternError, PatternTimeoutError, is_memory_short

if TYPE_CHECKING:
    import regex
    from typing_extensions import Buffer

    from tokcli.engine import _native
    from tokcli.engine.pretokenizers.compiling import CompiledPattern

ALL = r"[\s\S]+"  # the pattern of a tokenizer without one: it cuts nothing, and is compiled only where it is used
SHOWN_TEXT = 20  # characters of the text that a pattern leaves out, in messages

_FILE: ContextVar[str | None] = ContextVar("tokcli_pattern_file", default=None)  # see `pattern_from`
# (a text){least number of its last character,}: such a pattern always compiles, and matches only where the text occurs
_PLAIN_TEXT = r"([ a-zA-Z0-9]+)(?:\{([1-9]),\})?"


class PreTokenizer:
    r"""Cuts text into pieces by a pattern.

    A pattern that does not compile raises PatternError when the pre-tokenizer is made. Compiling and matching end at
    the time limit of the call (see `time_limit`). Threads may share a pre-tokenizer.

    >>> PreTokenizer(r"\p{L}+|\s+").split("ab c")
    ['ab', ' ', 'c']
    """

    def __init__(self, pat_str: str) -> None:
        self.pat_str = pat_str
        self.file = _FILE.get()
        self.is_known = pat_str in KNOWN_PATTERNS
        if not self.is_known and pat_str != ALL and not self._literal and self.native_pattern is None:
            _ = self._compiled.plain

    def __reduce__(self) -> tuple[object, ...]:
        return (PreTokenizer, (self.pat_str,))

    # --- pieces ------------------------------------------------------------------------------------------------------

    def split(self, text: str) -> list[str]:
        """Return the pieces of a text; joined, they are the text. PatternError where the pattern leaves text out."""
        if self.is_known:  # it matches everything, needs no clock (which doubles the time), and has no groups
            return self.for_text(text).findall(text)
        return self.split_from(text, 0)

    def split_from(self, text: str, start: int) -> list[str]:
        """Return the pieces of a text from `start` on; the pattern may look back at the text before it."""
        return self._split(text, start)[0]

    def split_with_alternatives(self, text: str) -> Iterator[tuple[str, int | None]]:
        """Yield each piece of a text with the number of the alternative that matched it.

        Alternatives count from 1; the number is None where the pattern's references to groups hide it.
        """
        yield from zip(*self._split(text, 0, with_alternatives=True), strict=True)

    @cached_property
    def native_pattern(self) -> _native.Pattern | None:
        """The native twin, which matches without `regex`, if there is one."""
        from tokcli.engine.pretokenizers.native_pattern import native_pattern  # known patterns have scanners

        return native_pattern(self.pat_str)

    def numbers_of(self, data: Buffer, ends: bytes) -> bytes:
        """Return the number (uint16) of the alternative that made each piece of UTF-8, by the native twin.

        ValueError without a twin, or where the pieces do not end at `ends` (uint64): then something else cuts the text.
        """
        if self.native_pattern is None:
            raise ValueError("the pattern has no native twin")
        found, numbers, is_split = self.native_pattern.split(data, 0, True, True)
        if not is_split or found != ends:
            raise ValueError("other pieces")
        return numbers

    def _split(
        self, text: str, start: int, *, is_whole: bool = True, with_alternatives: bool = False
    ) -> tuple[list[str], Sequence[int | None]]:
        """Return the pieces of a text from `start` on, and on request the number of each one's alternative.

        Of a text that is not whole, the pieces at its end are left out where more text could change them.
        """
        if self.native_pattern is not None:
            try:
                return _split_by(self.native_pattern, text, start, is_whole, with_alternatives)
            except ValueError:
                pass  # a lone surrogate; or the text cannot be split, and what follows says where, and why
        named = self.named_for(text) if with_alternatives else None
        limit = len(text) - cuts.LOOK_AROUND
        spans = self._spans(named or self.for_text(text), text, start, is_whole=is_whole)
        spans = spans if is_whole else takewhile(lambda span: span[1] <= limit, spans)
        found = [(text[begin:end], match.lastgroup) for begin, end, match in spans]
        numbers = [int(name[1:]) if named and name else None for _, name in found] if with_alternatives else []
        return [piece for piece, _ in found], numbers

    def _spans(
        self, compiled: regex.Pattern[str], text: str, start: int, *, is_whole: bool = True
    ) -> Iterator[tuple[int, int, regex.Match[str]]]:
        """Yield (start, end, match) of each piece from `start` on: without gaps, not empty, within the time limit.

        Where the pattern leaves text out, PatternError is raised; in a text that is not whole, the pieces end there.
        """
        at = start
        try:
            for match in compiled.finditer(text, start, timeout=self._compiled.seconds_allowed()):
                if match.start() != at or match.end() == at:
                    if not is_whole:
                        return
                    raise self._left_out(text, at, match.start() == at)
                yield at, match.end(), match
                at = match.end()
        except TimeoutError:
            raise too_slow(at, self._compiled.seconds_allowed(), self.file) from None
        except MemoryError:
            raise out_of_memory(at, self.file) from None
        if at != len(text) and is_whole:
            raise self._left_out(text, at, False)

    def _left_out(self, text: str, at: int, empty: bool) -> PatternError:
        return PatternError(
            "pattern matches the empty string" if empty else "pattern does not match",
            "A pattern must cover all text, each piece at least one character; "
            "add an alternative such as `|.` or `|\\s+`.",
            offset=at,
            unit="character",
            detail=repr(text[at : at + SHOWN_TEXT]) + (f", {_of(self.file)}" if self.file else ""),
        )

    # --- matching at one place ---------------------------------------------------------------------------------------

    def for_text(self, text: str) -> regex.Pattern[str]:
        """Return the compiled pattern that matches a text by the classes of Unicode 16.0."""
        return self._compiled.for_text(text)

    def match_at(self, text: str, at: int) -> regex.Match[str] | None:
        """Match the pattern at one index of a text; the match may be empty. PatternError where that takes too long."""
        try:
            return self.for_text(text).match(text, at, timeout=self._compiled.seconds_allowed())
        except TimeoutError:
            raise too_slow(at, self._compiled.seconds_allowed(), self.file) from None
        except MemoryError:
            raise out_of_memory(at, self.file) from None

    def may_match(self, text: str) -> bool:
        """Return False for a text in which the pattern certainly matches nowhere."""
        return self._literal in text

    @cached_property
    def _literal(self) -> str:
        """The text that every match contains, if the pattern is hardly more than a text; "" for other patterns.

        Importing `regex` takes longer than reading most files, so such a pattern is not compiled until its text occurs.
        """
        found = re.fullmatch(_PLAIN_TEXT, self.pat_str)
        return found[1] + found[1][-1] * (int(found[2] or 1) - 1) if found else ""

    # --- alternatives ------------------------------------------------------------------------------------------------

    @cached_property
    def alternatives(self) -> list[str]:
        """The top-level alternatives of the pattern, in order."""
        return self._compiled.alternatives()

    def named_for(self, text: str) -> regex.Pattern[str] | None:
        """Return the pattern, with alternative N in the group aN, compiled for a text, unless it refers to groups."""
        return self._named.for_text(text) if self._named is not None else None

    @cached_property
    def _compiled(self) -> CompiledPattern:
        from tokcli.engine.pretokenizers.compiling import CompiledPattern  # regex

        return CompiledPattern(self.pat_str)

    @cached_property
    def _named(self) -> CompiledPattern | None:
        return self._compiled.with_named_alternatives()

    @cached_property
    def kept_alternatives(self) -> dict[Any, str]:
        """The cache of `analysis/pieces/pieces.py`, which bounds it: the name of the alternative of each piece."""
        return {}

    def winners(self, text: str) -> Callable[[int], tuple[int | None, int] | None]:
        """Return a function of an index of the text: the number of the alternative that matches there, and its end.

        Without a match, the function returns None; where references to groups hide the number, that is None.
        """
        named = self.named_for(text)
        compiled = named or self.for_text(text)

        def winner(at: int) -> tuple[int | None, int] | None:
            try:
                match = compiled.match(text, at, timeout=None if self.is_known else self._compiled.seconds_allowed())
            except TimeoutError:
                raise too_slow(at, self._compiled.seconds_allowed(), self.file) from None
            if match is None:
                return None
            return int(match.lastgroup[1:]) if named and match.lastgroup else None, match.end()

        return winner

    # --- where text may be cut ---------------------------------------------------------------------------------------

    def settled(self, text: str, start: int) -> int:
        """Return the end of the pieces from `start` on that no later text can change, for a pattern that is not known.

        A piece counts as settled when LOOK_AROUND more characters follow it. (No rule is right for every pattern: one
        that looks further ahead is applied as if the text ended there.) PatternError where the pattern exceeds the time
        limit or the memory: it would do so again for each block of text.
        """
        return start + sum(map(len, self._split(text, start, is_whole=False)[0]))

    def safe_cut(self, text: str, searched: int = 0) -> int:
        """Return the last index where a known pattern's text may be cut: both sides give the pieces of the whole.

        0 means that there is none. The caller has to know that there is none below `searched`.
        """
        return self.last_stop(text, searched) or self.cut_in_digits(text)

    def cut_in_digits(self, text: str) -> int:
        """Return the last index among the digits at the end of a text where it may be cut; 0 if there is none."""
        begin = cuts.digits_begin(text)
        if begin is None:
            return 0
        return cuts.cut_in_digits(self.split(text[: begin + cuts.DIGITS_SEEN]), begin, len(text))

    def last_stop(self, text: str, searched: int = 0) -> int:
        """Return the last index where the adjacent characters alone tell that text may be cut; 0 if there is none."""
        return cuts.last_stop(self.pat_str, text, searched)

    def is_stop(self, data: bytes, at: int) -> bool:
        """Return whether the adjacent characters alone tell that UTF-8 may be cut at byte `at`."""
        return self.is_known and cuts.is_stop(self.pat_str, data, at)


def _split_by(
    pattern: _native.Pattern, text: str, start: int, is_whole: bool, with_alternatives: bool
) -> tuple[list[str], list[int]]:
    """Return what `PreTokenizer._split` does; ValueError for a lone surrogate, and where text is left out."""
    data = text.encode()
    begin = start if len(data) == len(text) else len(text[:start].encode())
    ends, numbers, is_split = pattern.split(data, begin, is_whole, with_alternatives)
    if is_whole and not is_split:
        raise ValueError("left out")
    data = data[begin:]
    spans = pairwise([0, *memoryview(ends).cast("Q")])
    if data.isascii():
        text = data.decode()
        pieces = [text[at:end] for at, end in spans]
    else:
        pieces = [data[at:end].decode() for at, end in spans]
    return pieces, memoryview(numbers).cast("H").tolist()


@contextmanager
def pattern_from(file: str | None) -> Iterator[None]:
    """Name the file of the patterns read in this context in their PatternErrors, those of later matching included."""
    token = _FILE.set(file)
    try:
        yield
    except PatternError as error:
        error.where = error.where or file
        raise
    finally:
        _FILE.reset(token)


def too_slow(at: int, seconds: float, file: str | None) -> PatternTimeoutError:
    """Return the error for a pattern that exceeded the time limit, `seconds`, at character `at` of the text."""
    return PatternTimeoutError(
        f"pattern: more than {seconds:g} s",
        "It backtracks on this text; make its repeats possessive (`++`, `*+`), or allow more time "
        "(tokcli.engine.base.time_limit).",
        offset=at,
        unit="character",
        detail=_of(file),
    )


def out_of_memory(at: int, file: str | None) -> PatternError | MemoryError:
    """Return the error for a pattern that ran out of memory at character `at` of the text.

    Where hardly any is left for anything else, the pattern is not to blame.
    """
    if is_memory_short():
        return MemoryError()
    return PatternError("pattern: out of memory", offset=at, unit="character", detail=_of(file))


def _of(file: str | None) -> str:
    return "" if file is None else f"the pattern of {file}"
