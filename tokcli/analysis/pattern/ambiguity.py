r"""Finds repeats that make a pattern backtrack: one text can be matched in many ways before the match fails.

An alternative is read as the automaton of its character classes (V. M. Glushkov, 1961). Matching takes exponential time
where a state leads back to itself in two ways on one text, and polynomial time where two loops follow each other and
share a text (A. Weber and H. Seidl, 1991; for backtracking matchers N. Weideman and others, 2016), unless nothing after
the loop can fail. Possessive quantifiers (`a++`) and atomic groups (`(?>a+)`) give nothing back and are not ambiguous.
For example, `(a+)+b` is exponential on a text of many `a`, and `a+a+b` polynomial.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import reduce
from itertools import permutations, product
from typing import Literal, TypeAlias

from tokcli.engine.pretokenizers.nodes import (
    Alternation,
    CharacterClass,
    Concatenation,
    Group,
    InlineFlags,
    PatternNode,
    Quantified,
)

UNROLLED = 6  # quantifiers with a larger limit count as unlimited
MOST_POSITIONS = 200  # larger alternatives are not examined
MOST_STEPS = 200_000  # steps of the search: about a second

ClassesOf: TypeAlias = Callable[[CharacterClass], frozenset[int]]  # the equivalence classes that a node matches
Steps: TypeAlias = list[list[tuple[int, frozenset[int], int]]]
_Pair: TypeAlias = tuple[int, int, bool]  # the positions of two paths, and whether the paths have differed yet


@dataclass(frozen=True)
class Ambiguity:
    """A loop that takes exponential or polynomial time (`growth`) in a text that repeats `pump`.

    `pump` holds numbers of equivalence classes of characters; `at` is a node in the loop.
    """

    growth: Literal["exponential", "polynomial"]
    pump: tuple[int, ...]
    at: PatternNode


@dataclass
class _Ends:
    """The positions that a node of the pattern can begin and end with, and whether it may match nothing."""

    first: list[int] = field(default_factory=list)
    last: list[int] = field(default_factory=list)
    nullable: bool = True


class Automaton:
    """The positions of an alternative's character classes, and which may follow which, in how many ways."""

    def __init__(self, items: Iterable[PatternNode], classes_of: ClassesOf, every_class: frozenset[int]) -> None:
        self.nodes: list[PatternNode] = []
        self.classes: list[frozenset[int]] = []
        self.follow: list[Counter[int]] = []
        # last position of an atomic or possessive part -> its steps inside the part, and the classes that stay inside
        self._sealed_ends: dict[int, tuple[Counter[int], frozenset[int]]] = {}
        self._classes_of, self._every = classes_of, every_class
        whole = self._concatenated(items)
        self.first, self.last = whole.first, frozenset(whole.last)

    def _add(self, node: PatternNode, classes: frozenset[int]) -> _Ends:
        """Add a position that matches one character of some classes."""
        if len(self.nodes) >= MOST_POSITIONS:
            raise OverflowError
        self.nodes.append(node)
        self.classes.append(classes)
        self.follow.append(Counter())
        at = len(self.nodes) - 1
        return _Ends([at], [at], False)

    def _concatenated(self, items: Iterable[PatternNode]) -> _Ends:
        return reduce(self._joined, map(self._ends, items), _Ends())

    def _joined(self, left: _Ends, right: _Ends) -> _Ends:
        """Let each position that `right` begins with follow each that `left` ends with."""
        self._follow_all(left.last, right.first)
        return _Ends(
            left.first + right.first * left.nullable,
            right.last + left.last * right.nullable,
            left.nullable and right.nullable,
        )

    def _follow_all(self, ends: Iterable[int], begins: Iterable[int]) -> None:
        for end, begin in product(ends, begins):
            self.follow[end][begin] += 1

    def _ends(self, node: PatternNode) -> _Ends:
        """Add the positions of a node and of all nodes below it, and return which of them it begins and ends with."""
        if isinstance(node, CharacterClass):
            return self._add(node, self._classes_of(node))
        if isinstance(node, Alternation):
            branches = [self._ends(branch) for branch in node.children]
            firsts, lasts = [i for b in branches for i in b.first], [i for b in branches for i in b.last]
            return _Ends(firsts, lasts, any(branch.nullable for branch in branches))
        if isinstance(node, (Concatenation, Group)):
            inner = self._concatenated(node.children)
            return self._sealed(inner) if isinstance(node, Group) and node.atomic else inner
        if isinstance(node, Quantified):
            return self._quantified(node)
        if isinstance(node, InlineFlags):
            return _Ends()
        # look-around, assertions and references can fail, and only that matters here: a character can fail, too
        return self._add(node, self._every)

    def _quantified(self, node: Quantified) -> _Ends:
        """Add an item as often as its quantifier allows, or once with a loop where that is more than UNROLLED times."""
        if node.most is not None and node.most <= UNROLLED:
            whole = _Ends()
            for number in range(node.most):
                inner = self._ends(node.item)
                inner.nullable |= number >= node.least
                whole = self._joined(whole, inner)
        else:
            whole = self._ends(node.item)
            self._follow_all(whole.last, whole.first)
            whole.nullable |= node.least == 0
        return self._sealed(whole) if node.mode == "possessive" else whole

    def _sealed(self, whole: _Ends) -> _Ends:
        """Let an atomic or possessive part continue while it can; only a character that it cannot take leaves it."""
        for end in whole.last:
            inner = Counter(self.follow[end])
            self._sealed_ends[end] = inner, frozenset(number for begin in inner for number in self.classes[begin])
        return whole

    def steps(self, position: int) -> list[tuple[int, frozenset[int], int]]:
        """Return the steps from a position: the next position, the classes that lead there, and in how many ways."""
        inner, taken = self._sealed_ends.get(position, (Counter(), frozenset()))
        out = [(following, self.classes[following], ways) for following, ways in inner.items()]
        for following, ways in (self.follow[position] - inner).items():
            if classes := self.classes[following] - taken:
                out.append((following, classes, ways))
        return out


