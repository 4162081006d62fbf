"""Keeps text that is written from right to left in its place among other tokens, even if a terminal reorders lines."""

from __future__ import annotations

import re

from tokcli.render import glyphs
from tokcli.render.visible import BOUNDARY

_NOT_ASCII = re.compile(r"[^\x00-\x7f]")
_ISOLATE, _POP = "\u2068", "\u2069"  # FSI and PDI of UAX #9; `visible` replaces those in the data


def isolated(line: str) -> str:
    """Return a line of tokens with marks so that they keep their places on any terminal, whatever their direction."""
    if line.isascii():
        return line
    return BOUNDARY.join(map(isolated_text, line.split(BOUNDARY)))


def is_rtl(text: str) -> bool:
    """Return whether any character of a text is written from right to left.

    >>> is_rtl("abc"), is_rtl("שלום")
    (False, True)
    """
    return any(map(glyphs.is_rtl, _NOT_ASCII.findall(text)))


def isolated_text(text: str) -> str:
    """Return a text with marks that keep it in its place if any of it is written from right to left, else unchanged."""
    return f"{_ISOLATE}{text}{_POP}" if is_rtl(text) else text
