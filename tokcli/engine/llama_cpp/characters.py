"""Characters as llama.cpp sees them: by Unicode 15.1, and replaced by their class before its patterns match.

std::regex knows no Unicode. llama.cpp therefore replaces every character that is not ASCII by a character for its
class, and matches on that text. Its patterns depend on it, so we do the same (unicode.cpp, unicode_regex_split).
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterator
from functools import lru_cache

from tokcli.engine.unicode.classes import lower_character
from tokcli.engine.unicode.ranges import SPACE, SPACES, Ranges, class_members, merged, minus, parse_ranges
from tokcli.engine.unicode.tables_16 import CATEGORIES
from tokcli.engine.unicode.tables_versions import CATEGORIES_15_1

NUMBER, LETTER, PUNCTUATION, MARK, SYMBOL, OTHER, HAN = "\xd1", "\xd2", "\xd3", "\xd4", "\xd5", "\xd0", "\xd6"
WHITE = "\x0b"
_CLASS_CHARS = {"N": NUMBER, "L": LETTER, "P": PUNCTUATION, "M": MARK, "S": SYMBOL}
# The members of each class in such text: the class's own character, and its ASCII characters.
_CLASSES = {
    "N": NUMBER + "0-9",
    "L": LETTER + "A-Za-z",
    "P": PUNCTUATION + r"!-#%-*,-/:-;?-@\[-\]_{}",
    "M": MARK,
    "S": SYMBOL + r"$+<->\^`|~",
}
_CLASS = re.compile(r"\\p\{(L|N|P|M|S|Lu|Ll|Lt|Lm|Lo)\}|(\\.)|([\[\]])", re.DOTALL)
# Han in llama.cpp: all ideographs, but no radicals.
_HAN_RANGES = merged([(0x4E00, 0x9FFF), (0x3400, 0x4DBF), (0x20000, 0x2A6DF), (0x2A700, 0x2EBEF), (0xF900, 0xFAFF),
                      (0x2F800, 0x2FA1F)])  # fmt: skip
_HAN = re.compile(f"[{class_members(_HAN_RANGES)}]")
_WHITE = re.compile(f"[{SPACE}]")
_NOT_ASCII: Ranges = ((0x80, 0x10FFFF),)


@lru_cache(maxsize=64)
def class_of(kinds: str) -> re.Pattern[str]:
    """Return a pattern that finds a character whose general category begins with a letter of `kinds`, such as "LN".

    C does not include Cn, the unassigned characters.
    """
    return re.compile(f"[{class_members(ranges_of(kinds))}]")


def ranges_of(kinds: str) -> Ranges:
    """Return the characters that `class_of` finds."""

    def of_kinds(categories: dict[str, str]) -> Ranges:
        wanted = (text for name, text in categories.items() if name[0] in kinds and name != "Cn")
        return merged(pair for text in wanted for pair in parse_ranges(text))

    return merged((*minus(of_kinds(CATEGORIES), changed_ranges()), *of_kinds(CATEGORIES_15_1)))


@lru_cache(maxsize=1)
def changed_ranges() -> Ranges:
    """Return the characters whose category differs between Unicode 15.1 and 16.0."""
    return merged(r for ranges in CATEGORIES_15_1.values() for r in parse_ranges(ranges))


@lru_cache(maxsize=1 << 14)
def _class_char(code: int) -> str:
    char = chr(code)
    if _WHITE.match(char):
        return WHITE
    return next((found for kind, found in _CLASS_CHARS.items() if class_of(kind).match(char)), OTHER)


class _Collapse(dict[int, str]):
    """A table for `str.translate` that replaces characters by their class, and keeps ASCII."""

    def __init__(self, *, with_han: bool) -> None:
        super().__init__({code: chr(code) for code in range(128)})
        self._with_han = with_han

    def __missing__(self, code: int) -> str:  # at most one entry for each character there is
        is_han = self._with_han and _HAN.match(chr(code))
        self[code] = HAN if is_han else _class_char(code)
        return self[code]


_COLLAPSE, _COLLAPSE_HAN = _Collapse(with_han=False), _Collapse(with_han=True)
Replaced = list[tuple[Ranges, str]]  # characters, and the one that replaces each of them


def collapsed(text: str) -> str:
    """Return a text in which the character of its class replaces each character that is not ASCII."""
    return text if text.isascii() else text.translate(_COLLAPSE)


def collapsed_with_han(text: str) -> str:
    """Return a text as `collapsed` does, but with a class of its own for Han."""
    return text if text.isascii() else text.translate(_COLLAPSE_HAN)


def white_collapsed(text: str) -> str:
    """Return a text as patterns without classes see it: one character replaces all white space that is not ASCII."""
    return text if text.isascii() else re.sub(r"[^\0-\x7f]", lambda m: WHITE if _WHITE.match(m[0]) else m[0], text)


def replaced_by(sees: Callable[[str], str]) -> Replaced:
    """Return which characters one of the three functions above replaces, and by what."""
    white = ((ord(char), ord(char)) for char in SPACES if not char.isascii())
    found: Replaced = [(merged(white), WHITE)]
    if sees is white_collapsed:
        return found
    if sees is collapsed_with_han:
        found.append((_HAN_RANGES, HAN))
    left = _NOT_ASCII
    for ranges, _ in found:
        left = minus(left, ranges)
    for kind, char in _CLASS_CHARS.items():
        others = minus(left, ranges_of(kind))
        found.append((minus(left, others), char))
        left = others
    return [*found, (left, OTHER)]


def has_classes(pattern: str) -> bool:
    """Return whether a pattern names a class of Unicode."""
    return bool(re.search(r"\\p\{(?:L|N|P|M|S|Lu|Ll|Lt|Lm|Lo)\}", pattern))


def collapsed_pattern(pattern: str) -> str:
    """Return a pattern rewritten for text that `collapsed` returned, in which `Lu` and the like match any letter."""
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
    """Return whether a character is assigned in Unicode 15.1; a newer Python knows more of them."""
    return char.isascii() or bool(class_of("LMNPSZC").match(char))


@lru_cache(maxsize=1 << 14)
def lower(char: str) -> str:
    """Return the first character of a character's lower case."""
    return lower_character(char)[0] if is_assigned(char) else char


@lru_cache(maxsize=1 << 14)
def decomposed(char: str) -> str:
    """Return the first character of a character's canonical decomposition; llama.cpp takes no more of it."""
    return unicodedata.normalize("NFD", char)[0] if is_assigned(char) else char


def is_white(char: str) -> bool:
    """Return whether a character is white space."""
    return bool(_WHITE.match(char))


def spans(pattern: re.Pattern[str], text: str) -> Iterator[tuple[int, int]]:
    """Yield (begin, end) of the matches in a text and of the stretches between them; empty ones are left out."""
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
