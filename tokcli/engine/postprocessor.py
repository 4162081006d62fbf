"""The post-processors of a tokenizer.json: special tokens around texts, and offsets without the spaces in a token."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple, Protocol

from tokcli.engine.unicode_classes import SPACES

_SPACES = SPACES + "\u0120"  # the byte of a space


@dataclass
class Tokens:
    """Ids and what goes with each: its type, whether it was added by a template, and, where wanted, text and place."""

    ids: list[int]
    type_ids: list[int] = field(default_factory=list)
    special: list[int] = field(default_factory=list)
    texts: list[str] | None = None
    spans: list[tuple[int, int]] | None = None

    def __post_init__(self) -> None:
        self.type_ids = self.type_ids or [0] * len(self.ids)
        self.special = self.special or [0] * len(self.ids)


class PostProcessor(Protocol):
    """One or two texts to what they are together; `add`: with special tokens."""

    def __call__(self, texts: list[Tokens], add: bool, /) -> list[Tokens]: ...


def joined(parts: Sequence[Tokens]) -> Tokens:
    """Some tokens one after the other."""
    out = Tokens([])
    has_spans = all(part.spans is not None for part in parts)
    out.spans = [] if has_spans else None
    for part in parts:
        out.ids += part.ids
        out.type_ids += part.type_ids
        out.special += part.special
        if has_spans:
            out.spans += part.spans or []  # type: ignore[operator]
    return out


def added(ids: Sequence[int], texts: Sequence[str], type_id: int) -> Tokens:
    """Special tokens that stand nowhere in the text."""
    size = len(ids)
    return Tokens(list(ids), [type_id] * size, [1] * size, list(texts), [(0, 0)] * size)


class Sequenced(NamedTuple):
    """One after the other."""

    processors: tuple[PostProcessor, ...]

    def __call__(self, texts: list[Tokens], add: bool) -> list[Tokens]:
        for processor in self.processors:
            texts = processor(texts, add)
        return texts


class Special(NamedTuple):
    """A special token of a template."""

    ids: tuple[int, ...]
    texts: tuple[str, ...]
    type_id: int


class Text(NamedTuple):
    """A text (0 or 1) in a template."""

    number: Literal[0, 1]
    type_id: int


class Template(NamedTuple):
    """Special tokens and texts, in order, for one text and for two."""

    single: tuple[Special | Text, ...]
    pair: tuple[Special | Text, ...]

    def __call__(self, texts: list[Tokens], add: bool) -> list[Tokens]:
        out = []
        for part in self.single if len(texts) == 1 else self.pair:
            if isinstance(part, Special):
                if add:
                    out.append(added(part.ids, part.texts, part.type_id))
            elif part.number < len(texts):
                tokens = texts[part.number]
                tokens.type_ids = [part.type_id] * len(tokens.ids)
                out.append(tokens)
        return out


class TrimOffsets(NamedTuple):
    """Offsets that leave out the spaces at the ends of a token (ByteLevel)."""

    add_prefix_space: bool

    def __call__(self, texts: list[Tokens], add: bool) -> list[Tokens]:
        del add
        for tokens in texts:
            if tokens.spans is not None and tokens.texts is not None:
                tokens.spans = [
                    self._trimmed(at, text, span)
                    for at, (text, span) in enumerate(zip(tokens.texts, tokens.spans, strict=True))
                ]
        return texts

    def _trimmed(self, at: int, text: str, span: tuple[int, int]) -> tuple[int, int]:
        begin, end = span
        leading = len(text) - len(text.lstrip(_SPACES))
        trailing = len(text) - len(text.rstrip(_SPACES))
        if leading and not ((at == 0 or begin == 0) and self.add_prefix_space and leading == 1):
            begin = min(begin + leading, end)
        if trailing and end >= trailing:
            end = max(end - trailing, begin)
        return begin, end


class Roberta(NamedTuple):
    """`<s> A </s>` or `<s> A </s> </s> B </s>`, all of one type."""

    sep: tuple[str, int]
    cls: tuple[str, int]
    trim: TrimOffsets | None

    def __call__(self, texts: list[Tokens], add: bool) -> list[Tokens]:
        if self.trim is not None:
            texts = self.trim(texts, add)
        out = []
        for number, tokens in enumerate(texts):
            tokens.type_ids = [0] * len(tokens.ids)
            first = self.sep if number else self.cls
            out.append(_around(first, tokens, self.sep, 0) if add else tokens)
        return out


class BertProcessing(NamedTuple):
    """`[CLS] A [SEP]` or `[CLS] A [SEP] B [SEP]`."""

    sep: tuple[str, int]
    cls: tuple[str, int]

    def __call__(self, texts: list[Tokens], add: bool) -> list[Tokens]:
        if not add:
            return texts
        return [_around(None if n else self.cls, tokens, self.sep, int(n > 0)) for n, tokens in enumerate(texts)]


def _around(first: tuple[str, int] | None, tokens: Tokens, last: tuple[str, int], type_id: int) -> Tokens:
    tokens.special = [0] * len(tokens.ids)  # what a processor before has added counts no more
    parts = [tokens, added([last[1]], [last[0]], type_id)]
    if first is not None:
        parts.insert(0, added([first[1]], [first[0]], type_id))
    return joined(parts)
