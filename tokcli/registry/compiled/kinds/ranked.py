"""Containers of vocabularies that native code merges by ranks: files of ranks, and tokenizers with a shortcut."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from tokcli.engine import backend
from tokcli.engine.shortcut.shortcut import Shortcut
from tokcli.registry.compiled.compiled_tokenizer import FACT_CHECKS, CompiledTokenizer, TokenizerFacts, facts_of
from tokcli.registry.compiled.container import (
    IMAGE,
    Check,
    Container,
    ContainerKind,
    Origin,
    Packed,
    are_texts,
    is_flag,
    is_id,
    is_ids,
    is_text,
    optional,
)
from tokcli.registry.lazy_ranks import LazyRanks

if TYPE_CHECKING:
    from collections.abc import Callable

    from tokcli.engine.text_tokenizer import TextTokenizer


def _is_pre_type(value: Any) -> bool:
    from tokcli.engine.llama_cpp.patterns import PRE_TYPES  # 2 ms, for GGUF files

    return value in PRE_TYPES


SHORTCUT_CHECKS: Mapping[str, Check] = {  # of the fields of a Shortcut that a header has
    "pat_str": is_text,
    "added": is_ids,
    "unsafe": is_text,
    "unsafe_is_ascii": is_flag,
    "unsafe_astral": is_text,
    "form": optional(("NFC", "NFD", "NFKC", "NFKD").__contains__),
    "prefix_space": is_flag,
    "row": are_texts,
    "cut": optional(_is_pre_type),
    "max_rank": is_id,
}


def shortcut_header(shortcut: Shortcut) -> dict[str, Any]:
    """Return the members of a header for a shortcut."""
    fields = {name: getattr(shortcut, name) for name in SHORTCUT_CHECKS if name != "max_rank"}
    return {**fields, "added": dict(shortcut.added), "row": list(shortcut.row), "max_rank": shortcut.max_id}


def opened_shortcut(container: Container, load_ranks: Callable[[], dict[bytes, int]]) -> Shortcut | None:
    """Return the shortcut in a container that fits SHORTCUT_CHECKS; None if its image is damaged."""
    native = backend.native()
    image = container.sections[IMAGE]
    if native is None or not native.Vocabulary(image).verify():
        return None
    fields = {name: container.header[name] for name in SHORTCUT_CHECKS if name != "max_rank"}
    fields["row"] = tuple(fields["row"])
    return Shortcut(load_ranks=load_ranks, load_image=lambda: image, max_id=container.header["max_rank"], **fields)


def pack_ranks(vocabulary: LazyRanks) -> Packed:
    """Return the header and the sections for ranks that were read; raise ValueError if there is no image of them."""
    header = {"kind": "ranks", "max_rank": vocabulary.max_rank, "pat_str": vocabulary.pat_str}
    return {**header, "special_tokens": dict(vocabulary.special_tokens)}, {IMAGE: bytes(vocabulary.load_image())}


def pack_shortcut(tokenizer: TextTokenizer, shortcut: Shortcut) -> Packed:
    """Return the header and the sections for a tokenizer with a shortcut; raise ValueError if that has no image."""
    image = shortcut.load_image()
    header = {**shortcut_header(shortcut), **facts_of(tokenizer, image).header()}
    return {"kind": "tokenizer", **header}, {IMAGE: image}


def _open_ranks(container: Container, origin: Origin) -> LazyRanks | None:
    native = backend.native()
    header, image = container.header, container.sections[IMAGE]
    if native is None or not native.Vocabulary(image).verify():
        return None
    return LazyRanks(
        load_ranks=lambda: origin.load().load_ranks(),
        load_image=lambda: image,
        max_rank=header["max_rank"],
        special_tokens=header["special_tokens"],
        pat_str=header["pat_str"],
    )


def _open_tokenizer(container: Container, origin: Origin) -> CompiledTokenizer | None:
    def load_ranks() -> dict[bytes, int]:
        read = compiled.whole.shortcut
        return {} if read is None else read.load_ranks()

    shortcut = opened_shortcut(container, load_ranks)
    if shortcut is None:
        return None
    compiled = CompiledTokenizer(TokenizerFacts.from_header(container.header), shortcut, origin.load)
    return compiled


RANKED_KINDS = {
    "ranks": ContainerKind(
        {"max_rank": is_id, "special_tokens": is_ids, "pat_str": optional(is_text)},
        frozenset({IMAGE}),
        _open_ranks,
    ),
    "tokenizer": ContainerKind({**SHORTCUT_CHECKS, **FACT_CHECKS}, frozenset({IMAGE}), _open_tokenizer),
}
