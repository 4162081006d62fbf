"""Native normal forms, lower case and dropping of characters, where only a few neighbours affect a character.

Native code skips characters that no step changes or joins to others. It asks the normalizer once for each short run
around the others, and remembers the answer.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable

from tokcli.engine import backend
from tokcli.engine.pipeline.aligned import Aligned
from tokcli.engine.pipeline.normalizers import Lowercase, Normalizer, NormalizerSequence, UnicodeForm, Without
from tokcli.engine.shortcut.text_check import CHANGED, TextCheck
from tokcli.engine.unicode.forms import marks

_LOCAL = (Lowercase, UnicodeForm, Without)
_JAMO = range(0x1100, 0x1200)  # Hangul; the jamo of other blocks are in no composition


def native_normalizer(normalizer: Normalizer | None) -> Callable[[str], str | None] | None:
    """Return a function that normalizes text natively, and returns None for text that Python has to normalize.

    Return None where the normalizer has no steps, or some that look further than at a character and its marks, or where
    there is no native code.
    """
    native = backend.native()
    steps = _flat(normalizer)
    if native is None or not steps or not all(isinstance(step, _LOCAL) for step in steps):
        return None
    single = steps[0] if len(steps) == 1 else None

    def classify(chars: str) -> list[int]:
        if isinstance(single, UnicodeForm):
            return [CHANGED if value is None else value for value in marks(single.form, chars)]
        return [0 if _is_plain(char, steps) else CHANGED for char in chars]

    check = TextCheck(native, {}, classify, lambda run: _applied(steps, run))

    def normalize(text: str) -> str | None:
        made = check.read(text)
        return made.decode() if isinstance(made, bytes) else text if made else None

    return normalize


def _flat(normalizer: Normalizer | None) -> list[Normalizer]:
    if isinstance(normalizer, NormalizerSequence):
        return [step for inner in normalizer.normalizers for step in _flat(inner)]
    return [] if normalizer is None else [normalizer]


def _is_plain(char: str, steps: list[Normalizer]) -> bool:
    """Return whether no step changes a character or may join it to the one before."""
    if unicodedata.combining(char) or unicodedata.category(char).startswith("M") or ord(char) in _JAMO:
        return False
    return all(_applied([step], char) == char for step in steps)


def _applied(steps: list[Normalizer], text: str) -> str:
    aligned = Aligned(text)
    for step in steps:
        step(aligned)
    return aligned.text


def normalize(
    segment: Aligned, normalizer: Normalizer, native: Callable[[], Callable[[str], str | None] | None]
) -> None:
    """Normalize a segment, by what `native` returns where the places of its characters are not kept."""
    found = None if segment.spans is not None or segment.text.isascii() else native()
    text = None if found is None else found(segment.text)
    if text is None:
        normalizer(segment)
    else:
        segment.text = text
        segment.check(len(text))
