"""The pre-tokenizer: a pat_str cuts text into pieces, which merging never crosses.

It matches with the `regex` package, but with the character classes of Unicode 16.0 whatever release of it is installed
(tiktoken 0.14's are 16.0). It also knows where text may be cut in blocks; encoding the pieces is bpe.py's task.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any

from tokcli.engine import pattern as patterns
from tokcli.engine.known_patterns import BLOOM, DEEPSEEK_CODER, KNOWN_PATTERNS, LLAMA_CPP_CODER
from tokcli.errors import PatternError

if TYPE_CHECKING:
    import regex

DEFAULT_TIMEOUT = 5.0  # seconds a pattern may take for one block of text

# Where the text of a known pattern may be cut (see `safe_cut`). Python's own `re` finds it without loading `regex`; its
# classes depend on Python's release, so only characters are named here whose class never changed.
_WORD = "A-Za-z0-9\u3041-\u3096\u30a1-\u30fa\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7a3"  # letters and digits
_STOPS = '\t\n\r !"#$%&()*+,-./:;<=>?@[\\]^_`{|}~\u3001\u3002\uff01\uff0c\uff1f'  # neither, no mark, no apostrophe
_CUT = rf"(?<=[^\s\x85\x1c-\x1f])(?=\x20)|(?<=[{_WORD}])(?=[{re.escape(_STOPS)}])"
# Of some patterns signs, or letters and signs, may be one piece; and some cut out each newline.
_CODER_CUT = rf"(?<=[{_WORD}])(?=[{re.escape(_STOPS)}])|(?<=[\s\S])(?=[\r\n])"
_CUTS = {
    DEEPSEEK_CODER: _CODER_CUT,
    LLAMA_CPP_CODER: _CODER_CUT,
    BLOOM: rf"(?<=[{_WORD}])(?=[\t\n\r !(),.?|\u3001\u3002\uff0c])",
}
_DIGIT_CUT = r"(?<=[0-9])(?=[0-9]{4})"  # between two pieces, and not at the end of the digits
_ENDS_IN_DIGITS = r"[0-9]{8}\Z"
_CUT_WINDOWS = (1 << 8, 1 << 12, 1 << 16)  # characters to look back through, before the whole text

# How far a pattern of one's own may look beyond the end of a piece (or behind its start) and still be streamed exactly.
LOOK_AROUND = 1 << 16

AGREED_CHARACTERS = 1 << 16  # whose classes are known to be those of Unicode 16.0: 6 MB when full

ALL = r"[\s\S]+"  # cuts nothing: the pattern of a tokenizer that cuts by other rules, which is not compiled in vain


# (a text)(of its last character: at least so many): what surely compiles, and only matches where that stands
_PLAIN_TEXT = re.compile(r"([ a-zA-Z0-9]+)(?:\{([1-9]),\})?")


class PreTokenizer:
    r"""Cuts text into pieces by a pattern.

    >>> PreTokenizer(r"\p{L}+|\s+").split("ab c")
    ['ab', ' ', 'c']
    """

    def __init__(self, pat_str: str, *, timeout: float = DEFAULT_TIMEOUT) -> None:
        self.pat_str = pat_str
        self.timeout = timeout
        self.is_known = pat_str in KNOWN_PATTERNS
        if not self.is_known and pat_str != ALL and not self._least:
            _ = self._plain  # a pattern that does not compile is refused here, not at the first text

    def __reduce__(self) -> tuple[object, ...]:
        return (PreTokenizer, (self.pat_str,))

    @cached_property
    def _least(self) -> str:
        """What stands in every match of a pattern that is hardly more than a text; "" for others.

        Importing `regex` takes longer than reading many a file: such a pattern is compiled where it matches.
        """
        found = _PLAIN_TEXT.fullmatch(self.pat_str)
        return found[1] + found[1][-1] * (int(found[2] or 1) - 1) if found else ""

    def may_match(self, text: str) -> bool:
        """Whether there may be a match in a text; false is certain."""
        return self._least in text

    @cached_property
    def _plain(self) -> regex.Pattern[str]:
        """For text in which the installed release of `regex` knows no character otherwise than Unicode 16.0."""
        return _compile(self.pat_str, patterns.rewrite(self.pat_str, lambda *_: None))

    @cached_property
    def _exact(self) -> regex.Pattern[str]:
        """For any text; twice as slow, for the classes are spelled out where the release differs."""
        return _compile(self.pat_str, patterns.rewrite(self.pat_str, _exact_class))

    def _compiled_for(self, text: str) -> regex.Pattern[str]:
        if text.isascii():
            return self._plain
        new = set(text).difference(self._agreed)
        if new:
            contested = self._contested(new)
            if len(self._agreed) > AGREED_CHARACTERS:
                self._agreed.clear()
            self._agreed |= new - contested
            if contested:
                return self._exact
        return self._plain

    @cached_property
    def _agreed(self) -> set[str]:
        """Characters that the installed release puts in the classes that Unicode 16.0 does."""
        return set()

    def _contested(self, characters: set[str]) -> set[str]:
        """Those of some characters that it puts elsewhere. (Asking of all there are would take 50 ms.)"""
        joined = "".join(characters)
        found: set[str] = set()
        for name in self._properties:
            ours = patterns.members(characters, patterns.unicode16_ranges(name) or ())
            found |= ours.symmetric_difference(_property(name).findall(joined))
        return found

    @cached_property
    def _properties(self) -> set[str]:
        return patterns.properties(self.pat_str)

    def split(self, text: str) -> list[str]:
        """The pieces of a text; joined, they are the text. PatternError where the pattern leaves text out."""
        compiled = self._compiled_for(text)
        if self.is_known:  # they match everything, need no clock (which doubles the time), and have no groups
            return compiled.findall(text)
        return [text[start:end] for start, end, _ in self._spans(compiled, text, 0)]

    def split_with_alternatives(self, text: str) -> Iterator[tuple[str, int | None]]:
        """The pieces of a text, each with the number of the alternative that matched, from 1; None where unknown."""
        named = self.named_for(text)
        if named is None:
            yield from ((piece, None) for piece in self.split(text))
            return
        for start, end, match in self._spans(named, text, 0):
            yield text[start:end], int(match.lastgroup[1:]) if match.lastgroup else None

    def named_for(self, text: str) -> regex.Pattern[str] | None:
        """The pattern for a text, each alternative a group of its name; None where it refers to groups itself."""
        return self._named if self._compiled_for(text) is self._plain else self._named_exact

    @cached_property
    def kept_alternatives(self) -> dict[Any, str]:
        """Pieces and the names of their alternatives, for piece_alternatives.py, which bounds it."""
        return {}

    def winners(self, text: str) -> Callable[[int], tuple[int | None, int] | None]:
        """What says of a place of a text which alternative matches there and where that ends; None where none does.

        The number of the alternative is None where it cannot be known.
        """
        compiled = self.named_for(text) or self._compiled_for(text)
        is_named = self._named is not None

        def winner(at: int) -> tuple[int | None, int] | None:
            try:
                match = compiled.match(text, at, timeout=None if self.is_known else self.timeout)
            except TimeoutError:
                raise _too_slow(self.timeout, at) from None
            if match is None:
                return None
            return int(match.lastgroup[1:]) if is_named and match.lastgroup else None, match.end()

        return winner

    @cached_property
    def alternatives(self) -> list[str]:
        """The top-level alternatives of the pattern, in order."""
        return patterns.alternatives(self.pat_str)

    @cached_property
    def _named(self) -> regex.Pattern[str] | None:
        named = patterns.name_alternatives(self.pat_str)
        return None if named is None else _compile(self.pat_str, patterns.rewrite(named, lambda *_: None))

    @cached_property
    def _named_exact(self) -> regex.Pattern[str] | None:
        named = patterns.name_alternatives(self.pat_str)
        return None if named is None else _compile(self.pat_str, patterns.rewrite(named, _exact_class))

    def _spans(
        self, compiled: regex.Pattern[str], text: str, start: int
    ) -> Iterator[tuple[int, int, regex.Match[str]]]:
        """(start, end, match) of each piece from `start` on; no gaps, none empty, within the time limit."""
        at = start
        try:
            for match in compiled.finditer(text, start, timeout=self.timeout):
                if match.start() != at or match.end() == at:
                    raise _left_out(text, at, match.start() == at)
                yield at, match.end(), match
                at = match.end()
        except TimeoutError:
            raise _too_slow(self.timeout, at) from None
        except MemoryError:
            raise PatternError(f"pattern: out of memory at character {at}") from None
        if at != len(text):
            raise _left_out(text, at, False)

    def match_at(self, text: str, at: int) -> regex.Match[str] | None:
        """What the pattern matches at one place of a text, empty or not; PatternError where that takes too long."""
        try:
            return self._compiled_for(text).match(text, at, timeout=self.timeout)
        except TimeoutError:
            raise _too_slow(self.timeout, at) from None
        except MemoryError:
            raise PatternError(f"pattern: out of memory at character {at}") from None

    def split_from(self, text: str, start: int) -> list[str]:
        """The pieces of a text from `start` on; what stands before it can be looked back at."""
        return [text[begin:end] for begin, end, _ in self._spans(self._compiled_for(text), text, start)]

    def settled(self, text: str, start: int) -> int:
        """For a pattern of one's own: the end of the pieces from `start` on that no later text can change.

        A piece counts as settled when LOOK_AROUND more characters follow it. (No rule is right for every pattern: one
        that looks further than that is applied as if the text ended there.)
        """
        at, limit = start, len(text) - LOOK_AROUND
        try:
            for _, end, _ in self._spans(self._compiled_for(text), text, start):
                if end > limit:
                    break
                at = end
        except PatternError:
            pass  # it may be for the end that is missing; if not, it comes back when the text is complete
        return at

    def safe_cut(self, text: str, searched: int = 0) -> int:
        """The last place where a known pattern's text may be cut: both parts give the pieces of the whole; 0 if none.

        Such a place is before U+0020 after what is not white space, and before a stop after a letter or digit: no known
        pattern has a piece across either, looks across, or begins elsewhere because of what stood before. A letter
        before an apostrophe or a mark is no such place (contractions; o200k takes marks as letters), nor is one after a
        newline (`\\s+(?!\\S)`). tests/engine/test_cuts.py tries it on adversarial text. In the first `searched`
        characters there is known to be none.
        """
        if cut := self.last_stop(text, searched):
            return cut
        return self._cut_in_digits(text) if re.search(_ENDS_IN_DIGITS, text[-64:]) else 0

    @cached_property
    def cuts(self) -> re.Pattern[str]:
        """Finds the places where a known pattern's text may be cut."""
        return re.compile(_CUTS.get(self.pat_str, _CUT))

    def last_stop(self, text: str, searched: int = 0) -> int:
        """The last such place that can be told by the characters around it."""
        length = len(text)
        if not any(text.find(stop, max(0, searched - 1)) >= 0 for stop in _STOPS):  # much faster than the search below
            return 0
        for window in (*_CUT_WINDOWS, length):
            start = max(0, searched - 1, length - window)
            cut = 0
            for match in self.cuts.finditer(text, start):
                cut = match.start()
            if cut:
                return cut
            if start < length - window:
                break
        return 0

    def _cut_in_digits(self, text: str) -> int:
        """Runs of digits cut in threes have no safe place by look: match from the start, and cut between two pieces."""
        at, digit_cut = len(text), re.compile(_DIGIT_CUT)
        for piece in reversed(self.split(text)):
            at -= len(piece)
            if digit_cut.match(text, at):
                return at
        return 0


