"""The components of a tokenizer.json beside its model: packs them into a container, and reads them from it."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any

from tokcli.engine.bindings.pipelines import added_texts, ranks_of
from tokcli.engine.pipeline.added_tokens import AddedToken
from tokcli.engine.pipeline.decode_steps import decode_stream
from tokcli.engine.pipeline.decoders import Decoder, decoded
from tokcli.engine.pipeline.models import WordLevel
from tokcli.engine.pipeline.pipeline import Pipeline
from tokcli.engine.stream.decoding import ByteDecoder
from tokcli.formats.huggingface.decoders import decoder_of
from tokcli.formats.huggingface.reader import read_components
from tokcli.formats.strict_json import JsonNode
from tokcli.registry.compiled.compiled_tokenizer import facts_of
from tokcli.registry.compiled.container import IMAGE, Packed
from tokcli.registry.compiled.token_columns import ADDED_FLAGS, pack_columns

_SPREAD = 4  # tokens are kept if the ids from 0 to the largest are at most so many times as many as the tokens
_RANKS = ("patterns", "are_in_row", "exact", "exceptions", "puts_space")  # of RankSettings
_SPREAD_OF_FEW = 1 << 16  # plus this number


class PipelineComponents:
    """The components in a container: `text` is their JSON, `name` the file's name, `whole` reads the whole file."""

    def __init__(self, text: bytes, name: str, added: Sequence[AddedToken], whole: Callable[[], Any]) -> None:
        self._text, self._name, self._added, self._whole = text, name, added, whole

    @cached_property
    def _node(self) -> JsonNode:
        try:
            components = json.loads(self._text)
        except ValueError:
            components = self._whole().parts
        return JsonNode(components, self._name)

    @cached_property
    def without_model(self) -> Pipeline:
        """The pipeline with a model that has no tokens."""
        return read_components(self._node, WordLevel({}, ""), self._added)

    @cached_property
    def _decoder(self) -> Decoder:
        return decoder_of(self._node)

    def decoded(self, ids: Sequence[int], texts: Mapping[int, str]) -> bytes:
        """Return the bytes of some ids, given the text of each; raise UnknownTokenError for an id without one."""
        return decoded(ids, texts, self._decoder)

    def decode_stream(self, texts: Mapping[int, str]) -> ByteDecoder:
        """Return a decoder of ids that come a few at a time, given the text of each."""
        return decode_stream(texts, self._decoder)


def added_tokens(header: Mapping[str, Any]) -> list[AddedToken]:
    """Return the added tokens in the lists of a container's header."""
    return [
        AddedToken(text, number, **{flag: bool(bits >> at & 1) for at, flag in enumerate(ADDED_FLAGS)})
        for text, number, bits in zip(header["added_texts"], header["added_ids"], header["added_flags"], strict=True)
    ]


def pack(pipeline: Pipeline) -> Packed | None:
    """Return the header and the sections for a pipeline; None if it has no native twin."""
    texts = pipeline.model.texts()
    size = max(texts, default=-1) + 1
    if pipeline.parts is None or size > _SPREAD * len(texts) + _SPREAD_OF_FEW:
        return None
    twin = pipeline.native
    if twin is None:
        return None
    ranks = ranks_of(pipeline) if pipeline.is_byte_level else None
    numbers = {id(token): at for at, token in enumerate(pipeline.added)}
    raw, normalized = ([numbers[id(token)] for token in found.values()] for found in added_texts(pipeline))
    image = twin.image() if ranks is None else bytes(ranks.image)
    header = {
        "kind": "pipeline",
        **facts_of(pipeline, None if ranks is None else image).header(),
        "added_texts": [t.content for t in pipeline.added],
        "added_ids": [t.id for t in pipeline.added],
        "added_flags": [sum(getattr(t, flag) << at for at, flag in enumerate(ADDED_FLAGS)) for t in pipeline.added],
        "raw": raw,
        "normalized": normalized,
        "ranks": None if ranks is None else {name: getattr(ranks, name) for name in _RANKS},
    }
    rows = [texts.get(number, "") for number in range(size)]
    sections = {
        IMAGE: image,
        "stages": b"" if ranks is None else twin.image(),
        "tokens": pack_columns(rows, [0.0] * size, [number in texts for number in range(size)]),
        "components": json.dumps(pipeline.parts).encode(),
    }
    return header, sections
