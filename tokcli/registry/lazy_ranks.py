"""`LazyRanks`: what an encoding by ranks needs, without the ranks themselves until something asks for them.

Native code works on a compact image of the ranks; the dictionary of 200,000 tokens takes 30 times as long to make. The
images of the vocabularies that ship are built once, kept in the cache, and mapped afterwards. Where the cache cannot be
used, only time is lost: every run builds the image in memory.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from tokcli.engine import backend
from tokcli.engine.tiktoken.rank_vocabulary import RankVocabulary
from tokcli.engine.tokenizer import Tokenizer
from tokcli.registry.folders import map_file, private_dir

if TYPE_CHECKING:
    from types import ModuleType

    from typing_extensions import Buffer

IMAGES = "images"  # the folder in the cache folder


class LazyRanks:
    """A vocabulary of mergeable_ranks whose dictionary and native image are loaded when they are needed.

    `max_rank` is the largest rank or a larger number, `special_tokens` maps text to ids, and `pat_str` is None if the
    file of the ranks does not say how text is split.
    """

    def __init__(
        self,
        load_ranks: Callable[[], dict[bytes, int]],
        load_image: Callable[[], Buffer],
        max_rank: int,
        special_tokens: Mapping[str, int],
        pat_str: str | None,
    ) -> None:
        self.load_ranks, self.load_image = load_ranks, load_image
        self.max_rank, self.special_tokens, self.pat_str = max_rank, special_tokens, pat_str

    def tokenizer(self, name: str, pat_str: str) -> Tokenizer:
        """Return the tokenizer that splits text by `pat_str` and merges by these ranks; messages call it `name`."""
        ranks = RankVocabulary(
            name,
            pat_str=pat_str,
            special_tokens=self.special_tokens,
            max_rank=self.max_rank,
            load_ranks=self.load_ranks,
            load_image=self.load_image,
        )
        return Tokenizer(name, ranks)


def load_image(path: str, sha256: str) -> Buffer:
    """Return the native image of a packed vocabulary that was made from ranks with this SHA-256 (hex).

    VocabularyError says that the file is damaged or has other ranks, ValueError that there is no native backend.
    """
    native = backend.native()
    if native is None:
        raise ValueError("there is no native backend")
    source = bytes.fromhex(sha256)
    try:
        kept = os.path.join(private_dir(IMAGES), f"{source.hex()}.{native.IMAGE_VERSION}")
    except OSError:
        kept = ""
    if kept and (found := _kept_image(kept, source, native)) is not None:
        return found
    from tokcli.registry.images import build_image, build_once  # 2 ms, of the first run alone

    if not kept:
        return build_image(path, source, native)
    return build_once(
        kept, sha256, lambda: _kept_image(kept, source, native), lambda: build_image(path, source, native)
    )


def _kept_image(path: str, source: bytes, native: ModuleType) -> Buffer | None:
    """Return the image in a file of the cache if it is intact and made from this source; None otherwise."""
    image = map_file(path)
    if image is None:
        return None
    try:
        vocabulary = native.Vocabulary(image)
    except ValueError:
        return None
    return image if vocabulary.source() == source and vocabulary.verify() else None
