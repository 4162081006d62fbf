"""NFC, NFD, NFKC and NFKD as Hugging Face's tokenizers makes them: by Unicode 12.0, and telling what became of what.

Python's unicodedata does the work; characters that it knows and the older table does not are kept out of it. (A
character without decomposition and combining class separates what stands before and behind it.)
"""

from __future__ import annotations

import re
import sys
import unicodedata
from bisect import bisect_right
from collections.abc import Iterator
from functools import lru_cache
from typing import Literal

from tokcli.engine.pattern import class_members, parse_ranges

Form = Literal["NFC", "NFD", "NFKC", "NFKD"]
Change = tuple[str, int]  # a character; 0: in place of one, 1: added, -n: in place of one and the n behind it
# What may become one with the character before it (Unicode's NFC_Quick_Check=Maybe): the second halves of canonical
# compositions, and the vowels and last consonants of Hangul.
_JOINS = (
    "300-304 306-30C 30F 311 313-314 31B 323-328 32D-32E 330-331 338 342 345 653-655 93C 9BE 9D7 B3E B56-B57 BBE BD7 "
    "C56 CC2 CD5-CD6 D3E D57 DCA DCF DDF 102E 1161-1175 11A8-11C2 1B35 3099-309A 110BA 11127 1133E 11357 114B0 114BA "
    "114BD 115AF 11930"
)
_SHORT = 64  # characters that are looked up one by one sooner than by a regex


@lru_cache(maxsize=1)
def _joining() -> frozenset[str]:
    return frozenset(chr(point) for first, last in parse_ranges(_JOINS) for point in range(first, last + 1))


@lru_cache(maxsize=1)
def _inert_ranges() -> list[tuple[int, int]]:
    """What is but itself to Unicode 12.0: all that was assigned later, and all that a later Python may know."""
    from tokcli.engine import unicode16, unicode_hf

    return sorted(parse_ranges(unicode_hf.INERT) + parse_ranges(unicode16.CATEGORIES["Cn"]))


@lru_cache(maxsize=1)
def _inert() -> re.Pattern[str]:
    """Finds that; made for texts, as compiling the class takes some milliseconds."""
    return re.compile(f"([{class_members(tuple(_inert_ranges()))}]+)")


def _has_inert(text: str) -> bool:
    if len(text) > _SHORT:
        return _inert().search(text) is not None
    return any(map(_is_inert, text))


def _is_inert(char: str) -> bool:
    at = bisect_right(_inert_ranges(), (ord(char), sys.maxunicode))
    return at > 0 and ord(char) <= _inert_ranges()[at - 1][1]


def normalize(form: Form, text: str) -> str:
    """The text in a form.

    >>> normalize("NFC", "e\\u0301")
    'é'
    """
    if text.isascii() or unicodedata.is_normalized(form, text):
        return text
    if not _has_inert(text):
        return unicodedata.normalize(form, text)
    return "".join(
        part if at % 2 else unicodedata.normalize(form, part) for at, part in enumerate(_inert().split(text))
    )


def marks(form: Form, chars: str) -> list[int | None]:
    """Of each character its combining class; None where a form may change it, or it may join what stands before it.

    Text is in a form where none is None, and no class but 0 is lower than the one before.
    """
    found: list[int | None] = [*map(unicodedata.combining, chars)]
    joining = _joining() if form in ("NFC", "NFKC") else frozenset()
    if not any(found) and unicodedata.is_normalized(form, chars) and joining.isdisjoint(chars):
        return found  # as most are
    for at, char in enumerate(chars):
        if char in joining or not unicodedata.is_normalized(form, char):
            found[at] = None
    return [0 if value != 0 and _is_inert(char) else value for value, char in zip(found, chars, strict=True)]


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
