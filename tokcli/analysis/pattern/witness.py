r"""The shortest texts that two patterns split differently, found from the patterns alone.

Characters fall into classes within which neither pattern can tell them apart. Both patterns split all texts made of one
example of each class, the short ones first, and longer texts: made for the alternatives, or runs of one character as
long as the bounds of repeats. A longer text that they split differently is shortened as far as possible. For example,
`\p{N}{1,3}|.` and `\p{N}|.` differ on `00`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain, product
from time import monotonic
from typing import NamedTuple

from tokcli.analysis.pattern.bounds import refusing_depth
from tokcli.analysis.pattern.character_sets import partition
from tokcli.analysis.pattern.trials import Trials
from tokcli.engine.base.time_limit import seconds_allowed
from tokcli.engine.pretokenizers.nodes import PatternTree, Quantified
from tokcli.engine.pretokenizers.parser import parse
from tokcli.engine.pretokenizers.pretokenizer import PreTokenizer
from tokcli.errors import PatternError, PatternTimeoutError

LONGEST_TEXT = 6  # characters: all texts of up to this length are tried while there is time
LONGEST_RUN = 300  # characters of a run, which repeats the example of a class
FOLLOWING = ("", " ", "a", "\n", ".")  # what such a run is followed by

Pieces = tuple[str, ...] | None
"""The pieces of a text; None where the pattern leaves some of it out."""


class Witness(NamedTuple):
    """A text, and its pieces under the two patterns, which differ."""

    text: str
    left: Pieces
    right: Pieces


class WitnessSearch(NamedTuple):
    """The result of trying `texts` texts, among them all of up to `length` characters of `classes` classes."""

    witnesses: tuple[Witness, ...]
    classes: int
    length: int
    texts: int


def find_witnesses(left: str, right: str, most: int = 1, seconds: float | None = None) -> WitnessSearch:
    r"""Return up to `most` texts on which two patterns differ, the shortest first, none of which contains another.

    Texts are tried for `seconds`, by default the time limit of the call; `length` of the result tells how far that got.
    Raise PatternError if a pattern cannot be read.

    >>> find_witnesses(r"\p{N}{1,3}|.", r"\p{N}|.").witnesses[0]
    Witness(text='00', left=('00',), right=('0', '0'))
    >>> find_witnesses(r"[ab]|.", r"[ba]|.").witnesses
    ()
    """
    with refusing_depth():
        return _Search(parse(left), parse(right), most).result(seconds_allowed() if seconds is None else seconds)


class _Search:
    def __init__(self, left: PatternTree, right: PatternTree, most: int) -> None:
        self._trees, self._most = (left, right), most
        self._trials = Trials(left), Trials(right)
        self._sides = PreTokenizer(left.source), PreTokenizer(right.source)
        self._until = 0.0
        self._texts = 0
        self._found: list[Witness] = []

    def result(self, seconds: float) -> WitnessSearch:
        """Search until there are enough witnesses, all texts have been tried, or the time is up."""
        classes = partition([*chain.from_iterable(trials.ranges for trials in self._trials)])
        self._until = monotonic() + seconds
        examples = [found.example for found in classes]
        length = 0
        made = self._made(examples)
        for size in range(1, LONGEST_TEXT + 1):
            if size == LONGEST_TEXT // 2 + 1:  # before the many longer texts: these show differing bounds of repeats
                self._try(made, shorten=True)
            if not self._try(map("".join, product(examples, repeat=size))):
                break
            length = size
        found = sorted(self._found, key=lambda witness: (len(witness.text), witness.text))
        return WitnessSearch(tuple(found[: self._most]), len(classes), length, self._texts)

    def _try(self, texts: Iterable[str], *, shorten: bool = False) -> bool:
        """Try texts; return whether all were tried."""
        for text in texts:
            if len(self._found) >= self._most or monotonic() > self._until:
                return False
            if any(witness.text in text for witness in self._found):
                continue
            self._texts += 1
            witness = self._differing(text)
            if witness is not None:
                self._found.append(self._shortest(witness) if shorten else witness)
        return True

    def _differing(self, text: str) -> Witness | None:
        left, right = (_pieces(side, text) for side in self._sides)
        return None if left == right else Witness(text, left, right)

    def _shortest(self, witness: Witness) -> Witness:
        """Return a witness shortened until no stretch of it can be left out."""
        size = len(witness.text) // 2
        while size:
            for at in range(len(witness.text) - size, -1, -1):
                found = self._differing(witness.text[:at] + witness.text[at + size :])
                if found is not None:
                    witness = found
                    size = min(size, len(witness.text) // 2 or 1)
                    break
            else:
                size //= 2
        return witness

    def _made(self, examples: list[str]) -> Iterator[str]:
        """Yield texts that are made for the alternatives, and runs of each class as long as the bounds of repeats."""
        bounds = {
            bound
            for node in chain.from_iterable(tree.nodes for tree in self._trees)
            if isinstance(node, Quantified)
            for bound in (node.least, node.most or 0)
        }
        sizes = sorted({size for bound in bounds for size in (bound, bound + 1) if 0 < size <= LONGEST_RUN})
        for size in sizes:
            for char in examples:
                for end in FOLLOWING:
                    yield char * size + end
        for trials in self._trials:
            for alternative in trials.pattern.alternatives:
                for made in trials.texts_for(alternative):
                    yield made.text


def _pieces(side: PreTokenizer, text: str) -> Pieces:
    try:
        return tuple(side.split(text))
    except PatternTimeoutError:
        raise
    except PatternError:
        return None
