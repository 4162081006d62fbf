"""NFC, NFD, NFKC and NFKD as Hugging Face's tokenizers makes them: by Unicode 12.0, and telling what became of what.

Python's unicodedata does the work; characters that it knows and the older table does not are kept out of it. (A
character without decomposition and combining class separates what stands before and behind it.)
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from functools import lru_cache
from typing import Literal

from tokcli.engine.pattern import class_members, parse_ranges

Form = Literal["NFC", "NFD", "NFKC", "NFKD"]
Change = tuple[str, int]  # a character; 0: in place of one, 1: added, -n: in place of one and the n behind it


@lru_cache(maxsize=1)
def _inert() -> re.Pattern[str]:
    """Finds what Unicode 12.0 does not know to be more than itself: its class is all that was assigned later, and all
    that a later Python may know."""
    from tokcli.engine import unicode16, unicode_hf

    ranges = parse_ranges(unicode_hf.INERT) + parse_ranges(unicode16.CATEGORIES["Cn"])
    return re.compile(f"([{class_members(tuple(ranges))}]+)")


def normalize(form: Form, text: str) -> str:
    """The text in a form.

    >>> normalize("NFC", "e\\u0301")
    'é'
    """
    if text.isascii() or unicodedata.is_normalized(form, text):
        return text
    if not _inert().search(text):
        return unicodedata.normalize(form, text)
    return "".join(
        part if at % 2 else unicodedata.normalize(form, part) for at, part in enumerate(_inert().split(text))
    )


def changes(form: Form, text: str) -> list[Change] | None:
    """What each character of the form came from (see aligned.py); None where nothing changes.

    This follows the crate unicode-normalization-alignments, whose accounting of composed characters is its own.
    """
    if text.isascii() or unicodedata.is_normalized(form, text):
        return None
    decomposed = list(_decomposed("NFD" if form in ("NFC", "NFD") else "NFKD", text))
    return decomposed if form in ("NFD", "NFKD") else list(_recomposed(decomposed))


def _class(char: str) -> int:
    combining = unicodedata.combining(char)
    return 0 if combining and _inert().match(char) else combining


def _decomposed(form: Literal["NFD", "NFKD"], text: str) -> Iterator[Change]:
    marks: list[tuple[int, Change]] = []  # between two characters of class 0, to be sorted
    for char in text:
        parts = char if _inert().match(char) else unicodedata.normalize(form, char)
        for at, part in enumerate(parts):
            change = (part, int(at > 0))
            combining = _class(part)
            if combining:
                marks.append((combining, change))
                continue
            yield from _sorted(marks)
            marks = []
            yield change
    yield from _sorted(marks)


def _sorted(marks: list[tuple[int, Change]]) -> Iterator[Change]:
    return (change for _, change in sorted(marks, key=lambda mark: mark[0]))


def _composed(first: str, second: str) -> str | None:
    both = unicodedata.normalize("NFC", first + second)
    return both if len(both) == 1 and not _inert().match(both) else None


def _recomposed(decomposed: list[Change]) -> Iterator[Change]:
    starter: Change | None = None
    marks: list[Change] = []  # behind the starter, that it did not take
    last = 0  # the class of the last of them
    for char, change in decomposed:
        combining = _class(char)
        if starter is None:
            if combining:
                yield char, change
            else:
                starter = char, change
            continue
        if not marks or last < combining:
            both = _composed(starter[0], char)
            if both is not None:
                starter = both, starter[1] + change - 1
                continue
        if combining == 0:
            yield starter
            yield from marks
            starter, marks, last = (char, change), [], 0
            continue
        marks.append((char, change))
        last = combining
    if starter is not None:
        yield starter
        yield from marks
