"""The post-processors of a tokenizer.json, which add special tokens to texts, and trim spaces from offsets."""

from __future__ import annotations

from copy import copy
from typing import Literal, NamedTuple, Protocol

from tokcli.engine.tokens import Tokens, added, joined, trimmed_spans


class PostProcessor(Protocol):
    """A callable that changes one text or a pair of texts, and adds special tokens if `add` is true."""

    def __call__(self, texts: list[Tokens], add: bool, /) -> list[Tokens]: ...


class ProcessorSequence(NamedTuple):
    """Applies post-processors one after the other."""

    processors: tuple[PostProcessor, ...]

    def __call__(self, texts: list[Tokens], add: bool) -> list[Tokens]:
        for processor in self.processors:
            texts = processor(texts, add)
        return texts


class TemplateToken(NamedTuple):
    """A special token of a template, which may have several ids."""

    ids: tuple[int, ...]
    texts: tuple[str, ...]
    type_id: int


class TemplateText(NamedTuple):
    """The first text (0) or the second one (1) in a template."""

    number: Literal[0, 1]
    type_id: int


class Template(NamedTuple):
    """Puts special tokens and texts in the order of a template: one for a single text, another for a pair."""

    single: tuple[TemplateToken | TemplateText, ...]
    pair: tuple[TemplateToken | TemplateText, ...]

    def __call__(self, texts: list[Tokens], add: bool) -> list[Tokens]:
        out = []
        for part in self.single if len(texts) == 1 else self.pair:
            if isinstance(part, TemplateToken):
                if add:
                    out.append(added(part.ids, part.type_id))
            elif part.number < len(texts):
                tokens = copy(texts[part.number])  # a template may have the same text twice, with different types
                tokens.set_type(part.type_id)
                out.append(tokens)
        return out


class TrimOffsets(NamedTuple):
    """Trims the spaces at the ends of a token from its offsets (ByteLevel)."""

    add_prefix_space: bool

    def __call__(self, texts: list[Tokens], add: bool) -> list[Tokens]:
        del add
        for tokens in texts:
            if tokens.spans is not None and tokens.blanks is not None:
                keeps_first = self.add_prefix_space and tokens.begins
                tokens.spans = trimmed_spans(tokens.spans, tokens.blanks, keeps_first=keeps_first)
        return texts


class Roberta(NamedTuple):
    """Makes `<s> A </s>` or `<s> A </s> </s> B </s>`, all of one type."""

    sep: tuple[str, int]
    cls: tuple[str, int]
    trim: TrimOffsets | None

    def __call__(self, texts: list[Tokens], add: bool) -> list[Tokens]:
        if self.trim is not None:
            texts = self.trim(texts, add)
        out = []
        for number, tokens in enumerate(texts):
            tokens.set_type(0)
            first = self.sep if number else self.cls
            out.append(_enclosed(first, tokens, self.sep, 0) if add else tokens)
        return out


class BertProcessing(NamedTuple):
    """Makes `[CLS] A [SEP]` or `[CLS] A [SEP] B [SEP]`."""

    sep: tuple[str, int]
    cls: tuple[str, int]

    def __call__(self, texts: list[Tokens], add: bool) -> list[Tokens]:
        if not add:
            return texts
        return [_enclosed(None if n else self.cls, tokens, self.sep, int(n > 0)) for n, tokens in enumerate(texts)]


def _enclosed(first: tuple[str, int] | None, tokens: Tokens, last: tuple[str, int], type_id: int) -> Tokens:
    tokens.special = [0] * len(tokens.ids)  # tokens that an earlier processor added are no longer special
    parts = [tokens, added([last[1]], type_id)]
    if first is not None:
        parts.insert(0, added([first[1]], type_id))
    return joined(parts)


def trims(processor: PostProcessor | None) -> bool:
    """Return whether a post-processor trims offsets."""
    if isinstance(processor, ProcessorSequence):
        return any(map(trims, processor.processors))
    return isinstance(processor, TrimOffsets) or (isinstance(processor, Roberta) and processor.trim is not None)


def copies(processor: PostProcessor | None) -> int:
    """Return how often a post-processor takes a single text."""
    return 1 if processor is None else len(joined(processor([Tokens([0])], False)).ids)


def growth(processor: PostProcessor) -> tuple[int, int]:
    """Return the most that a post-processor makes of any text: the number of its copies, and of the ids added."""
    copies, more = 1, 4  # of Roberta and BertProcessing: a token before each of two texts and after it
    if isinstance(processor, Template):
        templates = processor.single, processor.pair
        numbers = [[part.number for part in parts if isinstance(part, TemplateText)] for parts in templates]
        copies = max(1, *(found.count(number) for found in numbers for number in (0, 1)))
        more = max(sum(len(part.ids) for part in parts if isinstance(part, TemplateToken)) for parts in templates)
    elif isinstance(processor, ProcessorSequence):
        copies, more = 1, 0
        for times, ids in map(growth, processor.processors):
            copies, more = min(copies * times, _MANY), min(more * times + ids, _MANY)
    return copies, more


_MANY = 1 << 40  # beyond any limit