def ambiguity(items: Iterable[PatternNode], classes_of: ClassesOf, every_class: frozenset[int]) -> Ambiguity | None:
    """Return the worst ambiguity of an alternative that comes before something that can fail, if it has one.

    Raise OverflowError if the alternative is too large for the search.
    """
    automaton = Automaton(items, classes_of, every_class)
    steps = [automaton.steps(state) for state in range(len(automaton.nodes))]
    return _exponential(automaton, steps) or _polynomial(automaton, steps)


def _exponential(automaton: Automaton, steps: Steps) -> Ambiguity | None:
    """Return the ambiguity of a position that leads back to itself in two ways on one text; None if there is none."""
    budget = [MOST_STEPS]
    for state in range(len(automaton.nodes)):
        if state in automaton.last:
            continue  # the first way out succeeds: nothing is tried again
        pump = _round_trip(steps, state, budget)
        if pump is not None:
            return Ambiguity("exponential", pump, automaton.nodes[state])
    return None


def _round_trip(steps: Steps, state: int, budget: list[int]) -> tuple[int, ...] | None:
    """Return the classes of a shortest text that leads from a position to itself in two ways; None if there is none."""
    start: _Pair = (state, state, False)
    waiting: deque[tuple[_Pair, tuple[int, ...]]] = deque([(start, ())])
    seen = {start}
    while waiting:
        (left, right, parted), word = waiting.popleft()
        for (a, classes, ways), (b, others, _) in product(steps[left], steps[right]):
            budget[0] -= 1
            if budget[0] < 0:
                raise OverflowError
            both = classes & others
            apart = parted or a != b or (ways > 1 and left == right)
            following = (a, b, apart)
            if not both or following in seen:
                continue
            if apart and a == b == state:
                return (*word, min(both))
            seen.add(following)
            waiting.append((following, (*word, min(both))))
    return None


def _polynomial(automaton: Automaton, steps: Steps) -> Ambiguity | None:
    """Return the ambiguity of two loops on one text that also leads from the first to the second; None without any."""
    loops = {state: classes for state, out in enumerate(steps) for to, classes, _ in out if to == state}
    for (left, here), (right, there) in permutations(loops.items(), 2):
        entering = {following: classes for following, classes, _ in steps[left]}.get(right, frozenset())
        if right not in automaton.last and (common := here & there & entering):
            return Ambiguity("polynomial", (min(common),), automaton.nodes[right])
    return None
