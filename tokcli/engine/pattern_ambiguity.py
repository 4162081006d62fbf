r"""Repeats that make a pattern backtrack: where one text can be taken in many ways before the match fails.

An alternative is read as the automaton of its characters (V. M. Glushkov, 1961). It takes exponential time where a
state comes back to itself in two ways on one text, and polynomial time where two loops follow on one another and share
a text (A. Weber and H. Seidl, 1991; for backtracking matchers N. Weideman and others, 2016), unless nothing behind the
loop can fail. What cannot be given back (`a++`, `(?>a+)`) is not ambiguous.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from itertools import product
from typing import Literal

from tokcli.engine.pattern_syntax import Characters, Choice, Flags, Group, Node, Repeat, Sequence

UNROLLED = 6  # repeats with a larger limit count as endless
MOST_POSITIONS = 200  # above, an alternative is not looked into
MOST_STEPS = 200_000  # of the search, about a second

CellsOf = Callable[[Characters], frozenset[int]]
_Pair = tuple[int, int, bool]  # where two ways are, and whether they have parted yet
Steps = list[list[tuple[int, frozenset[int], int]]]


@dataclass(frozen=True)
class Ambiguity:
    """`growth` is how the time grows with the text; `pump` are the cells of a text that is repeated, `at` the loop."""

    growth: Literal["exponential", "polynomial"]
    pump: tuple[int, ...]
    at: Node


@dataclass
class _Part:
    """The automaton of a part: what it can begin and end with, and whether it may be empty."""

    first: list[int] = field(default_factory=list)
    last: list[int] = field(default_factory=list)
    empty: bool = True


class Automaton:
    """The positions of an alternative's characters, and which may follow which, in how many ways."""

    def __init__(self, items: Iterable[Node], cells_of: CellsOf, every_cell: frozenset[int]) -> None:
        self.nodes: list[Node] = []
        self.cells: list[frozenset[int]] = []
        self.follow: list[Counter[int]] = []
        # for the end of what is not given back: the ways on inside it, and the cells that cannot lead out
        self._sealed_ends: dict[int, tuple[Counter[int], frozenset[int]]] = {}
        self._cells_of, self._every = cells_of, every_cell
        whole = self._sequence(items)
        self.first, self.last = whole.first, frozenset(whole.last)

    def _add(self, node: Node, cells: frozenset[int]) -> _Part:
        if len(self.nodes) >= MOST_POSITIONS:
            raise OverflowError
        self.nodes.append(node)
        self.cells.append(cells)
        self.follow.append(Counter())
        at = len(self.nodes) - 1
        return _Part([at], [at], False)

    def _sequence(self, items: Iterable[Node]) -> _Part:
        whole = _Part()
        for item in items:
            whole = self._joined(whole, self._part(item))
        return whole

    def _joined(self, left: _Part, right: _Part) -> _Part:
        for end in left.last:
            for begin in right.first:
                self.follow[end][begin] += 1
        return _Part(
            left.first + right.first * left.empty, right.last + left.last * right.empty, left.empty and right.empty
        )

    def _part(self, node: Node) -> _Part:
        if isinstance(node, Characters):
            return self._add(node, self._cells_of(node))
        if isinstance(node, Sequence):
            return self._sequence(node.items)
        if isinstance(node, Choice):
            parts = [self._part(branch) for branch in node.branches]
            firsts, lasts = [i for p in parts for i in p.first], [i for p in parts for i in p.last]
            return _Part(firsts, lasts, any(p.empty for p in parts))
        if isinstance(node, Group):
            part = self._part(node.item)
            return self._sealed(part) if node.atomic else part
        if isinstance(node, Repeat):
            return self._repeat(node)
        if isinstance(node, Flags):
            return _Part()
        # look-around, assertions and references can fail, which is all that matters: as if one more character did
        return self._add(node, self._every)

    def _repeat(self, node: Repeat) -> _Part:
        if node.most is not None and node.most <= UNROLLED:
            whole = _Part()
            for number in range(node.most):
                part = self._part(node.item)
                part.empty |= number >= node.least
                whole = self._joined(whole, part)
        else:
            whole = self._part(node.item)
            for end in whole.last:
                for begin in whole.first:
                    self.follow[end][begin] += 1
            whole.empty |= node.least == 0
        return self._sealed(whole) if node.mode == "possessive" else whole

    def _sealed(self, part: _Part) -> _Part:
        """What is not given back: it goes on while it can, and leaves only by a character that it cannot take."""
        for end in part.last:
            inner = Counter(self.follow[end])
            self._sealed_ends[end] = inner, frozenset(cell for begin in inner for cell in self.cells[begin])
        return part

    def steps(self, position: int) -> list[tuple[int, frozenset[int], int]]:
        """(next position, the cells that lead there, in how many ways) from a position."""
        inner, taken = self._sealed_ends.get(position, (Counter(), frozenset()))
        out = [(following, self.cells[following], ways) for following, ways in inner.items()]
        for following, ways in (self.follow[position] - inner).items():
            if cells := self.cells[following] - taken:
                out.append((following, cells, ways))
        return out


def ambiguity(items: Iterable[Node], cells_of: CellsOf, every_cell: frozenset[int]) -> Ambiguity | None:
    """The worst ambiguity of an alternative behind which a match can fail; OverflowError where it is too large."""
    automaton = Automaton(items, cells_of, every_cell)
    return _exponential(automaton) or _polynomial(automaton)


def _exponential(automaton: Automaton) -> Ambiguity | None:
    """A state with two different ways back to itself on one text."""
    steps = [automaton.steps(state) for state in range(len(automaton.nodes))]
    budget = [MOST_STEPS]
    for state in range(len(automaton.nodes)):
        if state in automaton.last:
            continue  # the first way out succeeds: nothing is tried again
        pump = _round_trip(steps, state, budget)
        if pump is not None:
            return Ambiguity("exponential", pump, automaton.nodes[state])
    return None


def _round_trip(steps: Steps, state: int, budget: list[int]) -> tuple[int, ...] | None:
    """The cells of a shortest text that leads from a state to itself in two ways."""
    start: _Pair = (state, state, False)
    waiting: deque[tuple[_Pair, tuple[int, ...]]] = deque([(start, ())])
    seen = {start}
    while waiting:
        (left, right, parted), word = waiting.popleft()
        for (a, cells, ways), (b, others, _) in product(steps[left], steps[right]):
            budget[0] -= 1
            if budget[0] < 0:
                raise OverflowError
            both = cells & others
            apart = parted or a != b or (ways > 1 and left == right)
            following = (a, b, apart)
            if not both or following in seen:
                continue
            if apart and a == b == state:
                return (*word, min(both))
            seen.add(following)
            waiting.append((following, (*word, min(both))))
    return None


def _polynomial(automaton: Automaton) -> Ambiguity | None:
    """Two states, each with a loop on one text that also leads from the first to the second."""
    states = range(len(automaton.nodes))
    looping = [s for s in states if any(following == s for following, _, _ in automaton.steps(s))]
    for left in looping:
        for right in looping:
            if left == right or right in automaton.last:
                continue
            common = _loop_cells(automaton, left) & _loop_cells(automaton, right)
            entering = {f: cells for f, cells, _ in automaton.steps(left)}.get(right, frozenset())
            if common & entering:
                return Ambiguity("polynomial", (min(common & entering),), automaton.nodes[right])
    return None


def _loop_cells(automaton: Automaton, state: int) -> frozenset[int]:
    return next((cells for following, cells, _ in automaton.steps(state) if following == state), frozenset())
