"""Many patterns of file names at once: which of them match a name, in time linear in the name whatever they say.

All patterns are one automaton whose states are the bits of one number, as in Navarro and Raffinot's "Flexible pattern
matching in strings" (2002), chapter 4: a set bit says that what is read so far matches a pattern up to that place. A
character moves all bits at once, and nothing is ever tried again. `glob_syntax.py` reads patterns.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple


class Step(NamedTuple):
    """One character of a name: one of `chars`, or if it is `negated` any other. Only the step of "/" takes a slash."""

    chars: str
    negated: bool = False


class Glob(NamedTuple):
    """A pattern: steps, and what else is possible before a step (by its number; that after the last is their number).

    Before a step of `stars` any characters but "/" are passed over, before one of `deep` also "/". At one of `skips`
    the next two steps may be left out.
    """

    steps: tuple[Step, ...]
    stars: tuple[int, ...] = ()
    deep: tuple[int, ...] = ()
    skips: tuple[int, ...] = ()

    @property
    def literal(self) -> str | None:
        """The only text that matches; None if there are several."""
        if self.stars or self.deep or any(step.negated or len(step.chars) != 1 for step in self.steps):
            return None
        return "".join(step.chars for step in self.steps)

    @property
    def size(self) -> int:
        """The size of the automaton: the characters that its steps name, and one for each step."""
        return 1 + sum(1 + len(step.chars) for step in self.steps)


class GlobSet:
    """Patterns that are matched together. States are numbers; 0 says that nothing can match any more.

    >>> both = GlobSet([Glob((Step("a"),), stars=(1,)), Glob((Step("b"),), stars=(0,))])  # a* and *b
    >>> both.last(both.after("ab", both.start), is_folder=True), both.last(both.after("ac", both.start), is_folder=True)
    (1, 0)
    """

    def __init__(self, globs: Sequence[Glob], folders: Iterable[int] = ()) -> None:
        """`folders` are the numbers of the patterns that match folders only."""
        begins, ends, size = [], [], 0
        for glob in globs:
            begins.append(size)
            size += len(glob.steps) + 1
            ends.append(size - 1)
        self._number = {end: number for number, end in enumerate(ends)}
        self._set_steps(globs, begins, size)

        def at(which: Iterable[Iterable[int]]) -> int:
            return _bits((begin + place for begin, places in zip(begins, which, strict=True) for place in places), size)

        self._deep = at(glob.deep for glob in globs)
        self._stars = at(glob.stars for glob in globs) | self._deep
        self._skips = at(glob.skips for glob in globs)
        self._ends = _bits(ends, size)
        self._file_ends = self._ends ^ _bits((ends[number] for number in folders), size)
        self.start = self._with_skips(_bits(begins, size))

    def _set_steps(self, globs: Sequence[Glob], begins: list[int], size: int) -> None:
        """Set for each character the states that it leads on from: those of the steps that take it."""
        places: dict[Step, list[int]] = {}
        for begin, glob in zip(begins, globs, strict=True):
            for place, step in enumerate(glob.steps, begin):
                places.setdefault(step, []).append(place)
        taken: dict[str, int] = {}
        refused: dict[str, int] = {}
        self._others = 0  # for characters that no step names
        for (chars, negated), found in places.items():
            bits = _bits(found, size)
            if negated:
                self._others |= bits
            named = refused if negated else taken
            for char in chars:
                named[char] = named.get(char, 0) | bits
        self._steps = {
            char: taken.get(char, 0) | (self._others & ~refused.get(char, 0)) for char in {*taken, *refused, "/"}
        }
        self._steps["/"] = taken.get("/", 0)

    def after(self, text: str, state: int) -> int:
        """Return the state after more of a path."""
        steps, others, stars = self._steps, self._others, self._stars
        for char in text:
            if not state:
                return 0
            if char == "/":
                state = self._with_skips((state & steps[char]) << 1 | state & self._deep)
            else:
                state = (state & steps.get(char, others)) << 1 | state & stars
        return state

    def last(self, state: int, *, is_folder: bool) -> int | None:
        """Return the number of the last pattern that matches what led to a state; None if there is none."""
        found = state & (self._ends if is_folder else self._file_ends)
        return self._number[found.bit_length() - 1] if found else None

    def _with_skips(self, state: int) -> int:
        return state | (state & self._skips) << 2


def _bits(places: Iterable[int], size: int) -> int:
    """Return the number whose bits at these places are set; `size` is above all of them."""
    data = bytearray(size // 8 + 1)
    for place in places:
        data[place >> 3] |= 1 << (place & 7)
    return int.from_bytes(data, "little")
