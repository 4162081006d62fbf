"""Opens the native stages of a spec; what ranks and tokens cut out in Python add to them is left to `bindings/`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tokcli.engine.native_models.text_model import NativeText, opened_model
from tokcli.engine.spec.image import SPECIAL, ImageSpec

if TYPE_CHECKING:
    from typing_extensions import Buffer


def opened_stages(spec: ImageSpec, stages: memoryview, ranks: Buffer | None = None) -> NativeText:
    """Return the twin of a spec by the image of its stages; ranks, whose image may be given, are not used yet.

    ValueError where the image is damaged.
    """
    flags = [(text, bool(bits & SPECIAL)) for text, bits in zip(spec.added_texts, spec.added_flags, strict=True)]
    raw, normalized = (map(flags.__getitem__, places) for places in (spec.raw, spec.normalized))
    return NativeText(opened_model(stages), raw, normalized, vocabulary_image=ranks, ranks=spec.ranks)
