"""Excerpts of a text for all views of `split`: a text shortened, the text around a place, a character described."""

from __future__ import annotations

from rich.text import Text

from tokcli.analysis.pattern.character_sets import category
from tokcli.render.numbers import counted
from tokcli.render.visible import visible

CONTEXT = 24  # characters of the text that are shown on each side of a place
LONGEST = 40  # characters; a longer text is shortened


def shorten(text: str) -> str:
    """Return a text, with its middle left out if it is longer than LONGEST.

    >>> shorten("a" * 30 + "-" * 30)
    'aaaaaaaaaaaaaaaaaaaa…----------'
    """
    return text if len(text) <= LONGEST else f"{text[: LONGEST // 2]}…{text[-LONGEST // 4 :]}"


def quoted(text: str) -> str:
    """Return the visible form of a text in quotation marks, shortened."""
    return f"“{shorten(visible(text, spaces=True))}”"


def text_around(text: str, at: int, indent: str = "") -> Text:
    """Return the text on both sides of the character at index `at`, with a mark before it."""
    left, right = text[max(0, at - CONTEXT) : at], text[at : at + CONTEXT]
    line = Text(indent + "…" * (at > CONTEXT) + visible(left, spaces=True))
    line.append("▶", "bold")
    line.append(visible(right, spaces=True) + "…" * (len(text) > at + CONTEXT))
    return line


def describe_character(char: str) -> str:
    """Return the visible form of a character, its code point and its general category.

    >>> describe_character(" "), describe_character("é")
    ('· U+0020 Zs', 'é U+00E9 Ll')
    """
    shown = visible(char, spaces=True)
    code = f"U+{ord(char):04X}"
    return f"{shown} {code} {category(char)}" if code not in shown else f"{code} {category(char)}"


def size_of(text: str) -> str:
    """Return how long a text is, in characters, and in bytes if that differs.

    >>> size_of("a"), size_of("né")
    ('1 character', '2 characters (3 bytes)')
    """
    size = len(text.encode())
    return counted(len(text), "character") + (f" ({counted(size, 'byte')})" if size != len(text) else "")
