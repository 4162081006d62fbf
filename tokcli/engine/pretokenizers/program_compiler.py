r"""Compiles a pattern to a program for the native matcher: an NFA whose threads have an order of preference.

A thread that comes first is preferred, as the first alternative is in a backtracking matcher (K. Thompson, 1968;
R. Cox, "Regular expression matching: the virtual machine approach", 2009). Characters that no set of the pattern tells
apart form a class. Look-around of one character, `\b`, `^` and `$` are conditions on the classes before and after a
place. A pattern that cannot be expressed in this way is left to `regex` (NotCompiledError).
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from functools import lru_cache
from itertools import pairwise

from tokcli.engine.pretokenizers.class_ranges import ALL, NotCompiledError, named_ranges, ranges_of
from tokcli.engine.pretokenizers.nodes import (
    Alternation,
    Assertion,
    CharacterClass,
    Concatenation,
    Group,
    LookAround,
    PatternNode,
    PatternTree,
    Quantified,
    is_nullable,
    nodes_of,
)
from tokcli.engine.pretokenizers.parser import parse
from tokcli.engine.pretokenizers.program import CHECK, EDGE, FORK, MATCH, TAKE, Program, Step, check_loops, partition
from tokcli.engine.unicode.ranges import Ranges, merged, minus
from tokcli.errors import PatternError

_NOTHING: Ranges = ()
_MOST_CHARS = 1 << 13  # of a pattern, which `regex` compiles in 30 ms
_MOST_STEPS = 1 << 12

Edges = tuple[Ranges, bool]  # code points, and whether the edge of the text belongs to them
_ANYTHING: Edges = ALL, True
_STARTS, _ENDS = frozenset({"^", r"\A"}), frozenset({"$", r"\z", r"\Z"})


def compile_program(pat_str: str) -> Program:
    """Return the program of a pattern; NotCompiledError for one that is left to `regex`.

    >>> program = compile_program("a|[ab]c")
    >>> list(program.firsts), list(program.classes), len(program.steps) // 4
    ([0, 97, 98, 99, 100], [0, 1, 2, 3, 0], 6)
    """
    if len(pat_str) > _MOST_CHARS:
        raise NotCompiledError("a long pattern")
    try:
        tree = parse(pat_str)
        _check(tree)
        return _Compiler(tree).program()
    except (PatternError, RecursionError):  # classes and groups are read by recursion; the caller may be deep already
        raise NotCompiledError("a pattern that is wrong, or nested too deep") from None


def _check(tree: PatternTree) -> None:
    """Raise NotCompiledError for syntax that is left to `regex` wherever in a pattern it occurs."""
    if tree.head != "(?m)" and set(tree.head.strip("(?)")) - set("isf"):
        raise NotCompiledError("flags")
    if "m" not in tree.head and "(?m" in tree.source:
        raise NotCompiledError("flag m for a part of the pattern")
    names: set[str] = set()
    for alternative in tree.alternatives:
        if is_nullable(Concatenation(0, 0, alternative.items)):
            raise NotCompiledError("an alternative that may match the empty string")
        for node in nodes_of(alternative.items):
            if isinstance(node, Group):
                if node.flags.strip("isf") or node.opening in names:
                    raise NotCompiledError("flags, or two groups of one name")
                if node.opening.endswith(">") and node.captures:
                    names.add(node.opening)
            elif isinstance(node, Quantified):
                _check_repeat(tree, node)
            elif isinstance(node, CharacterClass) and tree.text(node) in ("{", "}", "]"):
                raise NotCompiledError("a lone bracket, or a fuzzy match")


def _check_repeat(tree: PatternTree, node: Quantified) -> None:
    if isinstance(node.item, Quantified):
        raise NotCompiledError("a repeat of a repeat")
    if isinstance(node.item, (Assertion, LookAround)) or (is_nullable(node.item) and node.most != 1):
        raise NotCompiledError("a repeat of what may match the empty string")
    if node.most == 0 or (node.most is not None and node.most < node.least) or node.least > _MOST_STEPS:
        raise NotCompiledError("a repeat of nothing, or of too much")
    if not tree.source[node.item.end : node.end].isascii():
        raise NotCompiledError("digits outside ASCII")


class _Compiler:
    """Writes the steps of a tree from the end to the beginning, since each step names the next one."""

    def __init__(self, tree: PatternTree) -> None:
        self._tree = tree
        self._multiline = "m" in tree.head
        flags = (node.flags for node in tree.nodes if isinstance(node, Group))
        self._folds_fully = "f" in tree.head or any("f" in some for some in flags)
        self._sets: dict[Edges, int] = {}
        self._steps: list[Step] = []
        self._endless: list[tuple[int, int]] = []  # of each endless repeat: the step that repeats, and the first inside

    def program(self) -> Program:
        """Compile the whole pattern."""
        starts = []
        for number, alternative in enumerate(self._tree.alternatives, 1):
            end = self._add(MATCH, number)
            starts.append(self._sequence(alternative.items, end, is_last=True))
        start = self._choice(starts)
        masks, firsts, classes = partition([ranges for ranges, _ in self._sets])
        check_loops(self._steps, self._endless, masks)
        rows = [mask | has_edge << EDGE for mask, (_, has_edge) in zip(masks, self._sets, strict=True)]
        sets = b"".join(row.to_bytes(32, "little") for row in rows)
        return Program(firsts, classes, sets, array("I", [n for step in self._steps for n in step]), start)

    # --- steps -------------------------------------------------------------------------------------------------------

    def _add(self, kind: int, a: int = 0, b: int = 0, c: int = 0) -> int:
        if len(self._steps) >= _MOST_STEPS:
            raise NotCompiledError("too many steps")
        self._steps.append((kind, a, b, c))
        return len(self._steps) - 1

    def _set(self, ranges: Ranges, has_edge: bool = False) -> int:
        return self._sets.setdefault((ranges, has_edge), len(self._sets))

    def _check_at(self, before: Edges, after: Edges, then: int) -> int:
        return self._add(CHECK, self._set(*before), self._set(*after), then)

    def _choice(self, starts: Sequence[int]) -> int:
        found = starts[-1]
        for start in reversed(starts[:-1]):
            found = self._add(FORK, start, found)
        return found

    def _sequence(self, items: Sequence[PatternNode], then: int, *, is_last: bool) -> int:
        if self._folds_fully and may_fold_to_one(self._tree, items):
            raise NotCompiledError("characters that may fold to one")
        for item in reversed(items):
            then = self._node(item, then, is_last=is_last)
            is_last = False
        return then

    def _node(self, node: PatternNode, then: int, *, is_last: bool) -> int:
        """Compile a node that is followed by the step `then`; nothing follows the last node of an alternative."""
        if isinstance(node, CharacterClass):
            return self._add(TAKE, self._set(self._ranges(node)), 0, then)
        if isinstance(node, Concatenation):
            return self._sequence(node.children, then, is_last=is_last)
        if isinstance(node, Alternation):
            return self._choice([self._node(branch, then, is_last=is_last) for branch in node.children])
        if isinstance(node, Group):
            if node.atomic and not is_last:
                return self._atomic(node, then)
            return self._node(node.item, then, is_last=is_last)
        if isinstance(node, Quantified):
            return self._repeat(node, then, is_last=is_last)
        if isinstance(node, Assertion):
            return self._assertion(self._tree.text(node), then)
        if isinstance(node, LookAround):
            edges = self._one_character(node.item, _STARTS if node.behind else _ENDS)
            if self._tree.text(node)[3 if node.behind else 2] == "!":
                edges = minus(ALL, edges[0]), not edges[1]
            return self._check_at(edges, _ANYTHING, then) if node.behind else self._check_at(_ANYTHING, edges, then)
        raise NotCompiledError("syntax of a rare kind")

    def _ranges(self, node: CharacterClass) -> Ranges:
        return ranges_of(self._tree.text(node), node.ignore_case, node.dot_all)

    # --- repeats -----------------------------------------------------------------------------------------------------

    def _atomic(self, group: Group, then: int) -> int:
        item = _unwrapped(group.item)
        if isinstance(item, Quantified) and item.mode == "greedy" and (single := self._single(item.item)) is not None:
            return self._possessive(single, item.least, item.most, then)
        if (single := self._single(item)) is not None:
            return self._add(TAKE, self._set(single), 0, then)
        raise NotCompiledError("an atomic group")

    def _repeat(self, node: Quantified, then: int, *, is_last: bool) -> int:
        if node.mode == "possessive" and not is_last:
            single = self._single(node.item)
            if single is None:
                raise NotCompiledError("a possessive repeat")
            return self._possessive(single, node.least, node.most, then)
        is_lazy = node.mode == "lazy"
        least = node.least

        def fork(more: int, done: int) -> int:
            return self._add(FORK, done, more) if is_lazy else self._add(FORK, more, done)

        if node.most is None:
            loop = self._add(FORK)
            body = self._node(node.item, loop, is_last=False)
            self._steps[loop] = (FORK, then, body, 0) if is_lazy else (FORK, body, then, 0)
            self._endless.append((loop, body))
            start, least = (body, least - 1) if least else (loop, 0)
        else:
            start = then
            for _ in range(node.most - least):
                start = fork(self._node(node.item, start, is_last=is_last and node.most == 1), then)
        for _ in range(least):
            start = self._node(node.item, start, is_last=is_last and node.most == 1)
        return start

    def _possessive(self, single: Ranges, least: int, most: int | None, then: int) -> int:
        """Compile a repeat of one class that gives nothing back: it ends before a character of another class."""
        numbers = self._set(single)
        done = self._check_at(_ANYTHING, (minus(ALL, single), True), then)
        if most is None:
            loop = self._add(FORK)
            body = self._add(TAKE, numbers, 0, loop)
            self._steps[loop] = (FORK, body, done, 0)
            start = loop
        else:
            start = then
            for _ in range(most - least):
                start = self._add(FORK, self._add(TAKE, numbers, 0, start), done)
        for _ in range(least):
            start = self._add(TAKE, numbers, 0, start)
        return start

    def _single(self, node: PatternNode) -> Ranges | None:
        """Return the characters of a node that always takes one character of a class; None for any other node."""
        node = _unwrapped(node)
        if isinstance(node, CharacterClass):
            return self._ranges(node)
        if isinstance(node, Alternation):
            found = [self._single(branch) for branch in node.children]
            if all(ranges is not None for ranges in found):
                return merged(pair for ranges in found if ranges is not None for pair in ranges)
        return None

    # --- conditions --------------------------------------------------------------------------------------------------

    def _assertion(self, text: str, then: int) -> int:
        newline: Ranges = ((10, 10),) if self._multiline else _NOTHING
        if text in (r"\b", r"\B"):
            word, other = (named_ranges("w"), False), (minus(ALL, named_ranges("w")), True)
            pairs = [(word, other), (other, word)] if text == r"\b" else [(word, word), (other, other)]
            return self._choice([self._check_at(before, after, then) for before, after in pairs])
        if text in ("^", r"\A"):
            return self._check_at((newline if text == "^" else _NOTHING, True), _ANYTHING, then)
        if text in ("$", r"\z", r"\Z"):
            return self._check_at(_ANYTHING, (newline if text == "$" else _NOTHING, True), then)
        raise NotCompiledError(text)

    def _one_character(self, node: PatternNode, edges: frozenset[str]) -> Edges:
        """Return the adjacent characters for which the inside of a look-around holds, and whether it does at the edge.

        The edge is the beginning or the end of the text, which `edges`, a set of assertions, match.
        """
        node = _unwrapped(node)
        if isinstance(node, CharacterClass):
            return self._ranges(node), False
        if isinstance(node, Alternation):
            found = [self._one_character(branch, edges) for branch in node.children]
            return merged(pair for ranges, _ in found for pair in ranges), any(edge for _, edge in found)
        if isinstance(node, Assertion) and not self._multiline and self._tree.text(node) in edges:
            return _NOTHING, True
        if isinstance(node, Quantified) and node.least == 1 and (single := self._single(node.item)) is not None:
            return single, False
        raise NotCompiledError("look-around that is wider than one character")


def may_fold_to_one(tree: PatternTree, items: Sequence[PatternNode]) -> bool:
    """Return whether ASCII letters side by side in a sequence may fold to one character, as `ss` does to U+00DF."""
    folded = [_folded_letters(tree, item) for item in items]
    for one, other in pairwise(folded):
        if ("s" in one and other & {"s", "t"}) or ("f" in one and other & {"f", "i", "l"}):
            return True
    repeats = (node for node in nodes_of(items) if isinstance(node, Quantified) and node.most != 1)
    return any(_folded_letters(tree, node) & {"s", "f"} for node in repeats)


def _folded_letters(tree: PatternTree, node: PatternNode) -> set[str]:
    classes = [found for found in nodes_of([node]) if isinstance(found, CharacterClass) and found.ignore_case]
    return {char for found in classes for char in tree.text(found).lower()}


def _unwrapped(node: PatternNode) -> PatternNode:
    """Return a node without the groups and one-item sequences around it."""
    while True:
        if isinstance(node, Group):
            node = node.item
        elif isinstance(node, Concatenation) and len(node.children) == 1:
            node = node.children[0]
        else:
            return node


def why_regex(pat_str: str) -> str:
    """Return the reason, in words, why a pattern is left to `regex`; "" for a pattern that has a program."""
    try:
        compile_program(pat_str)
    except NotCompiledError as error:
        return str(error)
    return ""


@lru_cache(maxsize=32)
def program_of(pat_str: str) -> Program | None:
    """Return the program of a pattern, if it has one."""
    try:
        return compile_program(pat_str)
    except NotCompiledError:
        return None
