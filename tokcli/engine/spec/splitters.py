"""The steps by which a `TokenizerSpec` cuts text into pieces, each of which the model sees by itself."""

from __future__ import annotations

from typing import NamedTuple


class PatStr(NamedTuple):
    """Cuts text into the matches of a pattern, which leave nothing of it out."""

    pattern: str
