"""A line as it is being typed in a shell, taken apart into words without quotes; and quotes around what is added."""

from __future__ import annotations

import re
from typing import NamedTuple

_PLAIN = re.compile(r"[\w@%+=:,./~-]+", re.ASCII)  # needs no quotes in any shell
_SPECIAL = '"\\$`'  # what a backslash escapes in double quotes


class Word(NamedTuple):
    """A word without its quotes; the sign of a redirection before it, or ""; the quote that it leaves open, or ""."""

    value: str
    follows: str = ""
    quote: str = ""


def words_of(line: str) -> list[Word]:
    r"""Return the words of a line up to the cursor, the last of which is being typed: empty after a space.

    >>> [word.value for word in words_of("tokcli count -e my\\ file 'a b")]
    ['tokcli', 'count', '-e', 'my file', 'a b']
    >>> [(word.value, word.follows) for word in words_of("tokcli 2> log ")], words_of("tokcli 'a b")[-1].quote
    ([('tokcli', ''), ('log', '>'), ('', '')], "'")
    """
    words: list[Word] = []
    value: str | None = None  # of the word at hand
    quote = sign = ""
    characters = iter(line)
    for here in characters:
        if not quote and here in " \t\n":
            if value is not None:
                words.append(Word(value, sign))
                value, sign = None, ""
        elif not quote and here in "<>&|":
            if value is not None and not value.isdecimal():
                words.append(Word(value, sign))
                sign = ""
            value, sign = None, sign or here
        elif here == "\\" and quote != "'":
            escaped = next(characters, "")
            value = (value or "") + ("" if not quote or escaped in _SPECIAL else here) + escaped
        elif here == quote or (not quote and here in "'\""):
            quote, value = "" if quote else here, value or ""
        else:
            value = (value or "") + here
    return [*words, Word(value or "", sign, quote)]


def quoted(text: str, quote: str) -> str:
    """Return a text as a POSIX shell takes it inside these quotes, or outside of any.

    >>> quoted("<|end|>", ""), quoted("<|end|>", "'"), quoted("o200k_base", "")
    ("'<|end|>'", '<|end|>', 'o200k_base')
    """
    if quote == '"':
        return re.sub(r'(["\\$`])', r"\\\1", text)
    inside = text.replace("'", "'\\''")
    return text if not quote and _PLAIN.fullmatch(text) else inside if quote else f"'{inside}'"
