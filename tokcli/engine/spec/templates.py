"""The templates of a `TokenizerSpec`: which ids go around those of a text, or of a pair of texts."""

from __future__ import annotations

from typing import NamedTuple


class Around(NamedTuple):
    """Puts ids `before` a text and `after` it.

    Of a pair, these are before the first text and after the second; `first_after` and then `second_before` are between
    them. With `types`, the second text and the ids beside it have the type 1; else all have 0.
    """

    before: tuple[int, ...] = ()
    after: tuple[int, ...] = ()
    first_after: tuple[int, ...] = ()
    second_before: tuple[int, ...] = ()
    types: bool = False
