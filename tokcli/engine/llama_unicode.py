"""Characters as llama.cpp sees them: Unicode 15.1, and for its patterns one stand-in for each class of characters.

std::regex knows no Unicode; llama.cpp matches on text in which every character that is not ASCII was replaced by a
stand-in for its class, and so do we, for its patterns mean what they mean there (unicode.cpp, unicode_regex_split).
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from functools import lru_cache

from tokcli.engine.pattern import Ranges, class_members, merged, minus, parse_ranges
from tokcli.engine.unicode_classes import SPACE, lower_character

NUMBER, LETTER, PUNCTUATION, MARK, SYMBOL, OTHER, HAN = "\xd1", "\xd2", "\xd3", "\xd4", "\xd5", "\xd0", "\xd6"
WHITE = "\x0b"
_STAND_INS = {"N": NUMBER, "L": LETTER, "P": PUNCTUATION, "M": MARK, "S": SYMBOL}
# What a class is in such text: its stand-in, and its ASCII.
_CLASSES = {
    "N": NUMBER + "0-9",
    "L": LETTER + "A-Za-z",
    "P": PUNCTUATION + r"!-#%-*,-/:-;?-@\[-\]_{}",
    "M": MARK,
    "S": SYMBOL + r"$+<->\^`|~",
}
_CLASS = re.compile(r"\\p\{(L|N|P|M|S|Lu|Ll|Lt|Lm|Lo)\}|(\\.)|([\[\]])", re.DOTALL)
# as llama.cpp has it: all the ideographs, but none of the radicals
_HAN = re.compile(
    "[\u4e00-\u9fff\u3400-\u4dbf\U00020000-\U0002a6df\U0002a700-\U0002ebef\uf900-\ufaff\U0002f800-\U0002fa1f]"
)
_WHITE = re.compile(f"[{SPACE}]")


@lru_cache(maxsize=64)
def class_of(kinds: str) -> re.Pattern[str]:
    """Finds a character whose general category begins with one of some letters, such as "LN"; C is without Cn."""
    from tokcli.engine import unicode16, unicode_versions

    older = unicode_versions.CATEGORIES_15_1
    moved = merged(r for ranges in older.values() for r in parse_ranges(ranges))
    ranges: list[tuple[int, int]] = []
    for name, text in unicode16.CATEGORIES.items():
        if name[0] in kinds and name != "Cn":
            ranges += minus(tuple(parse_ranges(text)), moved) + tuple(parse_ranges(older.get(name, "")))
    return re.compile(f"[{class_members(merged(ranges))}]")


@lru_cache(maxsize=1)
def changed_ranges() -> Ranges:
    """The characters that 15.1 and 16.0 put in different categories."""
    from tokcli.engine import unicode_versions

    return merged(r for ranges in unicode_versions.CATEGORIES_15_1.values() for r in parse_ranges(ranges))


@lru_cache(maxsize=1 << 14)
def _stand_in(code: int) -> str:
    char = chr(code)
    if _WHITE.match(char):
        return WHITE
    return next((stand for kind, stand in _STAND_INS.items() if class_of(kind).match(char)), OTHER)


class _Collapse(dict[int, str]):
    """What `str.translate` asks: ASCII stays."""

    def __init__(self, *, with_han: bool) -> None:
        super().__init__({code: chr(code) for code in range(128)})
        self._with_han = with_han

    def __missing__(self, code: int) -> str:  # at most one entry for each character there is
        is_han = self._with_han and _HAN.match(chr(code))
        self[code] = HAN if is_han else _stand_in(code)
        return self[code]


_COLLAPSE, _COLLAPSE_HAN = _Collapse(with_han=False), _Collapse(with_han=True)


def collapsed(text: str, *, with_han: bool = False) -> str:
    """The text with a stand-in for each character that is not ASCII."""
    return text if text.isascii() else text.translate(_COLLAPSE_HAN if with_han else _COLLAPSE)


def collapsed_with_han(text: str) -> str:
    """The same, ideographs with a stand-in of their own."""
    return collapsed(text, with_han=True)


def white_collapsed(text: str) -> str:
    """The text with a stand-in for white space that is not ASCII: what patterns without classes see."""
    return text if text.isascii() else re.sub(r"[^\0-\x7f]", lambda m: WHITE if _WHITE.match(m[0]) else m[0], text)


def has_classes(pattern: str) -> bool:
    """Whether a pattern names a class of Unicode."""
    return bool(re.search(r"\\p\{(?:L|N|P|M|S|Lu|Ll|Lt|Lm|Lo)\}", pattern))


def collapsed_pattern(pattern: str) -> str:
    """A pattern for text in which characters are collapsed; `Lu` and its like are letters of any kind."""
    inside = False

    def replaced(match: re.Match[str]) -> str:
        nonlocal inside
        if match[3]:
            inside = match[3] == "["
            return match[0]
        if match[2]:
            return match[0]
        members = _CLASSES[match[1][0]]
        return members if inside else f"[{members}]"

    return _CLASS.sub(replaced, pattern)


def is_assigned(char: str) -> bool:
    """Whether Unicode 15.1 knows a character (which a newer Python may know more about)."""
    return char.isascii() or bool(class_of("LMNPSZC").match(char))


@lru_cache(maxsize=1 << 14)
def lower(char: str) -> str:
    """The first character of the lower case."""
    return lower_character(char)[0] if is_assigned(char) else char


@lru_cache(maxsize=1 << 14)
def decomposed(char: str) -> str:
    """The first character of the canonical decomposition, which is all of it that llama.cpp takes."""
    return unicodedata.normalize("NFD", char)[0] if is_assigned(char) else char


def is_white(char: str) -> bool:
    """Whether a character is white space."""
    return bool(_WHITE.match(char))


def spans(pattern: re.Pattern[str], text: str) -> Iterator[tuple[int, int]]:
    """The matches in a text and what stands between them, none empty."""
    at = 0
    for match in pattern.finditer(text):
        begin, end = match.span()
        if begin > at:
            yield at, begin
        if end > begin:
            yield begin, end
        at = end
    if at < len(text):
        yield at, len(text)
