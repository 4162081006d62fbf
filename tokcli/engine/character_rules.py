"""Normalizers and pre-tokenizers that look at one character at a time, as rules for single characters (native_text.py).

A normalizer is such a one where characters stand that do not touch each other. Those that may (marks that are put in
order or composed, characters that are one for the reader) are unsafe: they are normalized with their neighbours.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable
from dataclasses import dataclass

from tokcli.engine import normalizer as norm
from tokcli.engine import splitters as split
from tokcli.engine import unicode_classes as classes
from tokcli.engine import unicode_forms as forms
from tokcli.engine.aligned import Aligned
from tokcli.engine.matching import Characters, Literal

WORD_CHAR, REMOVED, ISOLATED = 0x100, 0xFF, 0xFE  # TextModel::kWordChar, kRemoved, kIsolated
_MOST_STEPS = 6  # so that there are fewer groups than numbers
_JAMO = re.compile("[\u1100-\u11ff\ua960-\ua97f\ud7b0-\ud7ff]")
_JOINED = re.compile("[\r\u200c\u200d\U0001f1e6-\U0001f1ff]")


@dataclass(frozen=True)
class CharacterStage:
    """What happens to text, and whether a character takes no notice of those around it."""

    apply: Callable[[str], str]
    is_safe: Callable[[str], bool]


def stages_of(steps: list[norm.Normalizer]) -> list[CharacterStage] | None:
    """Normalizers one after the other, character by character; None where one of them is not like that."""
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
        return CharacterStage(_applied(step), _is_one_for_the_reader)
    if isinstance(step, norm.UnicodeForm):
        return CharacterStage(_applied(step), _keeps_to_itself(step.form))
    return None


def _applied(*steps: norm.Normalizer) -> Callable[[str], str]:
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
    """Decomposed, and without marks: in which order these stood does not matter any more."""

    def is_safe(char: str) -> bool:
        one = classes.one(without.name)
        return all(forms._class(c) == 0 or one.match(c) for c in forms.normalize(form.form, char))

    return CharacterStage(_applied(form, without), is_safe)


def _keeps_to_itself(form: forms.Form) -> Callable[[str], bool]:
    """Whether a character's form begins with what is not ordered among marks, nor composed with what is before it."""
    decomposed: forms.Form = "NFD" if form in ("NFC", "NFD") else "NFKD"

    def is_safe(char: str) -> bool:
        first = forms.normalize(decomposed, char)[:1]
        return not (forms._class(first) or unicodedata.category(first).startswith("M") or _JAMO.match(first))

    return is_safe


def _is_one_for_the_reader(char: str) -> bool:
    """Whether no neighbour is ever in one grapheme cluster with a character, unless that neighbour is unsafe itself."""
    import regex

    if _JAMO.match(char) or _JOINED.match(char):
        return False
    return len(regex.findall(r"\X", "a" + char + "a")) == 3


def rule_of(char: str, stages: list[CharacterStage]) -> bytes | None:
    """What becomes of a character, None if it is unsafe in any stage."""
    text = char
    for stage in stages:
        if not all(map(stage.is_safe, text)):
            return None
        text = stage.apply(text)
    return text.encode()


def run_of(text: str, stages: list[CharacterStage]) -> bytes:
    """What becomes of some characters together."""
    for stage in stages:
        text = stage.apply(text)
    return text.encode()


class Groups:
    """To which group of characters one belongs: a piece ends where the group changes."""

    def __init__(self, steps: list[split.Splitter]) -> None:
        self._steps = steps

    @staticmethod
    def are_known(steps: list[split.Splitter]) -> bool:
        """Whether all of them cut by groups."""
        return len(steps) <= _MOST_STEPS and all(map(_is_by_groups, steps))

    def value(self, char: str) -> int:
        """The group, and whether this is a character of words."""
        word = WORD_CHAR if classes.one("WORD").match(char) else 0
        found = [_membership(step, char) for step in self._steps]
        if "removed" in found:
            return word | REMOVED
        if "isolated" in found:
            return word | ISOLATED
        # a bit for each step, so that the number is the same in whatever order characters are met
        return word | sum(1 << at for at, kind in enumerate(found) if kind in ("match", "word"))


def _is_by_groups(step: split.Splitter) -> bool:
    if isinstance(step, split.Words):
        return True
    if not isinstance(step, split.Split) or step.invert:
        return False
    finder = step.finder
    is_one = isinstance(finder, Characters) or (isinstance(finder, Literal) and len(finder.text) == 1)
    return is_one and step.behavior in ("Removed", "Isolated", "Contiguous")


def _membership(step: split.Splitter, char: str) -> str:
    if isinstance(step, split.Words):
        if classes.one("SPACE").match(char):
            return "removed"
        return "word" if classes.one("WORD").match(char) else "other"
    assert isinstance(step, split.Split)
    if not any(True for _ in step.finder.find(char)):
        return "between"
    return {"Removed": "removed", "Isolated": "isolated"}.get(step.behavior, "match")
