r"""What is wrong with a pattern: text that it leaves out, alternatives without effect, groups, repeats that backtrack.

All characters fall into classes that the pattern cannot tell apart (pattern_sets.py), so that texts of one character
of each class, two, three ... try it on everything that short; longer texts are made from the alternatives themselves.
Which other programs could read the pattern is pattern_flavours.py's question.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from typing import Literal

from tokcli.engine.pattern_ambiguity import ambiguity
from tokcli.engine.pattern_sets import Cell, members, partition
from tokcli.engine.pattern_syntax import (
    Alternative,
    Assertion,
    Characters,
    Choice,
    Group,
    Look,
    Node,
    Other,
    Pattern,
    Repeat,
    is_nullable,
    parse,
    walk,
)
from tokcli.engine.pattern_syntax import Sequence as NodeSequence
from tokcli.engine.pretokenizer import PreTokenizer
from tokcli.errors import PatternError

Severity = Literal["error", "warning", "note"]

MOST_TEXTS = 20_000  # that are tried: all of three characters of up to 27 classes, or of two of up to 141
LONGEST_TEXT = 4
MADE_TEXTS = 200  # for each alternative that none of those reached
MADE_CHARS = 400  # of such a text, about
_BEHIND = ("", " ", "a", "\n", "0", ".", " a", "\n\n")  # what such a text is followed by
_SHOWN = 3  # examples of text that is left out
_SEED = 20  # the same texts every time


@dataclass(frozen=True)
class Finding:
    """Something worth knowing: what kind, where in the pattern (from `start` to `end`), in words, and a text of it."""

    severity: Severity
    check: str
    alternative: str | None
    start: int
    end: int
    what: str
    example: str | None = None


@dataclass(frozen=True)
class Report:
    """What was found, and what was tried: `classes` of characters, all texts up to `length` of them."""

    findings: tuple[Finding, ...]
    classes: int
    length: int
    texts: int


def lint(pat_str: str) -> Report:
    r"""Look for what is wrong with a pattern; PatternError for one that cannot be read.

    >>> [(f.check, f.alternative) for f in lint(r"a+|b*|a|(c)").findings]
    [('empty', 'a2'), ('never', 'a3'), ('never', 'a4'), ('group', 'a4')]
    """
    return _Linter(parse(pat_str)).report()


class _Linter:
    """One pattern, and what has been learnt of it."""

    def __init__(self, pattern: Pattern) -> None:
        self.pattern = pattern
        self.pretokenizer = PreTokenizer(pattern.source)
        self.hits: dict[str, str] = {}  # a text for each alternative that won
        self.gaps: dict[str, tuple[int, bool]] = {}  # text -> where the pattern stops, and whether by an empty match
        self.empty: dict[str, str] = {}  # alternative -> a text where it wins by taking nothing
        self._room = MADE_CHARS  # characters that a text may still get

    def report(self) -> Report:
        """All checks."""
        length = max(n for n in range(1, LONGEST_TEXT + 1) if n == 1 or len(self.cells) ** n <= MOST_TEXTS)
        texts = 0
        bad: set[str] = set()  # characters that are left out by themselves: one report is enough
        for size in range(1, length + 1):
            for word in product(self.characters, repeat=size):
                if bad.isdisjoint(word):
                    texts += 1
                    self._try("".join(word))
            bad = bad or {text for text in self.gaps if len(text) == 1}
        unreached = [a for a in self.pattern.alternatives if a.name not in self.hits]
        never = [finding for a in unreached if (finding := self._never(a)) is not None]
        findings = [*self._empty(), *self._left_out(), *never, *self._groups(), *self._backtracking(), *self._looks()]
        return Report(tuple(findings), len(self.cells), length, texts)

    # --- texts -------------------------------------------------------------------------------------------------------

    @cached_property
    def sets(self) -> dict[tuple[str, bool, bool], int]:
        """The sets of characters in the pattern, numbered."""
        found: dict[tuple[str, bool, bool], int] = {}
        for node in self.pattern.nodes:
            if isinstance(node, Characters):
                found.setdefault(self._key(node), len(found))
        return found

    def _key(self, node: Characters) -> tuple[str, bool, bool]:
        return self.pattern.text(node), node.ignore_case, node.dot_all

    @cached_property
    def cells(self) -> list[Cell]:
        """The classes of characters that the pattern can tell apart, by its sets and what its assertions look at."""
        sets = [members(source, ignore_case=i, dot_all=s) for source, i, s in self.sets]
        texts = {self.pattern.text(node) for node in self.pattern.nodes if isinstance(node, Assertion)}
        sets += [((10, 10),)] if texts & {"^", "$", r"\Z"} else []
        sets += [members(r"\w")] if texts & {r"\b", r"\B"} else []
        return partition(sets)

    @cached_property
    def characters(self) -> list[str]:
        """A character of each class."""
        return [cell.example for cell in self.cells]

    def cells_of(self, node: Characters) -> frozenset[int]:
        """The numbers of the classes that a set has."""
        number = self.sets[self._key(node)]
        return frozenset(index for index, cell in enumerate(self.cells) if number in cell.sets)

    def _try(self, text: str) -> None:
        """Splits a text, and remembers what that says."""
        at = 0
        while at < len(text):
            won = self._winner(text, at)
            if won is None or won[1] == at:
                self.gaps.setdefault(text, (at, won is not None))
                if won is not None:
                    self.empty.setdefault(won[0], text)
                return
            self.hits.setdefault(won[0], text)
            at = won[1]

    @cached_property
    def _named(self) -> PreTokenizer | None:
        """The pattern with a group for each alternative, where it can have them."""
        from tokcli.engine.pattern import name_alternatives

        named = name_alternatives(self.pattern.source)
        return None if named is None else PreTokenizer(named)

    def _winner(self, text: str, at: int) -> tuple[str, int] | None:
        """(alternative, where its match ends) at a place."""
        named = self._named
        match = (named or self.pretokenizer).match_at(text, at)
        if match is None:
            return None
        return (match.lastgroup or "" if named else ""), match.end()

    # --- checks ------------------------------------------------------------------------------------------------------

    def _left_out(self) -> Iterator[Finding]:
        """Text that no alternative takes."""
        gaps = {text: at for text, (at, is_empty) in self.gaps.items() if not is_empty}
        alone = [cell for cell in self.cells if cell.example in gaps]
        for cell in alone:
            yield Finding("error", "left out", None, 0, 0, f"no alternative takes {cell}", cell.example)
        longer = [text for text in gaps if len(text) > 1]
        for text in longer[:_SHOWN]:
            more = f" ({len(longer)} such texts of up to {LONGEST_TEXT} characters)" if len(longer) > _SHOWN else ""
            what = f"no alternative takes what begins at character {gaps[text]} of this text{more}"
            yield Finding("error", "left out", None, 0, 0, what, text)

    def _empty(self) -> Iterator[Finding]:
        """Alternatives that can match without taking a character."""
        for alternative in self.pattern.alternatives:
            if not all(map(is_nullable, alternative.items)):
                continue
            text = self.empty.get(alternative.name)
            if text is not None:
                what = "matches the empty string, and then the text cannot be cut"
                yield self._of("error", "empty", alternative, what, text)
            else:
                yield self._of("warning", "empty", alternative, "could match the empty string, if no other came first")

    def _never(self, alternative: Alternative) -> Finding | None:
        """Whether an alternative that no short text reached is ever reached."""
        if self._named is None:
            return None
        made = list(self._made(alternative))
        taken_by: dict[str, str] = {}
        for text, at, end in made:
            try:
                won = self._winner(text, at)
            except PatternError:
                return None  # it backtracks: that is another finding
            if won is not None and won[0] == alternative.name:
                return None
            if won is not None and end is not None:
                taken_by.setdefault(won[0], text[at:end])
        if taken_by:
            example = next(iter(taken_by.values()))
            what = f"never wins in {len(made)} texts made for it: {' or '.join(taken_by)} comes first and takes them"
            return self._of("warning", "never", alternative, what, example)
        return self._of("warning", "never", alternative, f"matches none of {len(made)} texts made for it")

    def _made(self, alternative: Alternative) -> Iterator[tuple[str, int, int | None]]:
        """Texts in the form of an alternative: where it begins in each, and where its own match ends."""
        alone = PreTokenizer(self.pattern.head + alternative.source)
        chance = random.Random(_SEED)
        first = alternative.items[0] if alternative.items else None
        for number in range(MADE_TEXTS):
            self._room = MADE_CHARS
            looked_at = self._sample(first.item, chance) if isinstance(first, Look) and first.behind else ""
            made = "".join(self._sample(item, chance) for item in alternative.items)
            text = looked_at + made + _BEHIND[number % len(_BEHIND)]
            try:
                match = alone.match_at(text, len(looked_at))
            except PatternError:
                return
            yield text, len(looked_at), match.end() if match and match.end() > len(looked_at) else None

    def _sample(self, node: Node, chance: random.Random) -> str:
        """A text that a part could take."""
        if isinstance(node, Characters):
            self._room -= 1
            cells = sorted(self.cells_of(node))
            return self.cells[chance.choice(cells)].example if cells else ""
        if isinstance(node, Choice):
            return self._sample(chance.choice(node.branches), chance)
        if isinstance(node, NodeSequence):
            return "".join(self._sample(item, chance) for item in node.items)
        if isinstance(node, Group):
            return self._sample(node.item, chance)
        if isinstance(node, Repeat):
            most = node.least + 2 if node.most is None else min(node.most, node.least + 2)
            times = range(chance.randint(node.least, max(most, node.least)))
            return "".join(self._sample(node.item, chance) for _ in times if self._room > 0)
        return ""

    def _groups(self) -> Iterator[Finding]:
        """Groups that capture: `findall` then answers with them instead of the pieces."""
        for alternative in self.pattern.alternatives:
            for node in self._below(alternative):
                if isinstance(node, Group) and node.captures:
                    what = f"the group {self._short(node)} captures: re.findall gives the group, not the piece; use (?:"
                    yield Finding("warning", "group", alternative.name, node.start, node.end, what)

    def _backtracking(self) -> Iterator[Finding]:
        """Repeats that take one text in many ways before they fail."""
        every = frozenset(range(len(self.cells)))
        for alternative in self.pattern.alternatives:
            try:
                found = ambiguity(alternative.items, self.cells_of, every)
            except OverflowError:
                yield self._of("note", "backtracking", alternative, "too large to be looked into")
                continue
            if found is None:
                continue
            pump = "".join(self.cells[cell].example for cell in found.pump)
            what = (
                f"backtracks: {found.growth} time on a text that repeats this and then does not match "
                "(a possessive repeat, `++`, gives nothing back)"
            )
            severity: Severity = "error" if found.growth == "exponential" else "warning"
            yield Finding(severity, "backtracking", alternative.name, found.at.start, found.at.end, what, pump)

    def _looks(self) -> Iterator[Finding]:
        """Alternatives that look back before they begin, and references."""
        for alternative in self.pattern.alternatives:
            first = alternative.items[0] if alternative.items else None
            if isinstance(first, Look) and first.behind:
                what = (
                    f"begins by looking back, {self._short(first)}: a piece alone may be cut otherwise than in its text"
                )
                yield Finding("warning", "look-behind", alternative.name, first.start, first.end, what)
            elif isinstance(first, Assertion) and self.pattern.text(first) in (r"\b", r"\B", "^"):
                what = f"begins with {self._short(first)}, which looks back: a piece alone may be cut otherwise"
                yield Finding("warning", "look-behind", alternative.name, first.start, first.end, what)
            for node in self._below(alternative):
                if isinstance(node, Other):
                    what = f"{self._short(node)} refers to other groups: which alternative matched cannot be told"
                    yield Finding("note", "reference", alternative.name, node.start, node.end, what)

    # --- helpers -----------------------------------------------------------------------------------------------------

    def _of(
        self, severity: Severity, check: str, alternative: Alternative, what: str, example: str | None = None
    ) -> Finding:
        end = alternative.start + len(alternative.source)
        return Finding(severity, check, alternative.name, alternative.start, end, what, example)

    def _below(self, alternative: Alternative) -> Iterator[Node]:
        for item in alternative.items:
            yield from walk(item)

    def _short(self, node: Node) -> str:
        text = self.pattern.text(node)
        return text if len(text) <= 24 else text[:21] + "..."
