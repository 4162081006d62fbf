"""The normal forms NFC, NFD, NFKC and NFKD by Unicode 12.0, as Hugging Face's tokenizers makes them, with alignment.

Python's unicodedata does the work; characters that it knows and Unicode 12.0 does not are kept out of it. (A character
without decomposition and combining class separates the text before it from the text after it.) Alignments are used by
pipeline/aligned.py.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from functools import lru_cache
from itertools import groupby
from typing import Literal

from tokcli.engine.unicode import tables_hf
from tokcli.engine.unicode.properties import unicode16_ranges
from tokcli.engine.unicode.ranges import Ranges, boundaries, class_members, contains, merged, parse_ranges

Form = Literal["NFC", "NFD", "NFKC", "NFKD"]
Change = tuple[str, int]  # a character, and 0: it replaces one, 1: it is added, -n: it replaces one and the next n
# Characters that may combine with the one before them (Unicode's NFC_Quick_Check=Maybe): the second halves of
# canonical compositions, and the vowels and last consonants of Hangul.
_JOINS = (
    "300-304 306-30C 30F 311 313-314 31B 323-328 32D-32E 330-331 338 342 345 653-655 93C 9BE 9D7 B3E B56-B57 BBE BD7 "
    "C56 CC2 CD5-CD6 D3E D57 DCA DCF DDF 102E 1161-1175 11A8-11C2 1B35 3099-309A 110BA 11127 1133E 11357 114B0 114BA "
    "114BD 115AF 11930"
)
_UNICODE, _TABLES = int(unicodedata.unidata_version.partition(".")[0]), 16  # releases: of Python, and of the tables
_SHORT = 64  # characters: in a text of up to so many, looking up each is faster than finding those that differ


@lru_cache(maxsize=1)
def joining_marks() -> frozenset[str]:
    """Return the characters that may join with one before them."""
    return frozenset(chr(point) for first, last in parse_ranges(_JOINS) for point in range(first, last + 1))


@lru_cache(maxsize=1)
def _later_ranges() -> Ranges:
    """Return the characters that were assigned after Unicode 12.0."""
    return merged(parse_ranges(tables_hf.INERT))


@lru_cache(maxsize=1)
def inert_ranges() -> Ranges:
    """Return the characters that Unicode 12.0 never changes: those assigned later, and those not assigned yet."""
    return merged((*_later_ranges(), *(unicode16_ranges("Cn") or ())))


@lru_cache(maxsize=1)
def inert() -> re.Pattern[str]:
    """Return a pattern for runs of characters that Unicode 12.0 never changes; compiling it takes some milliseconds."""
    return re.compile(f"([{class_members(inert_ranges())}]+)")


def _has_inert(text: str) -> bool:
    # a search takes a microsecond for each character, and finding out which ones there are a fiftieth of that
    return any(map(_is_inert, set(text) if len(text) > _SHORT else text))


@lru_cache(maxsize=1 << 13)
def _is_inert(char: str) -> bool:
    # what Python knows to be assigned is so in 16.0: then the ranges of all that is not, 5 ms, are not needed
    is_assigned = _UNICODE <= _TABLES and unicodedata.category(char) != "Cn"
    return contains(boundaries(_later_ranges() if is_assigned else inert_ranges()), char)


def normalize(form: Form, text: str) -> str:
    """Return a text in a normal form.

    >>> normalize("NFC", "e\\u0301")
    'é'
    """
    if text.isascii() or unicodedata.is_normalized(form, text):
        return text
    if not _has_inert(text):
        return _normalized(form, text)
    return "".join(part if at % 2 else _normalized(form, part) for at, part in enumerate(inert().split(text)))


@lru_cache(maxsize=2)
def _marks(at_least: int) -> re.Pattern[str]:
    """Return a pattern for runs of so many characters that are marks, or that NFKD makes marks."""
    return re.compile(rf"[{class_members(unicode16_ranges('M') or ())}\uFF9E\uFF9F]{{{at_least},}}")


def _normalized(form: Form, text: str) -> str:
    """Return what unicodedata makes of a text, in linear time. It sorts marks by insertion: a megabyte takes hours."""
    # of a run of 128 marks, eight in a row are among every sixteenth character: a search of a sixteenth of the text
    if len(text) > _SHORT and _marks(8).search(text[::16]):
        text = _marks(_SHORT).sub(lambda run: _in_order("NFD" if form in ("NFC", "NFD") else "NFKD", run[0]), text)
    return unicodedata.normalize(form, text)


def _in_order(form: Literal["NFD", "NFKD"], run: str) -> str:
    """Return a run of marks decomposed, and those between two characters of class 0 sorted by their classes."""
    run = run.translate({ord(char): unicodedata.normalize(form, char) for char in set(run)})
    parts = groupby(run, key=lambda char: unicodedata.combining(char) > 0)
    return "".join(char for _, part in parts for char in sorted(part, key=unicodedata.combining))


def marks(form: Form, chars: str) -> list[int | None]:
    """Return the combining class of each character; None where a form may change it or join it to the one before.

    A text is in the form if no class is None, and no class except 0 is lower than the one before it.
    """
    found: list[int | None] = [*map(unicodedata.combining, chars)]
    joining = joining_marks() if form in ("NFC", "NFKC") else frozenset()
    if not any(found) and unicodedata.is_normalized(form, chars) and joining.isdisjoint(chars):
        return found  # as for most texts
    for at, char in enumerate(chars):
        if char in joining or not unicodedata.is_normalized(form, char):
            found[at] = None
    return [0 if value != 0 and _is_inert(char) else value for value, char in zip(found, chars, strict=True)]


def changes(form: Form, text: str) -> list[Change] | None:
    """Return the characters of a text's normal form, each with what it replaces; None where nothing changes.

    This follows the crate unicode-normalization-alignments, which counts composed characters in its own way.
    """
    if text.isascii() or unicodedata.is_normalized(form, text):
        return None
    decomposed = list(_decomposed("NFD" if form in ("NFC", "NFD") else "NFKD", text))
    return decomposed if form in ("NFD", "NFKD") else list(_recomposed(decomposed))


def _class(char: str) -> int:
    combining = unicodedata.combining(char)
    return 0 if combining and inert().match(char) else combining


def _decomposed(form: Literal["NFD", "NFKD"], text: str) -> Iterator[Change]:
    marks: list[tuple[int, Change]] = []  # those between two characters of class 0, to be sorted
    for char in text:
        parts = char if inert().match(char) else unicodedata.normalize(form, char)
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
    return both if len(both) == 1 and not inert().match(both) else None


def _recomposed(decomposed: list[Change]) -> Iterator[Change]:
    starter: Change | None = None
    marks: list[Change] = []  # after the starter, and not composed with it
    last = 0  # the class of the last mark
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
