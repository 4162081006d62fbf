"""Descriptions, in words for people, of the parts that cut text for an encoding without a single pattern."""

from __future__ import annotations

from dataclasses import fields, is_dataclass

from tokcli.engine.encoding import Encoding
from tokcli.engine.pipeline.finders import OnigPattern


def described(encoding: Encoding) -> list[str]:
    """Return a line of description for each part that cuts text for an encoding, in the order in which they do."""
    parts = encoding.tokenizer.cutting_parts()
    if not parts:
        return [f"{encoding.name}: no pre-tokenizer, the model sees a text whole"]
    return [f"{name}: {_described(part)}" for name, part in parts]


def _described(part: object) -> str:
    """Return the name of a part with its arguments, such as `Split(pattern, Isolated)`."""
    if isinstance(part, OnigPattern):
        return part.pattern
    if hasattr(part, "_fields"):  # a named tuple
        # NormalizerSequence and SplitterSequence are Sequence in the files
        name = type(part).__name__.removeprefix("Normalizer").removeprefix("Splitter")
        return f"{name}({', '.join(map(_described, part))})"  # type: ignore[call-overload]
    if isinstance(part, (tuple, list)):
        return ", ".join(map(_described, part))
    if isinstance(part, (str, int, type(None))):
        return str(part)
    if is_dataclass(part):
        given = [_described(getattr(part, field.name)) for field in fields(part) if field.repr]
        return f"{type(part).__name__}({', '.join(given)})"
    return getattr(part, "__name__", type(part).__name__.removesuffix("Normalizer").removesuffix("Text"))
