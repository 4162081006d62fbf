"""`AddedToken`: a token that is found in text before a model sees it, of any family."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple


class AddedToken(NamedTuple):
    """A token that is found in text before the model sees it, its id, and the rules by which it is found.

    With `single_word` it is not found beside a word character; with `lstrip` or `rstrip` it takes the white space on
    that side. A `normalized` one is found in normalized text; `was_normalized` says that the file has the same token
    before, normalized: it still decodes so. A `special` one is found only where it is allowed.
    """

    content: str
    id: int
    single_word: bool = False
    lstrip: bool = False
    rstrip: bool = False
    normalized: bool = False
    special: bool = False
    was_normalized: bool = False


def all_special(ids: Mapping[str, int]) -> tuple[AddedToken, ...]:
    """Return special tokens that are found wherever they are allowed, of their ids by text."""
    return tuple(AddedToken(text, id, special=True) for text, id in ids.items())
