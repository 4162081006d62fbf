"""Character classes and lower case as Hugging Face's tokenizers has them outside of patterns.

Its components use Unicode tables of several ages, which are in tables_hf.py; here they become character classes of
Python's `re`, made when they are first needed. Properties in patterns are left to properties.py.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from functools import lru_cache
from typing import Literal

from tokcli.engine.unicode import tables_16, tables_hf
from tokcli.engine.unicode.properties import unicode16_ranges
from tokcli.engine.unicode.ranges import (
    SPACE,
    Ranges,
    boundaries,
    class_members,
    contains,
    merged,
    minus,
    parse_ranges,
)

Class = Literal["MARK", "BERT_MARK", "BERT_CONTROL", "PUNCTUATION", "NUMERIC", "WORD", "SPACE", "EXTEND", "PREPEND"]

CHINESE = (
    "\u4e00-\u9fff\u3400-\u4dbf\uf900-\ufaff\U00020000-\U0002a6df\U0002a700-\U0002b73f\U0002b740-\U0002b81f"
    "\U0002b920-\U0002ceaf\U0002f800-\U0002fa1f"  # 2B920 for 2B820, as in the library
)


@lru_cache(maxsize=16)
def members(name: Class) -> str:
    """Return the inside of a character class, for a pattern of `re`."""
    return SPACE if name == "SPACE" else class_members(ranges_of(name))


@lru_cache(maxsize=16)
def ranges_of(name: Class) -> Ranges:
    """Return the code points of a class."""
    if name == "SPACE":
        return unicode16_ranges("White_Space") or ()
    properties, added, missing = tables_hf.CLASSES[name]
    nearest = merged(pair for part in properties.split() for pair in unicode16_ranges(part) or ())
    return merged((*minus(nearest, tuple(parse_ranges(missing))), *parse_ranges(added)))


def has(name: Class, char: str) -> bool:
    """Return whether a character is in a class. (The pattern of `one` says the same and takes milliseconds to make.)

    >>> has("MARK", "\u0301"), has("MARK", "a")
    (True, False)
    """
    return contains(boundaries(ranges_of(name)), char)


@lru_cache(maxsize=16)
def _ascii_out(name: Class) -> dict[int, None]:
    return {code: None for code in range(128) if has(name, chr(code))}


def without(name: Class, text: str) -> str:
    """Return a text without the characters of a class."""
    return text.translate(_ascii_out(name)) if text.isascii() else run(name).sub("", text)


@lru_cache(maxsize=16)
def one(name: Class) -> re.Pattern[str]:
    """Return a pattern that finds one character of a class."""
    return re.compile(f"[{members(name)}]")


@lru_cache(maxsize=16)
def run(name: Class) -> re.Pattern[str]:
    """Return a pattern that finds a run of characters of a class."""
    return re.compile(f"[{members(name)}]+")


# GCB=Control, CR and LF: before and after them a cluster ends (Unicode, UAX 29)
_CONTROL = (
    r"\0-\x1f\x7f-\x9f\xad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff0-\ufffb"
    r"\U00013430-\U0001343f\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e001f"
    r"\U000e0080-\U000e00ff\U000e01f0-\U000e0fff"
)


@lru_cache(maxsize=1)
def clusters() -> re.Pattern[str]:
    """Return a pattern that finds grapheme clusters; syllables of Hangul, flags and emoji match as single characters.

    Such clusters are too long to be looked up whole anyway.
    """
    extend, prepend = members("EXTEND"), members("PREPEND")
    core = f"[^{_CONTROL}]"
    return re.compile(f"\r\n|[{_CONTROL}]|(?:[{prepend}]*(?![{prepend}]){core}|[{prepend}]+)[{extend}]*")


@lru_cache(maxsize=1)
def _newer_lower() -> dict[str, str]:
    rows = [
        (*parse_ranges(run)[0], int(low, 16)) for run, _, low in (i.partition(":") for i in tables_hf.LOWER.split())
    ]
    return {chr(code): chr(code - first + low) for first, last, low in rows for code in range(first, last + 1)}


@lru_cache(maxsize=1)
def _lower_differs() -> re.Pattern[str]:
    return re.compile(f"[\u03a3{''.join(_newer_lower())}]")


def lower(text: str) -> str:
    """Return a text with each character in lower case by itself: no final sigma, and one table for every Python.

    >>> lower("ΟΔΟΣ")
    'οδοσ'
    """
    if text.isascii():
        return text.lower()
    if not _lower_differs().search(text):
        return text.lower()
    return "".join(map(lower_character, text))


def lower_character(char: str) -> str:
    """Return one character in lower case, which may be two characters."""
    return _newer_lower().get(char) or char.lower()


@lru_cache(maxsize=1)
def _scripts() -> tuple[list[int], list[tuple[int, str]]]:
    """Return the first code points of runs of one script, and (last, script) of each run."""
    moved = [(parse_ranges(item)[0], name) for item, _, name in (i.partition(":") for i in tables_hf.SCRIPTS.split())]
    elsewhere = merged(pair for pair, _ in moved)
    rows = [(first, last, name) for (first, last), name in moved if name]
    for name, text in tables_16.SCRIPTS.items():
        joint = "Han" if name in ("Hiragana", "Katakana") else name
        rows += ((first, last, joint) for first, last in minus(tuple(parse_ranges(text)), elsewhere))
    rows.sort()
    return [first for first, _, _ in rows], [(last, name) for _, last, name in rows]


def script(char: str) -> str | None:
    """Return the script of a character for the pre-tokenizer UnicodeScripts; None for one that joins any script."""
    firsts, runs = _scripts()
    at = bisect_right(firsts, ord(char)) - 1
    return runs[at][1] if at >= 0 and ord(char) <= runs[at][0] else None
