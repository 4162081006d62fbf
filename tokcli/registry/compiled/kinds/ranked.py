"""Containers of vocabularies that native code merges by ranks: files of ranks, and tokenizers with a shortcut."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import chain
from typing import TYPE_CHECKING, Any

from tokcli.engine.shortcut.shortcut import Shortcut
from tokcli.engine.tiktoken.native_encoder import is_intact
from tokcli.registry.compiled.compiled_tokenizer import FACT_CHECKS, CompiledTokenizer, TokenizerFacts, facts_of
from tokcli.registry.compiled.container import (
    IMAGE,
    Check,
    Container,
    ContainerKind,
    Origin,
    Packed,
    are_ids,
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


def are_ranges(value: Any) -> bool:
    """Return whether a value is a list of the first and the last code points of ranges, in order."""
    return are_ids(value) and len(value) % 2 == 0 and value == sorted(value)


SHORTCUT_CHECKS: Mapping[str, Check] = {  # of the fields of a Shortcut that a header has
    "pat_str": is_text,
    "added": is_ids,
    "unsafe": are_ranges,
    "whole_only": are_texts,
    "form": optional(("NFC", "NFD", "NFKC", "NFKD").__contains__),
    "prefix_space": is_flag,
    "hides_tokens": is_flag,
    "row": are_texts,
    "max_rank": is_id,
}


EXACT = "exact"  # the section with the programs for unsafe text
_LISTS = ("whole_only", "row")  # fields that are tuples


def shortcut_header(shortcut: Shortcut) -> dict[str, Any]:
    """Return the members of a header for a shortcut."""
    fields = {name: getattr(shortcut, name) for name in SHORTCUT_CHECKS if name != "max_rank"}
    lists: dict[str, Any] = {name: list(fields[name]) for name in _LISTS}
    lists["unsafe"] = list(chain.from_iterable(shortcut.unsafe))
    return {**fields, **lists, "added": dict(shortcut.added), "max_rank": shortcut.max_id}


def opened_shortcut(container: Container, load_ranks: Callable[[], dict[bytes, int]]) -> Shortcut | None:
    """Return the shortcut in a container that fits SHORTCUT_CHECKS; None if its image is damaged."""
    image, exact = container.sections[IMAGE], container.sections[EXACT]
    if not is_intact(image):
        return None
    fields = {name: container.header[name] for name in SHORTCUT_CHECKS if name != "max_rank"}
    unsafe = fields["unsafe"]
    fields |= {name: tuple(fields[name]) for name in _LISTS}
    fields["unsafe"] = tuple(zip(unsafe[::2], unsafe[1::2], strict=True))
    return Shortcut(
        load_ranks=load_ranks,
        load_image=lambda: image,
        load_exact=lambda: exact,
        max_id=container.header["max_rank"],
        **fields,
    )


def pack_ranks(vocabulary: LazyRanks) -> Packed:
    """Return the header and the sections for ranks that were read; raise ValueError if there is no image of them."""
    header = {"kind": "ranks", "max_rank": vocabulary.max_rank, "pat_str": vocabulary.pat_str}
    return {**header, "special_tokens": dict(vocabulary.special_tokens)}, {IMAGE: bytes(vocabulary.load_image())}


def pack_shortcut(tokenizer: TextTokenizer, shortcut: Shortcut) -> Packed:
    """Return the header and the sections for a tokenizer with a shortcut; raise ValueError if that has no image."""
    image = shortcut.load_image()
    facts = facts_of(tokenizer, image)
    header = {**shortcut_header(shortcut), **facts.header(), **_told_by_added(facts, shortcut.added)}
    return {"kind": "tokenizer", **header}, {IMAGE: image, EXACT: bytes(shortcut.load_exact())}


def _told_by_added(facts: TokenizerFacts, added: Mapping[str, int]) -> dict[str, Any]:
    """Return the members of a header for special tokens and other bytes, as far as the added tokens do not tell them.

    DeepSeek's 818 added tokens, written three times, take longer to read than all else that a short run reads.
    """
    special, others = facts.special_tokens, facts.other_bytes or {}
    not_special = [text for text, number in added.items() if special.get(text) != number]
    if list(special.items()) != [pair for pair in added.items() if special.get(pair[0]) == pair[1]]:
        not_special = list(added)
    told = {number: text for text, number in added.items() if others.get(number) == _utf8(text)}
    rest = {number: data for number, data in others.items() if number not in told}
    return {
        "not_special": not_special or None,
        "special_tokens": dict(special) if len(not_special) == len(added) else {},
        "spelled": sorted(told) or None,
        "other_bytes": None if facts.other_bytes is None else {str(n): data.hex() for n, data in rest.items()},
    }


def _facts_in(header: Mapping[str, Any]) -> TokenizerFacts:
    """Return the facts in a header in which the added tokens tell some of them, as `_told_by_added` says."""
    facts, added, not_special = TokenizerFacts.from_header(header), header["added"], set(header["not_special"] or ())
    told = {text: number for text, number in added.items() if text not in not_special}
    facts.special_tokens = {**told, **facts.special_tokens}
    if facts.other_bytes is not None and header["spelled"]:
        texts = {number: text for text, number in added.items()}
        spelled = {number: _utf8(texts[number]) for number in header["spelled"]}
        facts.other_bytes = dict(sorted({**spelled, **facts.other_bytes}.items()))
    return facts


def _utf8(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def _open_ranks(container: Container, origin: Origin) -> LazyRanks | None:
    header, image = container.header, container.sections[IMAGE]
    if not is_intact(image):
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
    compiled = CompiledTokenizer(_facts_in(container.header), shortcut, origin.load)
    return compiled


def _some_texts(value: Any) -> bool:
    return are_texts(value) and len(value) > 0


def _some_ids(value: Any) -> bool:
    return are_ids(value) and len(value) > 0


RANKED_KINDS = {
    "ranks": ContainerKind(
        {"max_rank": is_id, "special_tokens": is_ids, "pat_str": optional(is_text)},
        frozenset({IMAGE}),
        _open_ranks,
    ),
    "tokenizer": ContainerKind(
        {**SHORTCUT_CHECKS, **FACT_CHECKS, "not_special": optional(_some_texts), "spelled": optional(_some_ids)},
        frozenset({IMAGE, EXACT}),
        _open_tokenizer,
    ),
}
