"""The steps by which a `TokenizerSpec` adds special tokens to texts, and trims spaces from offsets."""

from __future__ import annotations

from typing import Literal, NamedTuple, TypeAlias


class TemplateToken(NamedTuple):
    """A special token of a template, which may have several ids."""

    ids: tuple[int, ...]
    type_id: int


class TemplateText(NamedTuple):
    """The first text (0) or the second one (1) in a template."""

    number: Literal[0, 1]
    type_id: int


class Template(NamedTuple):
    """Puts special tokens and texts in the order of a template: one for a single text, another for a pair."""

    single: tuple[TemplateToken | TemplateText, ...]
    pair: tuple[TemplateToken | TemplateText, ...]


class TrimOffsets(NamedTuple):
    """Trims the spaces at the ends of a token from its offsets (ByteLevel)."""

    add_prefix_space: bool


class Around(NamedTuple):
    """Puts ids `before` a text and `after` it.

    Of a pair, these are before the first text and after the second; `first_after` and then `second_before` are between
    them. With `types`, the second text and the ids beside it have the type 1; else all have 0.
    """

    before: tuple[int, ...] = ()
    after: tuple[int, ...] = ()
    first_after: tuple[int, ...] = ()
    second_before: tuple[int, ...] = ()
    types: bool = False


PostProcessor: TypeAlias = Template | TrimOffsets | Around
