"""What cuts text for an encoding, for whoever explains it: its one pattern, or the names of the parts that do."""

from __future__ import annotations

from dataclasses import fields, is_dataclass

from tokcli.engine.encoding import Encoding
from tokcli.engine.pretokenizer import PreTokenizer
from tokcli.errors import PatternError


def single_pattern(encoding: Encoding) -> PreTokenizer | None:
    """The pattern that alone cuts text for an encoding; None where there is none, or other parts have a say."""
    if not encoding.is_pipeline:
        return encoding.pretokenizer
    from tokcli.engine.minbpe import MinBpe
    from tokcli.engine.pipeline import Pipeline

    tokenizer = getattr(encoding, "whole_tokenizer", None)
    pat_str = None
    if isinstance(tokenizer, Pipeline):
        pat_str = None if tokenizer.prefix_space else tokenizer.pat_str
    elif isinstance(tokenizer, MinBpe):
        pat_str = tokenizer.pattern
    if pat_str is None:
        return None
    try:
        return PreTokenizer(pat_str, timeout=encoding.pretokenizer.timeout)
    except PatternError:  # Oniguruma's language has words that ours lacks
        return None


def described(encoding: Encoding) -> list[str]:
    """The parts that cut text for an encoding without a single pattern, in order, a line each."""
    from tokcli.engine.pipeline import Pipeline

    tokenizer = getattr(encoding, "whole_tokenizer", None)
    if isinstance(tokenizer, Pipeline):
        lines = [] if tokenizer.normalizer is None else [f"normalizer: {_named(tokenizer.normalizer)}"]
        if tokenizer.splitter is None:
            return [*lines, "pre-tokenizer: none, the model sees the text between added tokens whole"]
        return [*lines, f"pre-tokenizer: {_named(tokenizer.splitter)}"]
    pre = getattr(tokenizer, "pre", None)
    if pre is not None:
        return [f"pre-tokenizer of llama.cpp: {_named(pre)}"]
    return [f"{type(tokenizer).__name__}: no pre-tokenizer, the model sees a text whole"]


def _named(part: object) -> str:
    """A part with what it was given, such as `Split(pattern, Isolated)`."""
    from tokcli.engine.matching import OnigPattern

    if isinstance(part, OnigPattern):
        return part.pattern
    if hasattr(part, "_fields"):  # a tuple with names
        return f"{type(part).__name__}({', '.join(map(_named, part))})"  # type: ignore[call-overload]
    if isinstance(part, (tuple, list)):
        return ", ".join(map(_named, part))
    if isinstance(part, (str, int, type(None))):
        return str(part)
    if is_dataclass(part):
        given = [f"{_named(getattr(part, field.name))}" for field in fields(part) if field.repr]
        return f"{type(part).__name__}({', '.join(given)})"
    return getattr(part, "__name__", type(part).__name__)