@lru_cache(maxsize=64)
def _compile(pat_str: str, rewritten: str) -> regex.Pattern[str]:
    import regex

    try:
        return regex.compile(rewritten, flags=regex.V1)
    except regex.error as error:
        shown = pat_str if len(pat_str) <= 60 else pat_str[:57] + "..."
        what, at = f"pattern {shown!r}: {getattr(error, 'msg', error)}", _position(pat_str)
        if at is None:
            raise PatternError(what) from None
        raise PatternError(f"{what} at position {at}", patterns.place(pat_str, at)) from None
    except (RecursionError, OverflowError, MemoryError, ValueError) as error:
        raise PatternError(f"pattern: {type(error).__name__}: too large or too deep") from None


def every_match(pat_str: str) -> Iterator[tuple[int, int]]:
    """(first, last) code points that a pattern of one character matches; planes without any character as their first.

    Surrogates, which are no text, are left out.
    """
    run = f"(?:{pat_str})++"
    compiled = _compile(pat_str, patterns.rewrite(run, _exact_class))
    for first, text in _planes():
        for match in compiled.finditer(text):
            found = ((first + match.start(), first + match.end() - 1),)
            yield from patterns.minus(found, ((0xD800, 0xDFFF),))
    for first, last in patterns.minus(((0, 0x10FFFF),), patterns.merged(patterns.SCANNED_PLANES)):
        for begin in range(first, last + 1, 0x10000):
            if compiled.match(chr(begin)):
                yield begin, begin + 0xFFFF


