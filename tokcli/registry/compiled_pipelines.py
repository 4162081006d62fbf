"""What is kept in the cache of a tokenizer.json that has no shortcut, and how it becomes a tokenizer again.

The parts beside its model stand there as in the file, and are read when text is decoded, a character is met for the
first time, or (of byte-level ones) added tokens are looked for.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict
from functools import cached_property
from typing import TYPE_CHECKING, Any

from tokcli.engine import backend
from tokcli.engine.added_tokens import AddedToken
from tokcli.engine.compiled import Compiled, Facts, facts_of
from tokcli.engine.native_text import Learned, NativeText
from tokcli.engine.token_table import TokenTable
from tokcli.engine.token_table import pack as pack_table
from tokcli.registry.compiled import SHORTCUT, SHORTCUT_CHECKS, is_around
from tokcli.registry.compiled_texts import CompiledText, Kind, Packed, Source, native_model
from tokcli.registry.containers import (
    IMAGE,
    Check,
    Container,
    are_ids,
    are_texts,
    is_flag,
    is_id,
    is_ids,
    is_text,
    optional,
)

if TYPE_CHECKING:
    from tokcli.engine.pipeline import Pipeline, Tokenizer
    from tokcli.engine.shortcut import Shortcut
    from tokcli.formats.json_node import Node

_SPREAD = 4  # a table by id is kept where at most so many times the tokens are ids
_TOKEN_FLAGS = ("single_word", "lstrip", "rstrip", "normalized", "special")  # in the order of AddedToken
_SPECIAL = 1 << _TOKEN_FLAGS.index("special")


def pack_pipeline(pipeline: Pipeline) -> Packed | None:
    """The header and the sections of a pipeline; None where neither a native twin nor native ranks do its work."""
    texts = pipeline.model.texts()
    size = max(texts, default=-1) + 1
    if pipeline.parts is None or size > _SPREAD * len(texts) + (1 << 16):
        return None
    made = _text_parts(pipeline) or _segment_parts(pipeline)
    if made is None:
        return None
    header, image = made
    facts = asdict(facts_of(pipeline, {}))
    del facts["others"]
    added = pipeline.added
    header |= {
        **facts,
        "added_texts": [t.content for t in added],
        "added_ids": [t.id for t in added],
        "added_flags": [sum(getattr(t, flag) << at for at, flag in enumerate(_TOKEN_FLAGS)) for t in added],
    }
    rows = [texts.get(number, "") for number in range(size)]
    sections = {
        IMAGE: image,
        "table": pack_table(rows, [0.0] * size, [number in texts for number in range(size)]),
        "parts": json.dumps(pipeline.parts).encode(),
    }
    return header, sections


def _text_parts(pipeline: Pipeline) -> tuple[dict[str, Any], bytes] | None:
    from tokcli.engine.native_models import added_texts

    if pipeline.native is None:
        return None
    numbers = {id(token): at for at, token in enumerate(pipeline.added)}
    raw, normalized = ([numbers[id(token)] for token in found.values()] for found in added_texts(pipeline))
    return {"kind": "pipeline", "raw": raw, "normalized": normalized}, pipeline.native.image()


def _segment_parts(pipeline: Pipeline) -> tuple[dict[str, Any], bytes] | None:
    shortcut = pipeline.segment_shortcut
    if shortcut is None or pipeline.needs_start:
        return None
    header = {name: getattr(shortcut, name) for name in SHORTCUT} | {"max_rank": shortcut.max_id}
    return {"kind": "segments", **header}, bytes(shortcut.load_image())


class _WithParts(Compiled):
    """A pipeline of which all but the model is at hand, and the texts of its tokens."""

    def _keep_parts(self, container: Container, source: Source) -> None:
        header, sections = container
        self._name, self._columns = source.name, [header[f"added_{column}"] for column in ("texts", "ids", "flags")]
        self._parts = sections["parts"]
        self._texts = _Texts(TokenTable(sections["table"]), lambda: self._added, self._normalized)

    @cached_property
    def _added(self) -> list[AddedToken]:
        return [
            AddedToken(text, number, *(bool(bits >> at & 1) for at in range(len(_TOKEN_FLAGS))))
            for text, number, bits in zip(*self._columns, strict=True)
        ]

    @cached_property
    def _node(self) -> Node:
        from tokcli.formats.json_node import Node

        try:
            parts = json.loads(bytes(self._parts))
        except ValueError:
            parts = self.whole.parts  # type: ignore[attr-defined]
        return Node(parts, self._name)

    @cached_property
    def _without_model(self) -> Pipeline:
        from tokcli.engine.models import WordLevel
        from tokcli.formats.huggingface import read_parts

        return read_parts(self._node, WordLevel({}, ""), self._added)

    def _normalized(self, text: str) -> str:
        return self._without_model._normalized(text)

    def decode(self, ids: Sequence[int]) -> bytes:
        """The bytes of some ids; UnknownTokenError."""
        from tokcli.engine.detokenizer import decoded
        from tokcli.formats.huggingface_decoders import decoder_of

        return decoded(ids, self._texts, decoder_of(self._node))


class CompiledPipeline(_WithParts, CompiledText):
    """One with a native twin."""

    def __init__(self, container: Container, source: Source, facts: Facts) -> None:
        self._keep_parts(container, source)
        texts, _, flags = self._columns
        names = ("raw", "normalized")
        raw, normalized = ([(texts[at], bool(flags[at] & _SPECIAL)) for at in container.header[n]] for n in names)
        native = NativeText(native_model(container), source.learner(container, self._learn), raw, normalized)
        CompiledText.__init__(self, facts, native, source.load)

    @cached_property
    def _learner(self) -> Callable[[list[int], list[int], list[bytes]], Learned]:
        from tokcli.engine.native_models import learner_of

        return learner_of(self._without_model)

    def _learn(self, chars: list[int], unclassed: list[int], runs: list[bytes]) -> Learned:
        return self._learner(chars, unclassed, runs)


class CompiledSegments(_WithParts):
    """A byte-level one: what stands between added tokens is split and merged by a pattern and native ranks."""

    def __init__(self, container: Container, source: Source, facts: Facts, shortcut: Shortcut) -> None:
        self._keep_parts(container, source)
        super().__init__(facts, None, source.load)
        self._segment_shortcut = shortcut

    @cached_property
    def _pipeline(self) -> Pipeline:
        pipeline = self._without_model
        vars(pipeline)["segment_shortcut"] = self._segment_shortcut
        return pipeline

    def encode(self, text: str, allowed: frozenset[str]) -> list[int]:
        """The ids of a text."""
        found = self._pipeline.encode_segments(text, allowed)
        return self.whole.encode(text, allowed) if found is None else found


class _Texts(Mapping[int, str]):
    """The text of each id: of an added token, and else of the model's."""

    def __init__(
        self, table: TokenTable, added: Callable[[], list[AddedToken]], normalized: Callable[[str], str]
    ) -> None:
        self._table, self._tokens, self._normalized = table, added, normalized

    @cached_property
    def _added(self) -> dict[int, AddedToken]:
        return {token.id: token for token in self._tokens()}

    def __getitem__(self, number: int) -> str:
        token = self._added.get(number)
        if token is not None:
            return self._normalized(token.content) if token.normalized else token.content
        if not 0 <= number < self._table.count or not self._table.kinds[number]:
            raise KeyError(number)
        return self._table.text(number)

    def __iter__(self) -> Iterator[int]:
        there = {number for number, kind in enumerate(self._table.kinds) if kind}
        return iter(sorted(there | self._added.keys()))

    def __len__(self) -> int:
        return sum(1 for _ in self)


