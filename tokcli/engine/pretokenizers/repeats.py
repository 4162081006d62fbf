r"""How large a pattern becomes when it is compiled: `regex` writes out a thousand times what `{1000}` repeats.

The number of states is estimated from the pattern's text, so that `(?:(?:a{1000}b){1000}c){1000}` is refused before it
takes all memory. 131,072 states take about 50 MB and 0.2 s. A group that must be repeated is written out once more for
the loop that follows, so each `+` around another one doubles it: 30 of them, `(?:(?:(?:a)+)+)+`, would take a terabyte.
A group that calls itself first, `(?R)?a`, never ends: `regex` would take a gigabyte to find out.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from graphlib import CycleError, TopologicalSorter

from tokcli.engine.pretokenizers.nodes import Alternation, Group, PatternNode, UnknownSyntax, is_nullable
from tokcli.engine.pretokenizers.parser import parse
from tokcli.engine.pretokenizers.rewrite import atoms
from tokcli.errors import PatternError

MAX_STATES = 1 << 17
_INTERVAL = re.compile(r"\{ *([0-9]*) *(,?) *[0-9]* *\}")
_GROUP_HEAD = re.compile(r"\(\?(?:<?[=!]|[>|]|P?<\w+>|[\w^-]*:)")
_VERBOSE = re.compile(r"\(\?[a-zA-Z]*x")
_COMMENT = re.compile(r"\\.|\[\^?\]?(?:\\.|[^\]\\])*\]|(?P<comment>#[^\n]*)", re.DOTALL)  # or what may hold a #
_CALL = re.compile(r"\(\?(?:(?P<number>R|[-+]?[0-9]+)|(?:&|P>)(?P<name>\w+))\)")  # of a group, or of the whole: R, 0
_MANY_DIGITS = 6  # a number with so many is too large, whatever they are


def check_repeats(pattern: str) -> None:
    """Raise PatternError for a pattern whose required repeats, multiplied where nested, make too many states."""
    if _upper_bound(pattern) > MAX_STATES and states(pattern, loops=True) > MAX_STATES:
        raise PatternError(
            f"pattern: its repeats make more than {MAX_STATES:,} states",
            "Use smaller numbers in {...}; `{1,1000}` takes no more than `+`.",
        )


def check_calls(pattern: str) -> None:
    """Raise PatternError for a pattern with a group that calls itself before it has matched anything.

    >>> check_calls(r"\\((?:[^()]|(?R))*\\)")
    >>> check_calls("(a|(?1)b)")
    Traceback (most recent call last):
    tokcli.errors.PatternError: pattern: a group calls itself before it matches anything
    """
    if not _CALL.search(pattern):
        return
    try:
        tree = parse(pattern)
    except PatternError:
        return  # `regex` says what is wrong
    groups = [node for node in tree.nodes if isinstance(node, Group) and node.captures]
    numbers = {group.opening.partition("<")[2][:-1]: number for number, group in enumerate(groups, 1)}
    whole = [alternative.items for alternative in tree.alternatives]
    called: dict[int, set[int]] = {}
    for number, parts in enumerate([whole, *([group.children] for group in groups)]):
        found = [_CALL.fullmatch(tree.text(node)) for items in parts for node in _at_the_beginning(items)]
        called[number] = {_target(call, numbers) for call in found if call}
    try:
        TopologicalSorter(called).prepare()
    except CycleError:
        raise PatternError("pattern: a group calls itself before it matches anything") from None


def _at_the_beginning(items: Sequence[PatternNode]) -> Iterator[UnknownSyntax]:
    """Yield the calls and references in a sequence of items that may come before the first character."""
    waiting = [items]
    while waiting:
        for item in waiting.pop():
            if isinstance(item, UnknownSyntax):
                yield item
            elif isinstance(item, Alternation):
                waiting += [(branch,) for branch in item.children]
            else:
                waiting.append(item.children)
            if isinstance(item, UnknownSyntax) or not is_nullable(item):
                break


def _target(call: re.Match[str], numbers: Mapping[str, int]) -> int:
    """Return the number of the group that is called, 0 for the whole pattern; -1 for none and for a relative number."""
    if name := call["name"]:
        return numbers.get(name, -1)
    number = call["number"]
    return 0 if number == "R" else int(number) if number.isdigit() and len(number) < _MANY_DIGITS else -1


def _upper_bound(pattern: str) -> int:
    """Return an upper bound of the states that is quick to compute: as if every repeat were inside all others."""
    loops = pattern.count("+")
    bound = len(pattern) << min(loops, MAX_STATES.bit_length())
    for interval in _INTERVAL.finditer(pattern):
        bound = min(bound * (1 + _least(interval)), MAX_STATES + len(pattern))
    return bound if loops or "{" in pattern else 0


def states(pattern: str, *, loops: bool = False) -> int:
    """Estimate the number of states of a compiled pattern; a number above MAX_STATES only says that there are more.

    With `loops`, the states of the loops that follow the required repeats of groups are counted, too.

    >>> states("ab{10}"), states("(?:ab{10}){3}"), states("[a-z]{2,5}|x"), states("(?:(?:ab)+)+", loops=True)
    (11, 33, 3, 8)
    """
    ignores_space = _VERBOSE.search(pattern) is not None
    if ignores_space and "#" in pattern:  # a comment may hold brackets
        pattern = _COMMENT.sub(lambda found: "" if found["comment"] else found[0], pattern)
    groups = [[0, 0]]  # of each open group: states so far, and those of its last item
    position = skipped = 0
    before = ""
    for atom in atoms(pattern):
        begin, position = position, position + len(atom.text)
        if begin < skipped or atom.in_class or (ignores_space and atom.text.isspace()):
            continue
        if atom.text == "(":
            head = _GROUP_HEAD.match(pattern, begin)
            skipped = head.end() if head else skipped
            groups.append([0, 0])
        elif atom.text == ")":
            _close(groups)
        elif atom.text == "{" and (interval := _INTERVAL.match(pattern, begin)):
            least, skipped = _least(interval), interval.end()
            _repeat(groups[-1], max(1, least) + (loops and before == ")" and least > 0))
        elif atom.text == "+" and before == ")":
            _repeat(groups[-1], 1 + loops)
        elif atom.text not in "*+?|":
            groups[-1] = [groups[-1][0] + 1, 1]
        if groups[-1][0] > MAX_STATES:
            return MAX_STATES + 1
        before = atom.text
    while len(groups) > 1:
        _close(groups)
    return groups[0][0]


def _repeat(group: list[int], times: int) -> None:
    """Count the last item of a group so many times."""
    group[:] = group[0] + group[1] * (times - 1), group[1] * times


def _close(groups: list[list[int]]) -> None:
    """Make the last open group one item of the group around it; after a lone `)`, all before it is one item."""
    total = groups.pop()[0]
    before = groups.pop()[0] if groups else 0
    groups.append([before + total, total])


def _least(interval: re.Match[str]) -> int:
    digits = interval[1].lstrip("0")
    return MAX_STATES + 1 if len(digits) >= _MANY_DIGITS else int(digits or 0)
