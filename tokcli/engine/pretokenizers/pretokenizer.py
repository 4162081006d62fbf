"""`PreTokenizer`: a pat_str cuts text into pieces, which merging never crosses.

It matches by the character classes of Unicode 16.0, says where text may be cut into chunks, and refuses patterns that
leave text out. Encoding the pieces is the task of `bpe/`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cached_property
from itertools import pairwise
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
        if (found := self._natively(text, start)) is not None:
            return found.pieces
        return [text[begin:end] for begin, end, _ in self._spans(self.for_text(text), text, start)]

    def split_with_alternatives(self, text: str) -> Iterator[tuple[str, int | None]]:
        """Yield each piece of a text with the number of the alternative that matched it.

        Alternatives count from 1; the number is None where the pattern's references to groups hide it.
        """
        if (found := self._natively(text, 0, with_alternatives=True)) is not None:
            yield from zip(found.pieces, found.alternatives, strict=True)
            return
        named = self.named_for(text)
        if named is None:
            yield from ((piece, None) for piece in self.split(text))
            return
        for start, end, match in self._spans(named, text, 0):
            yield text[start:end], int(match.lastgroup[1:]) if match.lastgroup else None

    @cached_property
    def native_pattern(self) -> _native.Pattern | None:
        """The native twin, which matches without `regex`; None where the pattern is left to `regex`."""
        from tokcli.engine.pretokenizers.native_pattern import native_pattern  # known patterns have scanners

        return native_pattern(self.pat_str)

    def numbers_natively(self, data: Buffer, ends: bytes) -> bytes | None:
        """Return the number (uint16) of the alternative that made each piece of UTF-8; None where only `regex` knows.

        Also None where the pieces do not end at the bytes `ends` (uint64), since then something else cuts the text.
        """
        if self.native_pattern is None:
            return None
        found, numbers, is_split = self.native_pattern.split(data, 0, True, True)
        return numbers if is_split and found == ends else None

    def _natively(
        self, text: str, start: int, *, is_whole: bool = True, with_alternatives: bool = False
    ) -> _NativePieces | None:
        """Split a text from `start` on natively; return None where `regex` has to do so, or to find what is wrong."""
        if self.native_pattern is None:
            return None
        try:
            data = text.encode()
        except UnicodeEncodeError:
            return None
        begin = start if len(data) == len(text) else len(text[:start].encode())
        ends, alternatives, is_split = self.native_pattern.split(data, begin, is_whole, with_alternatives)
        if is_whole and not is_split:
            return None
        return _NativePieces(
            data[begin:], memoryview(ends).cast("Q").tolist(), memoryview(alternatives).cast("H").tolist()
        )

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
            "pattern: matches the empty string" if empty else "pattern: leaves out",
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
        """Return the pattern, with alternative N in the group aN, compiled for a text; None if it refers to groups."""
        return None if self._named is None else self._named.for_text(text)

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

        The function returns None where no alternative matches. The number is None where the pattern's references to
        groups hide it.
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
        if (found := self._natively(text, start, is_whole=False)) is not None:
            return start + len(found.data[: found.ends[-1]].decode()) if found.ends else start
        at, limit = start, len(text) - cuts.LOOK_AROUND
        for _, end, _ in self._spans(self.for_text(text), text, start, is_whole=False):
            if end > limit:
                break
            at = end
        return at

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


class _NativePieces:
    """Text as UTF-8, where its pieces end, and the alternatives that made them."""

    def __init__(self, data: bytes, ends: list[int], alternatives: list[int]) -> None:
        self.data, self.ends, self.alternatives = data, ends, alternatives

    @property
    def pieces(self) -> list[str]:
        """The pieces as text."""
        data, spans = self.data, pairwise([0, *self.ends])
        if data.isascii():
            text = data.decode()
            return [text[begin:end] for begin, end in spans]
        return [data[begin:end].decode() for begin, end in spans]


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
