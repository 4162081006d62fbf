"""Rules for single characters, which native twins learn, derived from normalizers and pre-tokenizers.

A normalizer can be applied character by character as long as characters do not interact with their neighbours. One that
may do so (a mark that is put in order or composed, a part of a longer grapheme cluster) is unsafe: the twin asks for
the whole run of such characters, which is normalized at once.
"""

from __future__ import annotations

import re
import unicodedata
from array import array
from collections.abc import Callable
from functools import partial
from itertools import accumulate
from typing import NamedTuple

from tokcli.engine.pipeline import normalizers as norm
from tokcli.engine.pipeline import pretokenizers as split
from tokcli.engine.pipeline.aligned import Aligned
from tokcli.engine.pipeline.finders import Characters, LiteralText
from tokcli.engine.unicode import classes, forms

WORD_CHAR, REMOVED, ISOLATED = 0x100, 0xFF, 0xFE  # TextModel::kWordChar, kRemoved, kIsolated
UNKNOWN = array("I", [0xFFFFFFFF])  # the origins of a run, where only the whole text tells them
_MOST_STEPS = 6  # a group has a bit for each, and must stay below ISOLATED
_JAMO = re.compile("[\u1100-\u11ff\ua960-\ua97f\ud7b0-\ud7ff]")
_JOINED = re.compile("[\r\u200c\u200d\U0001f1e6-\U0001f1ff]")


class CharacterStage(NamedTuple):
    """A normalizer, and the test for characters that it changes in the same way in any context."""

    apply: Callable[[str], str]
    is_safe: Callable[[str], bool]


def stages_of(steps: list[norm.Normalizer]) -> list[CharacterStage] | None:
    """Return a stage for each normalizer; None where one of them cannot be applied character by character."""
    stages: list[CharacterStage] = []
    at = 0
    while at < len(steps):
        step, following = steps[at], steps[at + 1] if at + 1 < len(steps) else None
        if isinstance(step, norm.UnicodeForm) and step.form in ("NFD", "NFKD") and isinstance(following, norm.Without):
            stages.append(_without_marks(step, following))
            at += 2
            continue
        stage = _stage_of(step)
        if stage is None:
            return None
        stages.append(stage)
        at += 1
    return stages


def _stage_of(step: norm.Normalizer) -> CharacterStage | None:
    if isinstance(step, (norm.Lowercase, norm.Without, norm.Nmt)):
        return CharacterStage(_applied(step), _always)
    if isinstance(step, norm.Bert):
        accents = step.lowercase if step.strip_accents is None else step.strip_accents
        marks = _without_marks(norm.UnicodeForm("NFD"), norm.Without("BERT_MARK"))
        return CharacterStage(_applied(step), marks.is_safe if accents else _always)
    if isinstance(step, norm.Precompiled):
        return CharacterStage(_applied(step), _is_a_cluster)
    if isinstance(step, norm.UnicodeForm):
        return CharacterStage(_applied(step), _is_independent(step.form))
    return None


def _applied(*steps: norm.Normalizer) -> Callable[[str], str]:
    if len(steps) == 1 and isinstance(steps[0], norm.UnicodeForm):
        return partial(forms.normalize, steps[0].form)

    def apply(text: str) -> str:
        aligned = Aligned(text)
        for step in steps:
            step(aligned)
        return aligned.text

    return apply


def _always(char: str) -> bool:
    del char
    return True


def _without_marks(form: norm.UnicodeForm, without: norm.Without) -> CharacterStage:
    """Return the stage that decomposes text and drops marks, after which the order of the marks is irrelevant."""

    def is_safe(char: str) -> bool:
        return all(forms._class(c) == 0 or classes.has(without.name, c) for c in forms.normalize(form.form, char))

    return CharacterStage(_applied(form, without), is_safe)


