"""Containers of tokenizer.json files that have no shortcut, and the tokenizers that they become again.

The components beside the model are kept as they are in the file. They are read (pipeline_components.py) only when text
is decoded, or (of byte-level models) added tokens are looked for.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeVar

from tokcli.engine.bindings.text_model import NativeText
from tokcli.engine.text_tokenizer import plain_text
from tokcli.registry.compiled.compiled_tokenizer import FACT_CHECKS, CompiledTokenizer, CompiledWithTwin, TokenizerFacts
from tokcli.registry.compiled.container import (
    IMAGE,
    Check,
    Container,
    ContainerKind,
    Family,
    Origin,
    are_ids,
    are_texts,
    native_model,
)
from tokcli.registry.compiled.kinds.ranked import SHORTCUT_CHECKS, opened_shortcut
from tokcli.registry.compiled.token_columns import ADDED_FLAGS, TokenColumns

if TYPE_CHECKING:
    from types import ModuleType

    from tokcli.engine.pipeline.added_tokens import AddedToken
    from tokcli.engine.pipeline.pipeline import Pipeline
    from tokcli.engine.shortcut.shortcut import Shortcut
    from tokcli.engine.stream.decoding import ByteDecoder
    from tokcli.engine.text_tokenizer import TextTokenizer
    from tokcli.engine.tokens import Tokens
    from tokcli.engine.twins import RecordEncoder, TextOrUtf8
    from tokcli.registry.compiled.kinds.pipeline_components import PipelineComponents

Found = TypeVar("Found")

_LONG = 1 << 14  # characters: below, a finder of many added tokens takes longer to make than it saves
_SPECIAL = 1 << ADDED_FLAGS.index("special")


def _names_in(header: Mapping[str, Any], places: str) -> list[tuple[str, bool]]:
    """Return the text of the added tokens at some places of the header's lists, and whether each is special."""
    return [(header["added_texts"][at], bool(header["added_flags"][at] & _SPECIAL)) for at in header[places]]


class _WithComponents(CompiledTokenizer):
    """A pipeline whose container has all its components but the model, and the texts of its tokens."""

    def _set_components(self, container: Container, origin: Origin) -> None:
        self._header, sections = container.header, container.sections
        if len({len(self._header[f"added_{name}"]) for name in ("texts", "ids", "flags")}) > 1:
            raise ValueError("lists of added tokens that differ in length")
        self._name, self._json = origin.name, sections["components"]
        self._texts = _TokenTexts(TokenColumns(sections["tokens"]), lambda: self._added, self._normalized)

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
        return self._components.decoded(ids, self._texts)

    def decode_stream(self) -> ByteDecoder | None:
        found: ByteDecoder = self._components.decode_stream(self._texts)
        return None if self.decodes_context_free else found


class CompiledPipeline(_WithComponents, CompiledWithTwin):
    """A compiled pipeline whose native twin encodes whole texts."""

    def __init__(self, container: Container, origin: Origin) -> None:
        self._set_components(container, origin)
        header = container.header
        raw, normalized = _names_in(header, "raw"), _names_in(header, "normalized")
        native = NativeText(native_model(container), raw, normalized)
        native.encode("", frozenset())  # ValueError: the image was made for other added tokens
        CompiledWithTwin.__init__(self, TokenizerFacts.from_header(header), native, origin.load)


class CompiledSegments(_WithComponents):
    """A compiled byte-level pipeline: text between added tokens is split and merged by a pattern and native ranks."""

    def __init__(self, container: Container, origin: Origin, shortcut: Shortcut) -> None:
        self._set_components(container, origin)
        super().__init__(TokenizerFacts.from_header(container.header), None, origin.load)
        self._segment_shortcut = shortcut

    @cached_property
    def _pipeline(self) -> Pipeline:
        return self._components.with_shortcut(self._segment_shortcut)

    def encode(self, text: str, allowed: frozenset[str]) -> list[int]:
        found = self._pipeline.encode_segments(text, allowed)
        return self.whole.encode(text, allowed) if found is None else found.tolist()

    def encode_array(self, text: TextOrUtf8, allowed: frozenset[str]) -> memoryview:
        at_once = self._at_once(plain := plain_text(text), allowed, lambda native, *text: native.encode_records(*text))
        found = self._pipeline.encode_segments(plain, allowed) if at_once is None else at_once[0]
        return self.whole.encode_array(plain, allowed) if found is None else found

    def count(self, text: TextOrUtf8, allowed: frozenset[str]) -> int:
        at_once = self._at_once(plain := plain_text(text), allowed, lambda native, *text: native.count_records(*text))
        found = self._pipeline.count_segments(plain, allowed) if at_once is None else at_once[0]
        return self.whole.count(plain, allowed) if found is None else found

    def _at_once(
        self, text: str, allowed: frozenset[str], ask: Callable[[RecordEncoder, bytes, array[int], int], Found | None]
    ) -> Found | None:
        """Return what native code gives for a long text, which is one record; None where segments go one by one."""
        if len(text) < _LONG:
            return None
        data = text.encode()
        native = self._pipeline.for_records(data, allowed)
        return None if native is None else ask(native, data, array("Q", [len(data)]), 0)

    def for_records(self, data: bytes, allowed: frozenset[str]) -> RecordEncoder | None:
        return self._pipeline.for_records(data, allowed)

    def encode_spans(self, text: str, allowed: frozenset[str]) -> Tokens:
        found = self._pipeline.place_segments(text, allowed)
        return self.whole.encode_spans(text, allowed) if found is None else found


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


def _open_segments(container: Container, origin: Origin) -> TextTokenizer | None:
    def load_ranks() -> dict[bytes, int]:
        read: Any = compiled.whole  # a Pipeline
        return {} if read.segment_shortcut is None else dict(read.segment_shortcut.load_ranks())

    shortcut = opened_shortcut(container, load_ranks)
    if shortcut is None:
        return None
    compiled = CompiledSegments(container, origin, shortcut)
    return compiled


def _reader() -> ModuleType:
    from tokcli.registry.compiled.kinds import pipeline_components  # 15 ms, for the format's reader

    return pipeline_components


_COMMON: Mapping[str, Check] = {
    **FACT_CHECKS,
    "added_texts": are_texts,
    "added_ids": are_ids,
    "added_flags": are_ids,  # a bit for each of ADDED_FLAGS
}
_SECTIONS = frozenset({IMAGE, "tokens", "components"})
FAMILY = Family(
    lambda pipeline: _reader().pack(pipeline),
    {
        "pipeline": ContainerKind({**_COMMON, "raw": are_ids, "normalized": are_ids}, _SECTIONS, CompiledPipeline),
        "segments": ContainerKind({**_COMMON, **SHORTCUT_CHECKS}, _SECTIONS, _open_segments),
    },
)