def _position(pat_str: str) -> int | None:
    """Where the pattern as it was given goes wrong, if that can be told."""
    import regex

    try:
        regex.compile(pat_str, flags=regex.V1)
    except regex.error as error:
        position: int | None = getattr(error, "pos", None)
        return position
    return None


def _too_slow(seconds: float, at: int) -> PatternError:
    return PatternError(
        f"pattern: more than {seconds:g} s at character {at}",
        "It backtracks on this text; raise --timeout, or make its repeats possessive (`++`, `*+`).",
    )


def _left_out(text: str, at: int, empty: bool) -> PatternError:
    what = "matches the empty string" if empty else "leaves out"
    return PatternError(
        f"pattern: {what} at character {at}: {text[at : at + 20]!r}",
        "A pattern must cover all text, each piece at least one character; add an alternative such as `|.` or `|\\s+`.",
    )


def _exact_class(name: str, negated: bool) -> str | None:
    """The inside of a V1 class for a property as of Unicode 16.0, by what the installed release gets wrong."""
    if patterns.unicode16_ranges(name) is None:
        return None
    extra, missing = _class_deltas(name)
    if not extra and not missing:
        return rf"\{'P' if negated else 'p'}{{{name}}}"
    right = rf"[\p{{{name}}}--[{patterns.class_members(extra)}]]" if extra else rf"\p{{{name}}}"
    right += patterns.class_members(missing)
    return f"^{right}" if negated else right