def _facts_in(header: Mapping[str, Any]) -> Facts:
    return Facts(**{key: header[key] for key in _FACTS}, others=None)


def _open_pipeline(container: Container, source: Source) -> Tokenizer:
    return CompiledPipeline(container, source, _facts_in(container.header))


def _open_segments(container: Container, source: Source) -> Tokenizer | None:
    from tokcli.engine.shortcut import Shortcut

    header, image = container.header, container.sections[IMAGE]
    native = backend.native()
    if native is None or not native.Vocabulary(image).verify():
        return None

    def load_ranks() -> dict[bytes, int]:
        shortcut = made.whole.segment_shortcut  # type: ignore[attr-defined]
        return {} if shortcut is None else dict(shortcut.load_ranks())

    fields = {name: header[name] for name in SHORTCUT}
    shortcut = Shortcut(load_ranks=load_ranks, load_image=lambda: image, max_id=header["max_rank"], **fields)
    made = CompiledSegments(container, source, _facts_in(header), shortcut)
    return made


_FACTS: Mapping[str, Check] = {
    "special_tokens": is_ids,
    "max_id": is_id,
    "is_byte_level": is_flag,
    "has_template": is_flag,
    "decodes_apart": is_flag,
    "drops_space": is_flag,
    "cleans_spaces": is_flag,
    "around": optional(is_around),
}
_COMMON: Mapping[str, Check] = {
    "kind": is_text,
    "sha256": is_text,
    **_FACTS,
    "added_texts": are_texts,
    "added_ids": are_ids,
    "added_flags": are_ids,
}
KINDS = {
    "pipeline": Kind({**_COMMON, "raw": are_ids, "normalized": are_ids}, {IMAGE, "table", "parts"}, _open_pipeline),
    "segments": Kind({**_COMMON, **SHORTCUT_CHECKS, "max_rank": is_id}, {IMAGE, "table", "parts"}, _open_segments),
}
