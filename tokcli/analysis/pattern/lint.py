r"""Looks for what is wrong with a pattern: text left out, dead alternatives, capturing groups, repeats that backtrack.

Trying the pattern on texts is left to trials.py, finding repeats that backtrack to ambiguity.py, and comparing engines
to flavours.py. For example, in `foo|food|.` the alternative `food` never wins, since `foo` comes first; and newlines
are left out.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from tokcli.analysis.pattern.ambiguity import ambiguity
from tokcli.analysis.pattern.bounds import refusing_depth
from tokcli.analysis.pattern.trials import LONGEST_TEXT, Trials
from tokcli.engine.pretokenizers.nodes import (
    Alternative,
    Assertion,
    Group,
    LookAround,
    PatternNode,
    UnknownSyntax,
    is_nullable,
    nodes_of,
)
from tokcli.engine.pretokenizers.parser import parse
from tokcli.errors import PatternError

Severity = Literal["error", "warning", "note"]

_SHOWN = 3  # texts of several characters with text left out that get a finding each
_SHORT = 24  # characters of a node's text that a finding shows


@dataclass(frozen=True)
class Finding:
    """A problem of a pattern: `check` names its kind, `what` says it in words, `example` is a text that shows it.

    It concerns pattern[start:end] of one alternative, or the whole pattern if `alternative` is None.
    """

    severity: Severity
    check: str
    alternative: str | None
    start: int
    end: int
    what: str
    example: str | None = None


@dataclass(frozen=True)
class Report:
    """The findings about a pattern, and how many texts were tried: up to `length` characters of `classes` classes."""

    findings: tuple[Finding, ...]
    classes: int
    length: int
    texts: int


def lint(pat_str: str) -> Report:
    r"""Return what is wrong with a pattern; raise PatternError if it cannot be read, or takes too long to read.

    Trying texts and searching for backtracking end at the time limit of the call, which is a finding, too.

    >>> [(f.check, f.alternative) for f in lint(r"a+|b*|a|(c)").findings]
    [('empty', 'a2'), ('never', 'a3'), ('never', 'a4'), ('group', 'a4')]
    """
    with refusing_depth():
        return _Linter(Trials(parse(pat_str))).report()


def takes_exponential_time(pat_str: str) -> bool:
    """Return whether a pattern takes exponential time for some text, as far as the time limit lets that be found.

    >>> takes_exponential_time(r"(?:a+)+b|."), takes_exponential_time(r"a+b|.")
    (True, False)
    """
    with refusing_depth():
        return any(found.severity == "error" for found in _Linter(Trials(parse(pat_str))).backtracking())


class _Linter:
    """The checks of one pattern, each of which yields findings."""

    def __init__(self, trials: Trials) -> None:
        self._trials = trials
        self._pattern = trials.pattern
        self._alternatives = trials.pattern.alternatives

    def report(self) -> Report:
        """Try the pattern on texts, and make all checks."""
        trials = self._trials
        texts = trials.try_short_texts()
        checks = (
            self._empty, self._left_out, self._never, self._groups, self.backtracking, self._looking_back,
            self._references, self._time,
        )  # fmt: skip
        findings = tuple(finding for check in checks for finding in check())
        return Report(findings, len(trials.classes), trials.length, texts)

    def _empty(self) -> Iterator[Finding]:
        """Find alternatives that can match without taking a character."""
        for alternative in self._alternatives:
            if not all(map(is_nullable, alternative.items)):
                continue
            text = self._trials.empty.get(alternative.name)
            if text is not None:
                what = "matches the empty string, so the text cannot be cut"
                yield _about(alternative, "error", "empty", alternative, what, text)
            else:
                what = "would match the empty string if no other alternative came first"
                yield _about(alternative, "warning", "empty", alternative, what)

    def _left_out(self) -> Iterator[Finding]:
        """Find text that no alternative matches."""
        gaps = {text: at for text, (at, is_empty) in self._trials.gaps.items() if not is_empty}
        for found in self._trials.classes:
            if found.example in gaps:
                yield Finding("error", "left out", None, 0, 0, f"no alternative matches {found}", found.example)
        longer = [text for text in gaps if len(text) > 1]
        for text in longer[:_SHOWN]:
            more = f" ({len(longer):,} such texts of up to {LONGEST_TEXT} characters)" if len(longer) > _SHOWN else ""
            what = f"no alternative matches at character {gaps[text]} of this text{more}"
            yield Finding("error", "left out", None, 0, 0, what, text)

    def _never(self) -> Iterator[Finding]:
        """Find alternatives that win neither in a short text nor in one made for them."""
        if not self._trials.knows_winners:
            return
        for alternative in self._alternatives:
            if alternative.name not in self._trials.hits:
                finding = self._never_wins(alternative)
                if self._trials.deadline.is_late():
                    return
                if finding is not None:
                    yield finding

    def _never_wins(self, alternative: Alternative) -> Finding | None:
        """Return a finding if an alternative does not win in any text made for it."""
        made = list(self._trials.texts_for(alternative))
        taken_by: dict[str, str] = {}  # the alternatives that win instead, each with what this one would have matched
        for trial in made:
            try:
                won = self._trials.winner(trial.text, trial.at)
            except PatternError:
                return None  # it backtracks: that is another finding
            if won is not None and won[0] == alternative.name:
                return None
            if won is not None and trial.end is not None:
                taken_by.setdefault(won[0], trial.text[trial.at : trial.end])
        texts = f"{len(made)} text{'s' * (len(made) != 1)} made for it"
        if taken_by:
            comes = "comes" if len(taken_by) == 1 else "come"
            what = f"never wins in {texts}: {' or '.join(taken_by)} {comes} first and matches instead"
            return _about(alternative, "warning", "never", alternative, what, next(iter(taken_by.values())))
        return _about(alternative, "warning", "never", alternative, f"matches none of {texts}")

    def _groups(self) -> Iterator[Finding]:
        """Find groups that capture, since `re.findall` then returns them instead of the pieces."""
        for alternative in self._alternatives:
            for node in nodes_of(alternative.items):
                if isinstance(node, Group) and node.captures:
                    what = f"captures the group {self._short(node)}: re.findall returns it, not the piece; use (?:"
                    yield _about(node, "warning", "group", alternative, what)

    def backtracking(self) -> Iterator[Finding]:
        """Find repeats that can match one text in many ways before they fail."""
        classes = self._trials.classes
        every = frozenset(range(len(classes)))
        for alternative in self._alternatives:
            if self._trials.deadline.is_late():
                return
            try:
                found = ambiguity(alternative.items, self._trials.classes_of, every)
            except OverflowError:
                yield _about(
                    alternative, "note", "backtracking", alternative, "is too large to be checked for backtracking"
                )
                continue
            if found is None:
                continue
            pump = "".join(classes[number].example for number in found.pump)
            what = (
                f"takes {found.growth} time where the text repeats this and then does not match "
                "(a possessive quantifier such as `++` never backtracks)"
            )
            severity: Severity = "error" if found.growth == "exponential" else "warning"
            yield _about(found.at, severity, "backtracking", alternative, what, pump)

    def _looking_back(self) -> Iterator[Finding]:
        """Find alternatives that begin by looking at the text before them."""
        for alternative in self._alternatives:
            first = alternative.items[0] if alternative.items else None
            is_behind = isinstance(first, LookAround) and first.behind
            is_edge = isinstance(first, Assertion) and self._pattern.text(first) in (r"\b", r"\B", "^")
            if first is not None and (is_behind or is_edge):
                shown = self._short(first)
                what = f"begins with {shown}, which looks back: a piece alone may be cut differently than in its text"
                yield _about(first, "warning", "look-behind", alternative, what)

    def _references(self) -> Iterator[Finding]:
        """Find references to groups, and other syntax that hides which alternative matched."""
        for alternative in self._alternatives:
            for node in nodes_of(alternative.items):
                if isinstance(node, UnknownSyntax):
                    what = f"{self._short(node)} refers to other groups: it cannot be told which alternative matched"
                    yield _about(node, "note", "reference", alternative, what)

    def _time(self) -> Iterator[Finding]:
        """Report that time ran out before everything was tried."""
        if self._trials.deadline.was_late:
            what = (
                f"after {self._trials.deadline.seconds:g} s, not everything had been tried; more time would allow more"
            )
            yield Finding("note", "time", None, 0, 0, what)

    def _short(self, node: PatternNode) -> str:
        text = self._pattern.text(node)
        return text if len(text) <= _SHORT else text[: _SHORT - 3] + "..."


def _about(
    part: Alternative | PatternNode,
    severity: Severity,
    check: str,
    alternative: Alternative,
    what: str,
    example: str | None = None,
) -> Finding:
    """Return a finding about an alternative, or a part of it."""
    return Finding(severity, check, alternative.name, part.start, part.end, what, example)
