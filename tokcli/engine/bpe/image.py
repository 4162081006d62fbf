"""Builds the image of a vocabulary: one block of bytes, with its tokens and merges in hash tables, for native code.

Native code maps an image into memory and checks it (native/bpe/vocabulary.h). Keeping images is the registry's task.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Mapping
from itertools import chain

from tokcli.engine import backend

UNNAMED = bytes(32)  # in place of the sha256 of a source, in an image that is not kept


def image_of(
    ranks: Mapping[bytes, int],
    merges: Iterable[tuple[int, int, int]] | None = None,
    *,
    drops_missing: bool = False,
) -> bytes:
    """Return the native image of a vocabulary; ValueError where there is no native backend, or an id does not fit.

    `merges` are (left, right, made); if they are not given, they are found from the ranks. `drops_missing`: bytes that
    are not tokens get no id; else encoding them is a KeyError.
    """
    native = backend.native()
    if native is None:
        raise ValueError("there is no native backend")
    try:
        sizes, ids = array("I", map(len, ranks)), array("I", ranks.values())
        pairs = None if merges is None else array("I", chain.from_iterable(merges))
    except OverflowError:
        raise ValueError("an id is too large for an image") from None
    image: bytes = native.build_image(b"".join(ranks), sizes, ids, UNNAMED, pairs, drops_missing)
    return image
