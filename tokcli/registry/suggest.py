"""Suggestions for names that are nearly right."""

from __future__ import annotations

from collections.abc import Iterable

_LONGEST = 100  # characters that are compared; no name is longer, and the comparison is quadratic


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """The end of an error message: the known names that are nearest, or nothing.

    >>> did_you_mean("o200k", ["o200k_base", "gpt2"])
    "; did you mean 'o200k_base'?"
    """
    from difflib import get_close_matches  # imported only when something is wrong already

    near = get_close_matches(name[:_LONGEST], list(known), n=3, cutoff=0.6)
    return f"; did you mean {' or '.join(map(repr, near))}?" if near else ""
