"""A pattern as a program for the native matcher (native/patterns/): an NFA over classes of characters.

Compiling a pattern to a program is the task of `program_compiler.py`.
"""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections.abc import Sequence

from tokcli.engine.pretokenizers.class_ranges import NotCompiledError
from tokcli.engine.unicode.ranges import Ranges

TAKE, FORK, CHECK, MATCH = range(4)  # the kinds of steps: see Program
EDGE = 255  # the "class" before the first and after the last character of a text
# Where the matches of a pattern in a row cut text (Cut): around each; or each is a run of digits, which is counted in
# threes from its end: it cuts where such a group ends (the first may be shorter), or where a group of three begins.
AROUND, AFTER_THREES, BEFORE_THREES = range(3)
_CODE_POINTS = 0x110000
_MOST_PATHS = 256  # through a repeat's body, between two characters

Step = tuple[int, int, int, int]


class Program:
    """A compiled pattern, in the arrays that the native code reads.

    Code points from `firsts[i]` up to the next of `firsts` are in class `classes[i]`. A set has 32 bytes, a bit for
    each class. `steps` has four numbers for each step, the first of them its kind: TAKE (set, -, next): take a
    character of a set. FORK (preferred, other, -): go on in two places. CHECK (set before, set after, next): go on if
    the adjacent characters are in these sets. MATCH (alternative, -, -). The first step to take is `start`.
    """

    def __init__(self, firsts: array[int], classes: bytes, sets: bytes, steps: array[int], start: int) -> None:
        self.firsts, self.classes, self.sets, self.steps, self.start = firsts, classes, sets, steps, start


def partition(sets: Sequence[Ranges]) -> tuple[list[int], array[int], bytes]:
    """Return the classes of each set (as bits), the first code point of each run of one class, and the runs' classes.

    A class is the set of code points that are in the same `sets`. NotCompiledError for too many classes.
    """
    changes: dict[int, int] = {0: 0}
    for number, ranges in enumerate(sets):
        for first, last in ranges:
            changes[first] = changes.get(first, 0) ^ 1 << number
            changes[last + 1] = changes.get(last + 1, 0) ^ 1 << number
    changes.pop(_CODE_POINTS, None)
    firsts, classes, held = array("I"), bytearray(), 0
    numbers: dict[int, int] = {}
    for code in sorted(changes):
        held ^= changes[code]
        number = numbers.setdefault(held, len(numbers))
        if number >= EDGE:
            raise NotCompiledError("too many classes")
        if not classes or classes[-1] != number:
            firsts.append(code)
            classes.append(number)
    masks = [0] * len(sets)
    for held, number in numbers.items():
        for index in range(len(sets)):
            masks[index] |= (held >> index & 1) << number
    return masks, firsts, bytes(classes)


def seen_as(program: Program, replaced: Sequence[tuple[Ranges, str]]) -> Program:
    """Return the program that matches text as another one matches it once characters in some ranges are replaced.

    `replaced` has the ranges, and the one character that takes the place of all that are in them.
    """
    firsts, classes = array("I"), bytearray()

    def add(code: int, number: int) -> None:
        if not classes or classes[-1] != number:
            firsts.append(code)
            classes.append(number)

    def keep(begin: int, end: int) -> None:
        at = bisect_right(program.firsts, begin)
        add(begin, program.classes[at - 1])
        while at < len(program.firsts) and program.firsts[at] < end:
            add(program.firsts[at], program.classes[at])
            at += 1

    at = 0
    for first, last, char in sorted((first, last, char) for ranges, char in replaced for first, last in ranges):
        if at < first:
            keep(at, first)
        add(first, program.classes[bisect_right(program.firsts, ord(char)) - 1])
        at = last + 1
    if at < _CODE_POINTS:
        keep(at, _CODE_POINTS)
    return Program(firsts, bytes(classes), program.sets, program.steps, program.start)


def check_loops(steps: Sequence[Step], loops: Sequence[tuple[int, int]], masks: Sequence[int]) -> None:
    """Raise NotCompiledError for an endless repeat whose body can take a text in two ways.

    Such a pattern is left to `regex`, which for many of them takes exponential time, and an error ends it at the time
    limit.
    """
    for loop, body in loops:
        kind, _, _, then = steps[body]
        if kind == TAKE and then == loop:
            continue
        waiting, seen = [body], {body}
        while waiting:
            taken = 0
            for step in _takes_from(steps, waiting.pop(), loop, body):
                _, numbers, _, after = steps[step]
                if masks[numbers] & taken:
                    raise NotCompiledError("a repeat that can take a text in two ways")
                taken |= masks[numbers]
                if after not in seen and after != loop:
                    seen.add(after)
                    waiting.append(after)


def _takes_from(steps: Sequence[Step], start: int, loop: int, body: int) -> list[int]:
    """Return the TAKE steps inside a repeat that can come next, each once for every path that leads to it."""
    found, waiting = [], [start]
    while waiting:
        step = waiting.pop()
        kind, a, b, c = steps[step]
        if step == loop:
            waiting.append(body)
        elif kind == TAKE:
            found.append(step)
        elif kind == FORK:
            waiting += (a, b)
        elif kind == CHECK:
            waiting.append(c)
        if len(found) + len(waiting) > _MOST_PATHS:
            raise NotCompiledError("a repeat of too many parts")
    return found
