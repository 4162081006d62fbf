r"""Traces every alternative of a pattern at one place of a text: what each matches, or which of its items fails.

It has no matching rules of its own: the engine that splits text (pretokenizer.py) is asked about the alternative,
about each beginning of it, and about it without its look-around. For example, `\s+(?!\S)` at the start of `␣␣a` takes
one space, since `(?!\S)` makes `\s+` give the second one back. Showing a trace is left to `tokcli.render`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from tokcli.analysis.pattern.bounds import Deadline, refusing_depth
from tokcli.engine.pretokenizers.nodes import (
    Alternative,
    Assertion,
    CharacterClass,
    Group,
    InlineFlags,
    LookAround,
    PatternNode,
    PatternTree,
    UnknownSyntax,
    nodes_of,
)
from tokcli.engine.pretokenizers.parser import parse
from tokcli.engine.pretokenizers.pretokenizer import PreTokenizer
from tokcli.errors import PatternError, PatternTimeoutError

_GROUP = "tokcli_item_"  # the names of the groups that the items of an alternative are put into
_ELSEWHERE = "it refers to a group of another alternative"
_WHOLE = ("(?R", "(?0")
_TAKE_NOTHING = (LookAround, Assertion)


@dataclass(frozen=True)
class ItemMatch:
    """One item of an alternative, such as `\\p{L}+`, and the text that it took: text[start:end]."""

    source: str
    start: int
    end: int


_Taken: TypeAlias = tuple[int, tuple[ItemMatch, ...]]  # the end of a match, and what each item took


@dataclass(frozen=True)
class Attempt:
    """An alternative tried at index `at` of a text.

    `end` is the end of its match, None without a match. `items` says what its items took, as far as the match went; if
    there is no match, `failed` is the item that stopped it, and `failed_at` the index at which it failed.

    `lookarounds` are its look-around and assertions; `end_without_lookarounds` is where its match would end without
    them, if it has some and would match then. `not_tried` says why it could not be tried alone; it is
    empty for an alternative that was tried.
    """

    name: str
    source: str
    at: int
    end: int | None = None
    items: tuple[ItemMatch, ...] = ()
    failed: str = ""
    failed_at: int = 0
    lookarounds: tuple[str, ...] = ()
    end_without_lookarounds: int | None = None
    not_tried: str = ""


@dataclass(frozen=True)
class Trace:
    """All alternatives of a pattern tried at index `at` of a text, in the order of the pattern."""

    at: int
    attempts: tuple[Attempt, ...]

    @property
    def winner(self) -> Attempt | None:
        """Return the first alternative that matches, which is the one that makes the piece; None if none matches."""
        return next((attempt for attempt in self.attempts if attempt.end is not None), None)

    @property
    def longer(self) -> tuple[Attempt, ...]:
        """Return the alternatives that would have taken more text than the winner, but come after it."""
        won = self.winner
        if won is None or won.end is None:
            return ()
        return tuple(a for a in self.attempts if a.end is not None and a.end > won.end)


def trace(pat_str: str, text: str, at: int) -> Trace:
    r"""Try every alternative of a pattern at index `at` of a text.

    Raise PatternError if the pattern cannot be read, or takes too long.

    >>> tried = trace(r"\p{L}+|\s+(?!\S)|\s+", "  a", 0)
    >>> [(a.name, a.end, a.failed, a.end_without_lookarounds) for a in tried.attempts]
    [('a1', None, '\\p{L}+', None), ('a2', 1, '', 2), ('a3', 2, '', None)]
    """
    deadline = Deadline()
    with refusing_depth():
        pattern = parse(pat_str)

        def match(items: Sequence[PatternNode]) -> _Taken | None:
            deadline.check()
            return _match(pattern, items, text, at)

        return Trace(at, tuple(_attempt(pattern, alternative, at, match) for alternative in pattern.alternatives))


def _attempt(
    pattern: PatternTree, alternative: Alternative, at: int, match: Callable[[Sequence[PatternNode]], _Taken | None]
) -> Attempt:
    """Match an alternative, with and without its look-around, and return how that went."""
    items = alternative.items
    if _refers_elsewhere(pattern, alternative):
        return Attempt(alternative.name, alternative.source, at, not_tried=_ELSEWHERE)
    lookarounds = tuple(pattern.text(item) for item in items if isinstance(item, _TAKE_NOTHING))
    tried = Attempt(alternative.name, alternative.source, at, lookarounds=lookarounds)
    try:
        taken = match(items)
        if lookarounds:
            without = match([item for item in items if not isinstance(item, _TAKE_NOTHING)])
            tried = replace(tried, end_without_lookarounds=without[0] if without else None)
        if taken is not None:
            return replace(tried, end=taken[0], items=taken[1])
        # the longest beginning that matches, and the item after it, which fails; all shorter beginnings match, too
        begun: _Taken = (at, ())
        size, failing = 0, len(items)
        while failing - size > 1:
            middle = (size + failing) // 2
            some = match(items[:middle])
            if some is None:
                failing = middle
            else:
                begun, size = some, middle
    except PatternTimeoutError:
        raise
    except PatternError as error:
        if error.offset is not None:  # it is about the text
            raise
        return replace(tried, not_tried=_ELSEWHERE)
    failed = pattern.text(items[size]) if items else ""
    return replace(tried, items=begun[1], failed=failed, failed_at=begun[0])


def _refers_elsewhere(pattern: PatternTree, alternative: Alternative) -> bool:
    """Return whether an alternative may refer to groups of others, or to the whole pattern, and so means less alone."""
    refers = [pattern.text(node) for node in nodes_of(alternative.items) if isinstance(node, UnknownSyntax)]
    others = (other for other in pattern.alternatives if other is not alternative)
    captures = (node for other in others for node in nodes_of(other.items) if isinstance(node, Group) and node.captures)
    return any(text.startswith(_WHOLE) for text in refers) or (bool(refers) and next(captures, None) is not None)


def _match(pattern: PatternTree, items: Sequence[PatternNode], text: str, at: int) -> _Taken | None:
    """Match items one after the other; return where the match ends and what each took, or None without a match.

    Each item is put into a group with a name, except where references to groups would then mean other groups.
    """
    named = not any(isinstance(node, UnknownSyntax) for node in nodes_of(items))
    runs = _literal_runs(pattern, items) if named else [list(items)]
    sources = ["".join(map(pattern.text, run)) for run in runs]
    grouped = (
        f"(?P<{_GROUP}{number}>{source})" if named and not isinstance(run[0], InlineFlags) else source
        for number, (run, source) in enumerate(zip(runs, sources, strict=True))
    )
    match = PreTokenizer(pattern.head + "".join(grouped)).match_at(text, at)
    if match is None:
        return None
    groups = match.groupdict()
    taken = ((source, f"{_GROUP}{number}") for number, source in enumerate(sources))
    return match.end(), tuple(ItemMatch(source, *match.span(name)) for source, name in taken if name in groups)


def _literal_runs(pattern: PatternTree, items: Sequence[PatternNode]) -> list[list[PatternNode]]:
    """Return the items in runs: neighbouring literal characters in one, every other item in one of its own."""
    runs: list[list[PatternNode]] = []
    for item in items:
        if runs and _is_literal(pattern, item) and _is_literal(pattern, runs[-1][-1]):
            runs[-1].append(item)
        else:
            runs.append([item])
    return runs


def _is_literal(pattern: PatternTree, item: PatternNode) -> bool:
    return isinstance(item, CharacterClass) and len(pattern.text(item)) == 1 and pattern.text(item) != "."
