"""Descriptions, in words for people, of the parts that cut text for an encoding without a single pattern."""

from __future__ import annotations

from tokcli.engine.encoding import Encoding
from tokcli.engine.spec.patterns import LiteralText, OnigPattern


def described(encoding: Encoding) -> list[str]:
    """Return a line of description for each part that cuts text for an encoding, in the order in which they do."""
    parts = encoding.tokenizer.cutting_parts()
    if not parts:
        return [f"{encoding.name}: no pre-tokenizer, the model sees a text whole"]
    return [f"{name}: {_described(part)}" for name, part in parts]


def _described(part: object) -> str:
    """Return the name of a part with its arguments, such as `Split(pattern, Isolated)`."""
    if isinstance(part, OnigPattern | LiteralText):
        return part[0]
    if isinstance(part, tuple):
        inner, name = ", ".join(map(_described, part)), type(part).__name__.removesuffix("Normalizer")
        if not hasattr(part, "_fields"):
            return f"Sequence({inner})" if len(part) > 1 and hasattr(part[0], "_fields") else inner
        return f"{name}({inner})" if part else name
    return "Charsmap" if isinstance(part, bytes) else str(part)
