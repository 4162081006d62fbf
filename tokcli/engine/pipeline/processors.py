"""The post-processors of a tokenizer.json, which add special tokens to texts, and trim spaces from offsets."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from copy import copy
from typing import Any

from tokcli.engine.spec.templates import Around, PostProcessor, Template, TemplateText, TemplateToken, TrimOffsets
from tokcli.engine.tokens import Tokens, enclosed, joined, template_tokens, trimmed_spans


def processed(steps: Iterable[PostProcessor], texts: list[Tokens], add: bool) -> list[Tokens]:
    """Return one text or a pair of texts after post-processors, which add special tokens if `add` is true."""
    for step in steps:
        texts = _RULES[type(step)](step, texts, add)
    return texts


def _template(step: Template, texts: list[Tokens], add: bool) -> list[Tokens]:
    out = []
    for part in step.single if len(texts) == 1 else step.pair:
        if isinstance(part, TemplateToken):
            if add:
                out.append(template_tokens(part.ids, part.type_id))
        elif part.number < len(texts):
            tokens = copy(texts[part.number])  # a template may have the same text twice, with different types
            tokens.set_type(part.type_id)
            out.append(tokens)
    return out


def _trim(step: TrimOffsets, texts: list[Tokens], _: bool) -> list[Tokens]:
    for tokens in texts:
        if tokens.spans is not None and tokens.blanks is not None:
            keeps_first = step.add_prefix_space and tokens.begins
            tokens.spans = trimmed_spans(tokens.spans, tokens.blanks, keeps_first=keeps_first)
    return texts


def _around(step: Around, texts: list[Tokens], add: bool) -> list[Tokens]:
    for tokens in texts:
        if not step.types:
            tokens.set_type(0)
        if add:
            tokens.special = [0] * len(tokens.ids)  # tokens that an earlier processor added are no longer special
    return enclosed(texts, step) if add else texts


_RULES: dict[type, Callable[[Any, list[Tokens], bool], list[Tokens]]] = {
    Template: _template,
    TrimOffsets: _trim,
    Around: _around,
}


def trims(steps: Iterable[PostProcessor]) -> bool:
    """Return whether post-processors trim offsets."""
    return any(isinstance(step, TrimOffsets) for step in steps)


def copies(steps: Iterable[PostProcessor]) -> int:
    """Return how often post-processors take a single text."""
    return len(joined(processed(steps, [Tokens([0])], False)).ids)


def growth(steps: Iterable[PostProcessor]) -> tuple[int, int]:
    """Return the most that post-processors make of any text: the number of its copies, and of the ids added."""
    copies, more = 1, 0
    for step in steps:
        times, ids = 1, 4  # of Around: a token before each of two texts and after it
        if isinstance(step, Template):
            templates = step.single, step.pair
            numbers = [[part.number for part in parts if isinstance(part, TemplateText)] for parts in templates]
            times = max(1, *(found.count(number) for found in numbers for number in (0, 1)))
            ids = max(sum(len(part.ids) for part in parts if isinstance(part, TemplateToken)) for parts in templates)
        copies, more = min(copies * times, _MANY), min(more * times + ids, _MANY)
    return copies, more


_MANY = 1 << 40  # beyond any limit
