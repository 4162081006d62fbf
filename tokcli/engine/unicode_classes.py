"""Classes of characters that Hugging Face's tokenizers knows by other tables than its patterns, and its lower case.

The facts stand in unicode_hf.py; here they become character classes of Python's `re`, made when first needed.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from functools import lru_cache
from typing import Literal

from tokcli.engine.pattern import class_members, parse_ranges

Class = Literal[
    "MARK", "BERT_MARK", "BERT_CONTROL", "PUNCTUATION", "NUMERIC", "INERT", "WORD", "SPACE", "EXTEND", "PREPEND"
]

# White_Space, which no release of Unicode changes any more
SPACE = "\t-\r \x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000"
SPACES = f"\t\n\v\f\r \x85\xa0\u1680{''.join(map(chr, range(0x2000, 0x200B)))}\u2028\u2029\u202f\u205f\u3000"
CHINESE = (
    "\u4e00-\u9fff\u3400-\u4dbf\uf900-\ufaff\U00020000-\U0002a6df\U0002a700-\U0002b73f\U0002b740-\U0002b81f"
    "\U0002b920-\U0002ceaf\U0002f800-\U0002fa1f"  # 2B920 for 2B820: so the library has it
)


@lru_cache(maxsize=16)
def members(name: Class) -> str:
    """The inside of a character class."""
    if name == "SPACE":
        return SPACE
    from tokcli.engine import unicode_hf

    return class_members(tuple(parse_ranges(getattr(unicode_hf, name))))


@lru_cache(maxsize=16)
def one(name: Class) -> re.Pattern[str]:
    """Finds a character of a class."""
    return re.compile(f"[{members(name)}]")


@lru_cache(maxsize=16)
def run(name: Class) -> re.Pattern[str]:
    """Finds a run of characters of a class."""
    return re.compile(f"[{members(name)}]+")


# GCB=Control, CR and LF: where a cluster ends and begins (Unicode, UAX 29)
_CONTROL = (
    r"\0-\x1f\x7f-\x9f\xad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff0-\ufffb"
    r"\U00013430-\U0001343f\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e001f"
    r"\U000e0080-\U000e00ff\U000e01f0-\U000e0fff"
)


@lru_cache(maxsize=1)
def clusters() -> re.Pattern[str]:
    """Finds grapheme clusters, but syllables of Hangul, flags and emoji as their characters: these are long anyway."""
    extend, prepend = members("EXTEND"), members("PREPEND")
    core = f"[^{_CONTROL}]"
    return re.compile(f"\r\n|[{_CONTROL}]|(?:[{prepend}]*(?![{prepend}]){core}|[{prepend}]+)[{extend}]*")


@lru_cache(maxsize=1)
def _newer_lower() -> dict[str, str]:
    from tokcli.engine import unicode_hf

    pairs = (item.split(":") for item in unicode_hf.LOWER.split())
    return {chr(int(c, 16)): "".join(chr(int(x, 16)) for x in low.split("+")) for c, low in pairs}


@lru_cache(maxsize=1)
def _lower_differs() -> re.Pattern[str]:
    return re.compile(f"[\u03a3{''.join(_newer_lower())}]")


def lower(text: str) -> str:
    """Each character in lower case by itself: no final sigma, and by the newest table whatever Python is running.

    >>> lower("ΟΔΟΣ")
    'οδοσ'
    """
    if text.isascii():
        return text.lower()
    if not _lower_differs().search(text):
        return text.lower()
    return "".join(map(lower_character, text))


def lower_character(char: str) -> str:
    """One character in lower case, which may be two."""
    return _newer_lower().get(char) or char.lower()


@lru_cache(maxsize=1)
def _scripts() -> tuple[list[int], list[int], list[int]]:
    from tokcli.engine import unicode_hf

    rows = [(*parse_ranges(r)[0], int(n)) for r, n in (item.split(":") for item in unicode_hf.SCRIPTS.split())]
    return [first for first, _, _ in rows], [last for _, last, _ in rows], [number for _, _, number in rows]


def script(char: str) -> int | None:
    """The number of a character's script, as the pre-tokenizer UnicodeScripts tells them apart; None goes with any."""
    firsts, lasts, numbers = _scripts()
    at = bisect_right(firsts, ord(char)) - 1
    return numbers[at] if at >= 0 and ord(char) <= lasts[at] else None