def _is_independent(form: forms.Form) -> Callable[[str], bool]:
    """Return a test for characters whose form is neither reordered nor composed with the preceding character's."""
    decomposed: forms.Form = "NFD" if form in ("NFC", "NFD") else "NFKD"

    def is_safe(char: str) -> bool:
        first = forms.normalize(decomposed, char)[:1]
        return not (forms._class(first) or unicodedata.category(first).startswith("M") or _JAMO.match(first))

    return is_safe


def _is_a_cluster(char: str) -> bool:
    """Return whether a character is a grapheme cluster by itself beside any neighbour that is safe, too."""
    if _JAMO.match(char) or _JOINED.match(char):
        return False
    if char.isascii():
        return True
    import regex

    return len(regex.findall(r"\X", "a" + char + "a")) == 3


def rule_of(char: str, stages: list[CharacterStage]) -> bytes | None:
    """Return the UTF-8 that a character becomes; None if it is unsafe in any stage."""
    text = char
    for stage in stages:
        if not all(map(stage.is_safe, text)):
            return None
        text = stage.apply(text)
    return text.encode()


def run_of(text: str, stages: list[CharacterStage]) -> bytes:
    """Return the UTF-8 that a run of characters becomes."""
    for stage in stages:
        text = stage.apply(text)
    return text.encode()


def origins_of(text: str, steps: list[norm.Normalizer]) -> array[int]:
    """Return the origin of each character that normalizers make of a text: the byte of the text at which it begins.

    The origins are UNKNOWN where they depend on what is before the text, or a character does not come from just one.
    """
    aligned = Aligned.of(text)
    for step in steps:
        if isinstance(step, norm.Precompiled):
            replaced = sum(max(0, 1 - change) for _, change in step.changes(aligned) if change <= 0)
            if replaced != len(aligned.text):  # the first characters were dropped
                return UNKNOWN
        step(aligned)
    starts = list(accumulate((len(char.encode()) for char in text), initial=0))
    spans = aligned.spans or []
    return array("I", [starts[begin] for begin, _ in spans]) if all(b == a + 1 for a, b in spans) else UNKNOWN


class Groups:
    """The groups into which pre-tokenizers sort characters: a piece ends where the group changes."""

    def __init__(self, steps: list[split.Splitter]) -> None:
        self._steps = steps

    @property
    def cut(self) -> bool:
        """Whether there is more than one group."""
        return bool(self._steps)

    @staticmethod
    def are_known(steps: list[split.Splitter]) -> bool:
        """Return whether the pre-tokenizers are few enough, and each cuts where the group of characters changes."""
        return len(steps) <= _MOST_STEPS and all(map(_is_by_groups, steps))

    def value(self, char: str) -> int:
        """Return the number of a character's group, with the bit WORD_CHAR for a word character."""
        word = WORD_CHAR if classes.has("WORD", char) else 0
        found = [_membership(step, char) for step in self._steps]
        if "removed" in found:
            return word | REMOVED
        if "isolated" in found:
            return word | ISOLATED
        # A bit for each step: the number must not depend on the order in which characters are met.
        return word | sum(1 << at for at, kind in enumerate(found) if kind in ("match", "word"))


def _is_by_groups(step: split.Splitter) -> bool:
    if isinstance(step, split.Words):
        return True
    if not isinstance(step, split.Split) or step.invert:
        return False
    finder = step.finder
    is_one = isinstance(finder, Characters) or (isinstance(finder, LiteralText) and len(finder.text) == 1)
    return is_one and step.behavior in ("Removed", "Isolated", "Contiguous")


def _membership(step: split.Splitter, char: str) -> str:
    if isinstance(step, split.Words):
        if classes.has("SPACE", char):
            return "removed"
        return "word" if classes.has("WORD", char) else "other"
    assert isinstance(step, split.Split)
    finder = step.finder
    found = classes.has(finder.name, char) if isinstance(finder, Characters) else any(True for _ in finder.find(char))
    if not found:
        return "between"
    return {"Removed": "removed", "Isolated": "isolated"}.get(step.behavior, "match")
