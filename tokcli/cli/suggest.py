"""Suggestions for names that are nearly right."""

from __future__ import annotations

from collections.abc import Iterable


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """The end of an error message: the known names that are nearest, or nothing.

    >>> did_you_mean("cont", ["count", "split"])
    "; did you mean 'count'?"
    """
    from difflib import get_close_matches

    near = get_close_matches(name, list(known), n=3, cutoff=0.6)
    if not near:
        return ""
    return "; did you mean " + ", ".join(map(repr, near[:-1])) + " or " * (len(near) > 1) + repr(near[-1]) + "?"
