"""Containers of tokenizer.json files that have no shortcut, and the tokenizers that they become again.

The components beside the model are kept as they are in the file. They are read (pipeline_components.py) only when text
is decoded, or (of byte-level models) added tokens are looked for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

from tokcli.engine.bindings.rank_settings import RankSettings, use_ranks
from tokcli.engine.native_models.text_model import NativeText, opened_model
from tokcli.registry.compiled.compiled_tokenizer import FACT_CHECKS, CompiledWithTwin, TokenizerFacts
from tokcli.registry.compiled.container import (
    IMAGE,
    Check,
    Container,
    ContainerKind,
    Family,
    Origin,
    are_ids,
    are_texts,
    fits,
    is_flag,
    optional,
)
from tokcli.registry.compiled.kinds.ranked import are_ranges
from tokcli.registry.compiled.token_columns import ADDED_FLAGS, TokenColumns

if TYPE_CHECKING:
    from types import ModuleType

    from tokcli.engine.pipeline.added_tokens import AddedToken
    from tokcli.engine.stream.decoding import ByteDecoder
    from tokcli.registry.compiled.kinds.pipeline_components import PipelineComponents

_SPECIAL = 1 << ADDED_FLAGS.index("special")


def _names_in(header: Mapping[str, Any], places: str) -> list[tuple[str, bool]]:
    """Return the text of the added tokens at some places of the header's lists, and whether each is special."""
    return [(header["added_texts"][at], bool(header["added_flags"][at] & _SPECIAL)) for at in header[places]]


class CompiledPipeline(CompiledWithTwin):
    """A compiled pipeline whose native twin encodes whole texts.

    Its container has all its components but the model, and the texts of its tokens.
    """

    def __init__(self, container: Container, origin: Origin) -> None:
        self._header, sections = container.header, container.sections
        if len({len(self._header[f"added_{name}"]) for name in ("texts", "ids", "flags")}) > 1:
            raise ValueError("lists of added tokens that differ in length")
        self._name, self._json = origin.name, sections["components"]
        self._texts = _TokenTexts(TokenColumns(sections["tokens"]), lambda: self._added, self._normalized)
        super().__init__(TokenizerFacts.from_header(self._header), _twin_in(container), origin.load)

    @cached_property
    def _added(self) -> list[AddedToken]:
        tokens: list[AddedToken] = _reader().added_tokens(self._header)
        return tokens

    @cached_property
    def _components(self) -> PipelineComponents:
        components: PipelineComponents = _reader().PipelineComponents(
            bytes(self._json), self._name, self._added, lambda: self.whole
        )
        return components

    def _normalized(self, text: str) -> str:
        return self._components.without_model.normalized(text)

    def decode(self, ids: Sequence[int]) -> bytes:
        return self._components.decoded(ids, self._texts) if self.native_tokens is None else super().decode(ids)

    def decode_stream(self) -> ByteDecoder | None:
        found: ByteDecoder = self._components.decode_stream(self._texts)
        return None if self.decodes_context_free else found


def _twin_in(container: Container) -> NativeText:
    """Return the native twin in a container; ValueError where something in it does not fit."""
    header, sections = container.header, container.sections
    raw, normalized = _names_in(header, "raw"), _names_in(header, "normalized")
    ranks = header["ranks"]
    if ranks is None:
        twin = NativeText(opened_model(sections[IMAGE]), raw, normalized)
    else:
        twin = NativeText(opened_model(sections["stages"]), raw, normalized, vocabulary_image=sections[IMAGE])
        if not use_ranks(twin.model, RankSettings(sections[IMAGE], **_ranks_in(ranks))):
            raise ValueError("ranks or patterns that native code does not take")
    twin.encode("", frozenset())  # ValueError: the image was made for other added tokens
    return twin


class _TokenTexts(Mapping[int, str]):
    """The text of each id: that of its added token, normalized if the token says so, or else the model's."""

    def __init__(
        self, columns: TokenColumns, added: Callable[[], list[AddedToken]], normalized: Callable[[str], str]
    ) -> None:
        self._columns, self._tokens, self._normalized = columns, added, normalized

    @cached_property
    def _added(self) -> dict[int, AddedToken]:
        return {token.id: token for token in self._tokens()}

    def __getitem__(self, number: int) -> str:
        token = self._added.get(number)
        if token is not None:
            return self._normalized(token.content) if token.decodes_normalized else token.content
        if not 0 <= number < self._columns.count or not self._columns.kinds[number]:
            raise KeyError(number)
        return self._columns.text(number)

    def __iter__(self) -> Iterator[int]:
        there = {number for number, is_token in enumerate(self._columns.kinds) if is_token}
        return iter(sorted(there | self._added.keys()))

    def __len__(self) -> int:
        return sum(1 for _ in self)


def _reader() -> ModuleType:
    from tokcli.registry.compiled.kinds import pipeline_components  # 15 ms, for the format's reader

    return pipeline_components


_RANKS: Mapping[str, Check] = {
    "patterns": lambda value: are_texts(value) and len(value) > 0,
    "are_in_row": is_flag,
    "exact": are_texts,
    "exceptions": are_ranges,
    "puts_space": is_flag,
}


def _ranks_in(header: Mapping[str, Any]) -> dict[str, Any]:
    return {**header, "patterns": tuple(header["patterns"]), "exact": tuple(header["exact"])}


# of ranks, the image is theirs, and the other stages have a section of their own, which is else empty
_SECTIONS = frozenset({IMAGE, "stages", "tokens", "components"})
_HEADER: Mapping[str, Check] = {
    **FACT_CHECKS,
    "added_texts": are_texts,
    "added_ids": are_ids,
    "added_flags": are_ids,  # a bit for each of ADDED_FLAGS
    "raw": are_ids,
    "normalized": are_ids,
    "ranks": optional(lambda value: type(value) is dict and fits(value, _RANKS)),  # RankSettings without the image
}
FAMILY = Family(
    lambda pipeline: _reader().pack(pipeline),
    {
        "pipeline": ContainerKind(_HEADER, _SECTIONS, CompiledPipeline),
    },
)
