"""The models of a `TokenizerSpec`: how pieces of text become ids."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

BYTES = 256  # lower ids of numbered pairs are bytes


class Ranks(NamedTuple):
    """Merges bytes into the token of the lowest rank first; ranks are ids.

    `names_special` says whether the file names special tokens. `sha256` (hex) is that of the ranks as a .tiktoken
    file, by which published ones are known; "" for ranks of other formats.
    """

    mergeable_ranks: dict[bytes, int]
    names_special: bool = True
    sha256: str = ""


class NumberedPairs(NamedTuple):
    """Merges pairs of ids in the order of the list: pair n makes the id BYTES + n (minbpe)."""

    pairs: Sequence[tuple[int, int]]