@lru_cache(maxsize=64)
def _property(name: str) -> regex.Pattern[str]:
    """Finds single characters of a class as the installed release knows it."""
    import regex

    return regex.compile(rf"\p{{{name}}}")


@lru_cache(maxsize=64)
def _class_deltas(name: str) -> tuple[patterns.Ranges, patterns.Ranges]:
    """(code points that only the installed release puts in a class, those that only Unicode 16.0 does)."""
    import regex

    ours = patterns.unicode16_ranges(name)
    if ours is None:
        return (), ()
    theirs: list[tuple[int, int]] = []
    compiled = regex.compile(rf"\p{{{name}}}++")
    for first, text in _planes():
        theirs += [(first + m.start(), first + m.end() - 1) for m in compiled.finditer(text)]
    scanned = patterns.merged(patterns.SCANNED_PLANES)
    inside = patterns.minus(ours, patterns.minus(((0, 0x10FFFF),), scanned))
    return patterns.minus(tuple(theirs), inside), patterns.minus(inside, tuple(theirs))


@lru_cache(maxsize=1)
def _planes() -> list[tuple[int, str]]:
    """(first code point, all characters from there on) for the planes that can hold characters."""
    return [(first, "".join(map(chr, range(first, last + 1)))) for first, last in patterns.SCANNED_PLANES]
