r"""Tries a pattern on texts, and remembers which alternatives win, and where the pattern leaves text out.

Characters fall into classes within which the pattern cannot tell them apart (character_sets.py), so that texts made of
one example of each class stand for all texts of their length; longer texts are made from the alternatives themselves.
For example, `a+|b` has three classes (`a`, `b`, all others), so that 3 + 9 texts stand for all of one and two
characters.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import product

from tokcli.analysis.pattern.bounds import Deadline
from tokcli.analysis.pattern.character_sets import EquivalenceClass, members, partition
from tokcli.engine.pretokenizers.nodes import (
    Alternation,
    Alternative,
    Assertion,
    CharacterClass,
    Concatenation,
    Group,
    LookAround,
    PatternNode,
    PatternTree,
    Quantified,
)
from tokcli.engine.pretokenizers.pretokenizer import PreTokenizer
from tokcli.engine.unicode.ranges import Ranges
from tokcli.errors import PatternError, PatternTimeoutError

MOST_TEXTS = 20_000  # tried of one length: all of three characters from up to 27 classes, or of two from up to 141
LONGEST_TEXT = 4
MADE_TEXTS = 200  # made for each alternative that won in none of those
MADE_CHARS = 400  # of a made text, about
_FOLLOWING = ("", " ", "a", "\n", "0", ".", " a", "\n\n")  # what a made text is followed by
_SEED = 20  # the same texts every time

_LINE_FEED = ((10, 10),)


@dataclass(frozen=True)
class GeneratedText:
    """A text made for an alternative and tried at index `at`; `end` is the end of its own match, None without one."""

    text: str
    at: int
    end: int | None


class Trials:
    """A pattern, the classes of characters that it can tell apart, and what trying texts has shown.

    `hits` has a text for each alternative that won somewhere. `gaps` maps each text that the pattern stops in to the
    index there, and to whether an empty match stopped it. `empty` has a text for each alternative that won with an
    empty match.
    """

    def __init__(self, pattern: PatternTree) -> None:
        self.pattern = pattern
        self.hits: dict[str, str] = {}
        self.gaps: dict[str, tuple[int, bool]] = {}
        self.empty: dict[str, str] = {}
        self._pretokenizer = PreTokenizer(pattern.source)
        self._room = MADE_CHARS  # characters that a made text may still get
        self.deadline = Deadline()

    @cached_property
    def _sets(self) -> dict[tuple[str, bool, bool], int]:
        """Return the different character sets of the pattern, numbered."""
        found: dict[tuple[str, bool, bool], int] = {}
        for node in self.pattern.nodes:
            if isinstance(node, CharacterClass):
                found.setdefault(self._key(node), len(found))
        return found

    def _key(self, node: CharacterClass) -> tuple[str, bool, bool]:
        return self.pattern.text(node), node.ignore_case, node.dot_all

    @cached_property
    def ranges(self) -> list[Ranges]:
        """Return the sets of characters that the pattern and its assertions ask about."""
        sets = []
        for source, ignore_case, dot_all in self._sets:
            self.deadline.check()
            sets.append(members(source, ignore_case=ignore_case, dot_all=dot_all))
        texts = {self.pattern.text(node) for node in self.pattern.nodes if isinstance(node, Assertion)}
        sets += [_LINE_FEED] if texts & {"^", "$", r"\Z"} else []
        sets += [members(r"\w")] if texts & {r"\b", r"\B"} else []
        return sets

    @cached_property
    def classes(self) -> list[EquivalenceClass]:
        """Return the classes of characters that the pattern can tell apart."""
        return partition(self.ranges)

    def classes_of(self, node: CharacterClass) -> frozenset[int]:
        """Return the numbers of the classes that a character class matches."""
        return frozenset(self._classes_of_sets[self._sets[self._key(node)]])

    @cached_property
    def _classes_of_sets(self) -> list[list[int]]:
        """Return for each set the numbers of the classes in it, in order."""
        found: list[list[int]] = [[] for _ in self._sets]
        for index, one in enumerate(self.classes):
            for number in one.sets:
                if number < len(found):  # not of an assertion
                    found[number].append(index)
        return found

    @cached_property
    def length(self) -> int:
        """Return the number of characters up to which all texts are tried."""
        return max(n for n in range(1, LONGEST_TEXT + 1) if n == 1 or len(self.classes) ** n <= MOST_TEXTS)

    def try_short_texts(self) -> int:
        """Try all texts of up to `length` characters, each the example of a class; return how many were tried.

        Texts with a character that is left out by itself are not tried: one finding about it is enough. Trying ends
        early when the time is up.
        """
        tried = 0
        alone: set[str] = set()
        for size in range(1, self.length + 1):
            for word in product([found.example for found in self.classes], repeat=size):
                if self.deadline.is_late():
                    return tried
                if alone.isdisjoint(word):
                    tried += 1
                    try:
                        self._try("".join(word))
                    except PatternTimeoutError:
                        self.deadline.was_late = True
            alone = alone or {text for text in self.gaps if len(text) == 1}
        return tried

    def _try(self, text: str) -> None:
        """Split a text, and remember which alternatives win, or where the pattern stops."""
        at = 0
        while at < len(text):
            won = self.winner(text, at)
            if won is None or won[1] == at:
                self.gaps.setdefault(text, (at, won is not None))
                if won is not None:
                    self.empty.setdefault(won[0], text)
                return
            self.hits.setdefault(won[0], text)
            at = won[1]

    @property
    def knows_winners(self) -> bool:
        """Return whether it can be told which alternative matched."""
        return self._pretokenizer.named_for("") is not None

    def winner(self, text: str, at: int) -> tuple[str, int] | None:
        """Return the name of the alternative that wins at index `at`, and the end of its match; None without a match.

        The name is empty if it cannot be told.
        """
        with self.deadline.for_a_match():
            won = self._pretokenizer.winners(text)(at)
        return None if won is None else (f"a{won[0]}" if won[0] else "", won[1])

    def texts_for(self, alternative: Alternative) -> Iterator[GeneratedText]:
        """Yield random texts in the form of an alternative, the same every time; fewer if it takes too long."""
        alone = PreTokenizer(self.pattern.head + alternative.source)
        chance = random.Random(_SEED)
        first = alternative.items[0] if alternative.items else None
        for number in range(MADE_TEXTS):
            if self.deadline.is_late():
                return
            self._room = MADE_CHARS
            before = self._sample(first.item, chance) if isinstance(first, LookAround) and first.behind else ""
            made = "".join(self._sample(item, chance) for item in alternative.items)
            text = before + made + _FOLLOWING[number % len(_FOLLOWING)]
            try:
                with self.deadline.for_a_match():
                    match = alone.match_at(text, len(before))
            except PatternError:
                return
            yield GeneratedText(text, len(before), match.end() if match and match.end() > len(before) else None)

    def _sample(self, node: PatternNode, chance: random.Random) -> str:
        """Return a random text that a node could match."""
        if isinstance(node, CharacterClass):
            self._room -= 1
            classes = self._classes_of_sets[self._sets[self._key(node)]]
            return self.classes[chance.choice(classes)].example if classes else ""
        if isinstance(node, Alternation):
            return self._sample(chance.choice(node.children), chance)
        if isinstance(node, (Concatenation, Group)):
            return "".join(self._sample(item, chance) for item in node.children)
        if isinstance(node, Quantified):
            most = node.least + 2 if node.most is None else min(node.most, node.least + 2)
            times = range(chance.randint(node.least, max(most, node.least)))
            return "".join(self._sample(node.item, chance) for _ in times if self._room > 0)
        return ""
