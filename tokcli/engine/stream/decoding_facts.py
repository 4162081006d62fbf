"""How ids decode, as a family says it: the bytes of each id, and what becomes of them when they are joined."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from tokcli.engine.spec.image import DecodingSpec


class DecodingFacts(NamedTuple):
    """The bytes of each id, as `bytes_of` gives them, and what becomes of them when they are joined (`spec`).

    `ids` are all ids; `unusual` are those whose bytes may differ from those of the ranks, such as added tokens. Where a
    tokenizer.json's decoder does all of it, the bytes are the UTF-8 of the texts of ids.
    """

    ids: Sequence[int]
    unusual: Sequence[int]
    bytes_of: Callable[[int], bytes]
    spec: DecodingSpec
