r"""Why a pattern cuts where it does: every alternative tried at one place of a text, with what it took or missed.

It asks the same engine that splits (pretokenizer.py) about the alternative, about what it begins with and about it
without its look-around; nothing is matched by rules of its own. Showing it is left to others.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from tokcli.engine.pattern_syntax import Alternative, Assertion, Characters, Flags, Look, Node, Other, Pattern, parse
from tokcli.engine.pretokenizer import DEFAULT_TIMEOUT, PreTokenizer
from tokcli.errors import PatternError

_GROUP = "tokcli_part_"  # the names that the parts of an alternative get


@dataclass(frozen=True)
class Part:
    """What a part of an alternative took: text[start:end]."""

    source: str
    start: int
    end: int


@dataclass(frozen=True)
class Attempt:
    """An alternative at a place of a text.

    `end` is where its match ends, None where there is none. `parts` are what its parts took, as far as it came:
    where it does not match, `failed` is the part that stopped it and `failed_at` the place. `loose_end` is where it
    would end without its `looks` (look-around and assertions), None where it has none or does not match then either.
    `refused` says why it could not be tried alone.
    """

    name: str
    source: str
    at: int
    end: int | None = None
    parts: tuple[Part, ...] = ()
    failed: str = ""
    failed_at: int = 0
    looks: tuple[str, ...] = ()
    loose_end: int | None = None
    refused: str = ""


@dataclass(frozen=True)
class Trace:
    """All alternatives at a place; the first that matches is the one that wins."""

    at: int
    attempts: tuple[Attempt, ...]

    @property
    def winner(self) -> Attempt | None:
        """The first alternative that matches."""
        return next((attempt for attempt in self.attempts if attempt.end is not None), None)

    @property
    def longer(self) -> tuple[Attempt, ...]:
        """Those behind the winner that would have taken more."""
        won = self.winner
        if won is None or won.end is None:
            return ()
        return tuple(a for a in self.attempts if a.end is not None and a.end > won.end)


def trace(pat_str: str, text: str, at: int, *, timeout: float = DEFAULT_TIMEOUT) -> Trace:
    r"""Try every alternative of a pattern at index `at` of a text. PatternError where one takes too long.

    >>> tried = trace(r"\p{L}+|\s+(?!\S)|\s+", "  a", 0)
    >>> [(a.name, a.end, a.failed, a.loose_end) for a in tried.attempts]
    [('a1', None, '\\p{L}+', None), ('a2', 1, '', 2), ('a3', 2, '', None)]
    """
    pattern = parse(pat_str)
    return Trace(at, tuple(_Prober(pattern, a, text, at, timeout).attempt() for a in pattern.alternatives))


class _Prober:
    """Tries one alternative at one place."""

    def __init__(self, pattern: Pattern, alternative: Alternative, text: str, at: int, timeout: float) -> None:
        self._pattern = pattern
        self._alternative = alternative
        self._text = text
        self._at = at
        self._timeout = timeout

    def attempt(self) -> Attempt:
        """How it went."""
        alternative = self._alternative
        items = alternative.items
        looks = tuple(self._pattern.text(item) for item in items if isinstance(item, (Look, Assertion)))
        found = Attempt(alternative.name, alternative.source, self._at, looks=looks)
        try:
            taken = self._match(items)
            loose = self._match([i for i in items if not isinstance(i, (Look, Assertion))]) if looks else None
            found = replace(found, loose_end=loose[0] if loose else None)
            if taken is None:
                return self._stopped(found)
            end, parts = taken
        except PatternError as error:
            if "at character" in error.what:
                raise
            return replace(found, refused="it refers to a group of another alternative")
        return replace(found, end=end, parts=parts)

    def _stopped(self, found: Attempt) -> Attempt:
        """The longest beginning of the alternative that matches, and the part after it."""
        items = self._alternative.items
        for size in range(len(items) - 1, -1, -1):
            taken = self._match(items[:size]) if size else (self._at, ())
            if taken is not None:
                end, parts = taken
                return replace(found, parts=parts, failed=self._pattern.text(items[size]), failed_at=end)
        return found

    def _match(self, items: Sequence[Node]) -> tuple[int, tuple[Part, ...]] | None:
        """Where a match of some parts, one after the other, ends, and what each took."""
        pattern = self._pattern
        named = not any(isinstance(item, Other) for item in items)
        runs = _literal_runs(pattern, items) if named else [list(items)]
        source = pattern.head
        for number, run in enumerate(runs):
            text = "".join(pattern.text(item) for item in run)
            source += f"(?P<{_GROUP}{number}>{text})" if named and not isinstance(run[0], Flags) else text
        match = PreTokenizer(source, timeout=self._timeout).match_at(self._text, self._at)
        if match is None:
            return None
        groups = match.groupdict()
        parts = [
            Part("".join(pattern.text(item) for item in run), *match.span(f"{_GROUP}{number}"))
            for number, run in enumerate(runs)
            if f"{_GROUP}{number}" in groups
        ]
        return match.end(), tuple(parts)


def _literal_runs(pattern: Pattern, items: Sequence[Node]) -> list[list[Node]]:
    """Items, where letters that stand for themselves make one with those beside them."""
    runs: list[list[Node]] = []
    for item in items:
        if runs and _is_literal(pattern, item) and _is_literal(pattern, runs[-1][-1]):
            runs[-1].append(item)
        else:
            runs.append([item])
    return runs


def _is_literal(pattern: Pattern, item: Node) -> bool:
    return isinstance(item, Characters) and len(pattern.text(item)) == 1 and pattern.text(item) != "."
