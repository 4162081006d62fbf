"""Native normal forms, lower case and dropping of characters."""

from __future__ import annotations

from collections.abc import Callable

from tokcli.engine import backend
from tokcli.engine.pipeline.aligned import Aligned
from tokcli.engine.pipeline.normalizers import Lowercase, Normalizer, NormalizerSequence, UnicodeForm, Without


def native_normalizer(normalizer: Normalizer | None) -> Callable[[str], str | None] | None:
    """Return a function that normalizes text natively, and returns None for text that Python has to normalize.

    Return None where the normalizer has no steps, or some that native code lacks, or where there is no native code.
    """
    native = backend.native()
    steps = [_named(step) for step in _flat(normalizer)]
    named = [step for step in steps if step is not None]
    if native is None or not steps or len(named) < len(steps):
        return None
    normalize: Callable[[str], str | None] = native.Normalizer(named).normalize
    return normalize


def _named(step: Normalizer) -> tuple[str, str] | None:
    """Return what native code calls a step; None for one that it does not have."""
    if isinstance(step, UnicodeForm):
        return "form", step.form
    if isinstance(step, Without):
        return "without", step.name
    return ("lower", "") if isinstance(step, Lowercase) else None


def _flat(normalizer: Normalizer | None) -> list[Normalizer]:
    if isinstance(normalizer, NormalizerSequence):
        return [step for inner in normalizer.normalizers for step in _flat(inner)]
    return [] if normalizer is None else [normalizer]


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
