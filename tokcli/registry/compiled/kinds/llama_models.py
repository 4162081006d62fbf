"""Containers of the tokenizers of GGUF files that have no shortcut, and the tokenizers over their mapped tables."""

from __future__ import annotations

from typing import Any

from tokcli.engine.llama_cpp.llama_cpp import LlamaCpp
from tokcli.engine.llama_cpp.settings import FoundTokens, LlamaSettings
from tokcli.engine.native_models.text_model import NativeText, opened_model
from tokcli.registry.compiled.container import (
    IMAGE,
    Container,
    ContainerKind,
    Family,
    Origin,
    Packed,
    are_ids,
    are_texts,
    is_ids,
)
from tokcli.registry.compiled.token_columns import LazySequence, TokenColumns, pack_columns


def _pack(model: LlamaCpp) -> Packed | None:
    """Return the header and the sections for a tokenizer; None for BPE, and if its model has no native twin."""
    if model.kind == "gpt2" or model.native_model is None:
        return None
    settings = {name: sorted(v) if type(v) is frozenset else v for name, v in vars(model.settings).items()}
    del settings["charsmap"]
    header = {
        "kind": "llama.cpp",
        "model": model.kind,
        "settings": settings,
        "special_tokens": model.special_tokens,
        "found_texts": [text for text, _ in model.found_tokens.cut_out],
        "found_ids": [number for _, number in model.found_tokens.cut_out],
    }
    columns = pack_columns(model.texts, model.token_scores or [0.0] * len(model.texts), model.kinds)
    return header, {IMAGE: model.native_model.image(), "tokens": columns, "charsmap": model.settings.charsmap}


def _open(container: Container, origin: Origin) -> LlamaCpp:
    header, sections = container.header, container.sections
    columns = TokenColumns(sections["tokens"])
    given: dict[str, Any] = {key: frozenset(v) if type(v) is list else v for key, v in header["settings"].items()}
    settings = LlamaSettings(**given, charsmap=bytes(sections["charsmap"]))
    found = tuple(zip(header["found_texts"], header["found_ids"], strict=True))
    model = LlamaCpp(
        header["model"],
        LazySequence(columns.count, columns.text),
        LazySequence(columns.count, columns.scores.__getitem__),
        LazySequence(columns.count, columns.kinds.__getitem__),
        settings,
        name=origin.name,
        ready_tokens=FoundTokens(header["special_tokens"], found),
    )
    model.set_native_model(NativeText(opened_model(container.sections[IMAGE])))
    return model


_KINDS = {
    "llama.cpp": ContainerKind(
        {
            "model": ("llama", "bert", "t5", "rwkv").__contains__,
            "settings": lambda value: type(value) is dict,
            "special_tokens": is_ids,
            "found_texts": are_texts,
            "found_ids": are_ids,
        },
        frozenset({IMAGE, "tokens", "charsmap"}),
        _open,
    ),
}
FAMILY = Family(_pack, _KINDS)
