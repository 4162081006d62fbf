"""Opens the image of a vocabulary: ranks, or a tokenizer."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from tokcli.engine.spec.image import ImageSpec
from tokcli.engine.spec.json_form import of_json
from tokcli.engine.tiktoken.native_encoder import is_intact
from tokcli.registry.compiled.compiled_tokenizer import CompiledTokenizer, special_tokens_in
from tokcli.registry.lazy_ranks import LazyRanks

if TYPE_CHECKING:
    from tokcli.engine.text_tokenizer import TextTokenizer
    from tokcli.registry.compiled.container import Container


def opened(container: Container, sha256: str, name: str, load: Callable[[], Any]) -> LazyRanks | TextTokenizer | None:
    """Return the vocabulary in a container; None if it is not that of the files with this SHA-256, or damaged.

    `name` is what messages call the file, and `load` reads it again and returns what its reader does.
    """
    header, image = dict(container.header), container.sections.get("ranks")
    if header.pop("sha256", None) != sha256 or (image is not None and not is_intact(image)):
        return None
    try:
        spec: ImageSpec = of_json(ImageSpec, header)
        if not spec.is_ranks:
            return CompiledTokenizer(spec, container.sections, name, load)
        if spec.ranks is None or image is None:
            return None
        return LazyRanks(
            load_ranks=lambda: load().load_ranks(),
            load_image=lambda: image,
            max_rank=spec.ranks.max_rank,
            special_tokens=special_tokens_in(spec),
            pat_str=next(iter(spec.ranks.patterns), None),
        )
    except (ValueError, TypeError, KeyError, IndexError):
        return None
