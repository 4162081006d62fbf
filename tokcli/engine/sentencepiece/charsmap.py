"""`Charsmap`: SentencePiece's precompiled rules for replacing text, as a double-array trie.

The blob is four bytes (the size of the array, little-endian), the array of 32-bit units, and the replacements, each
ended by a NUL. Units are those of Darts-clone (Susumu Yata): a label, an offset, and whether a value follows.
The blob is not trusted: every index is checked.
"""

from __future__ import annotations

import sys
from array import array
from collections.abc import Iterator
from functools import lru_cache

from tokcli.errors import InputError, VocabularyError

# bytes, of the text that a rule replaces. Units may lead in circles, and each place of a text would be read to its end;
# the longest rule of NFKC is for some ten bytes.
LONGEST_RULE = 1024
_UNIT_BLOCK = 1024  # bytes: the array grows by 256 units


class Charsmap:
    """The rules in a blob, none in an empty one; VocabularyError if its parts do not fit together."""

    def __init__(self, blob: bytes, name: str = "the charsmap") -> None:
        self.blob = blob
        self.units = array("I")
        self.texts = b""
        if not blob:
            return
        size = int.from_bytes(blob[:4], "little")
        if len(blob) <= 4 or size < _UNIT_BLOCK or size % _UNIT_BLOCK or size >= len(blob) - 4:
            raise VocabularyError(f"{name}: a precompiled charsmap of {len(blob)} bytes whose parts do not fit")
        self.units.frombytes(blob[4 : 4 + size])
        if sys.byteorder == "big":
            self.units.byteswap()
        if self.units[0] >> 31 or _offset(self.units[0]) >= len(self.units):
            raise VocabularyError(f"{name}: a precompiled charsmap whose first unit points out of it")
        self.texts = blob[4 + size :]
        if not self.texts.endswith(b"\0"):
            raise VocabularyError(f"{name}: a precompiled charsmap whose last text does not end")
        self._first = lru_cache(maxsize=1 << 14)(self._find_first)

    def prefixes(self, text: bytes, start: int = 0) -> Iterator[tuple[int, int]]:
        """Yield (size, value) of each prefix of text[start:] that has a rule, the shortest first.

        InputError where a rule may be for more than LONGEST_RULE bytes.
        """
        units = self.units
        if not units:
            return
        at = _offset(units[0])
        for end in range(start, len(text)):
            at ^= text[end]
            if at >= len(units):
                return
            unit = units[at]
            if unit & 0x800000FF != text[end]:
                return
            if end - start >= LONGEST_RULE:
                raise InputError(f"the charsmap of the vocabulary may have a rule for more than {LONGEST_RULE} bytes")
            at ^= _offset(unit)
            if unit >> 8 & 1:
                if at >= len(units):
                    return
                yield end + 1 - start, units[at] & 0x7FFFFFFF

    def replacement(self, value: int) -> bytes | None:
        """Return the replacement that a value points to; None if it points out of the texts."""
        if value >= len(self.texts):
            return None
        return self.texts[value : self.texts.index(b"\0", value)]

    def longest(self, text: bytes, start: int) -> tuple[int, bytes] | None:
        """Return (size, replacement) of the longest prefix of text[start:] with a rule, which SentencePiece applies."""
        found = None
        for found in self.prefixes(text, start):  # noqa: B007
            pass
        if found is None or (replacement := self.replacement(found[1])) is None:
            return None
        return found[0], replacement

    def continues(self, text: bytes) -> bool:
        """Return whether there may be a rule for a longer text that begins with this one."""
        units = self.units
        if not units:
            return False
        at = _offset(units[0])
        for byte in text:
            at ^= byte
            if at >= len(units) or units[at] & 0x800000FF != byte:
                return False
            at ^= _offset(units[at])
        return True

    def first(self, text: str) -> str | None:
        """Return the replacement of the shortest prefix with a rule, which Hugging Face takes for all of `text`."""
        return self._first(text) if self.units else None

    def _find_first(self, text: str) -> str | None:
        for _, value in self.prefixes(text.encode()):
            replacement = self.replacement(value)
            return None if replacement is None else replacement.decode("utf-8", "replace")
        return None

    def __reduce__(self) -> tuple[object, ...]:
        return (Charsmap, (self.blob,))


def _offset(unit: int) -> int:
    return unit >> 10 << ((unit & 0x200) >> 6)
