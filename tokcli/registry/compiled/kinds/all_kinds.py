"""The table of the kinds of containers: what packs a vocabulary into a container, and what opens one from the cache.

The modules of a family of tokenizers are loaded when one of its containers is met; those of ranks and shortcuts, the
most common kinds, are loaded from the start.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tokcli.registry.compiled.container import IMAGE, Container, Family, Origin, Packed
from tokcli.registry.compiled.kinds.ranked import RANKED_KINDS, pack_ranks, pack_shortcut
from tokcli.registry.lazy_ranks import LazyRanks

if TYPE_CHECKING:
    from tokcli.engine.text_tokenizer import TextTokenizer


def packed(vocabulary: LazyRanks | TextTokenizer) -> Packed | None:
    """Return the header and the sections for a vocabulary; return None or raise ValueError if nothing of it is kept."""
    if isinstance(vocabulary, LazyRanks):
        return pack_ranks(vocabulary)
    if vocabulary.shortcut is not None:
        return pack_shortcut(vocabulary, vocabulary.shortcut)
    family = _family(vocabulary.family)
    return None if family is None else family.pack(vocabulary)


def opened(container: Container, sha256: str, origin: Origin) -> LazyRanks | TextTokenizer | None:
    """Return the vocabulary in a container; None if the container is of another source, or damaged."""
    header = container.header
    if header.get("sha256") != sha256 or IMAGE not in container.sections:
        return None
    kind = str(header.get("kind"))
    family = _family(kind)
    kinds = RANKED_KINDS if family is None else family.kinds
    try:
        return kinds[kind].open(container, origin) if kind in kinds and kinds[kind].fits(container) else None
    except (ValueError, TypeError, KeyError, IndexError):
        return None


def _family(name: str) -> Family | None:
    """Return the `Family` that has a family of tokenizers, or a kind of container, of this name; None without one."""
    if name in ("tokenizer.json", "pipeline"):
        from tokcli.registry.compiled.kinds.pipelines import FAMILY as PIPELINES  # 6 ms

        return PIPELINES
    if name in ("SentencePiece", "XLM-RoBERTa", "sentencepiece"):
        from tokcli.registry.compiled.kinds.sentencepieces import FAMILY as SENTENCEPIECES  # 2 ms

        return SENTENCEPIECES
    if name == "llama.cpp":
        from tokcli.registry.compiled.kinds.llama_models import FAMILY as LLAMA_MODELS  # 9 ms

        return LLAMA_MODELS
    return None
