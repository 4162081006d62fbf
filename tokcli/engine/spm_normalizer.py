"""SentencePiece's normalizer: rules of a charsmap, user-defined symbols kept whole, spaces made visible and counted.

The order of things is that of SentencePiece 0.2 (normalizer.cc), which replaces prefix by prefix from left to right.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property

from tokcli.engine.charsmap import Charsmap

SPACE = "\u2581"  # LOWER ONE EIGHTH BLOCK, which stands for a space
_WINDOW = 64  # characters in which a rule is looked for at first
_ASCII = range(0x20, 0x7F)

Part = tuple[str, int]  # what characters become, and how many of them there were


@dataclass(frozen=True)
class SpmNormalizer:
    """The settings of a model; `kept` are the user-defined symbols, which no rule touches."""

    charsmap: Charsmap
    add_dummy_prefix: bool = True
    remove_extra_whitespaces: bool = True
    escape_whitespaces: bool = True
    whitespace_as_suffix: bool = False
    kept: frozenset[str] = frozenset()
    _plain: set[str] = field(default_factory=set, repr=False, compare=False)  # characters that no rule begins with

    def normalize(self, text: str) -> str:
        """The text as the model sees it.

        >>> SpmNormalizer(Charsmap(b"")).normalize(" a  b ")
        '▁a▁b'
        """
        return self._joined(self._parts(text, self._runs))[0]

    def normalize_aligned(self, text: str) -> tuple[str, list[int]]:
        """The same, and for each character, and the end, where in the text what it comes from begins."""
        return self._joined(self._parts(text, self._characters))

    def _joined(self, parts: Iterator[Part]) -> tuple[str, list[int]]:
        space = SPACE if self.escape_whitespaces else " "
        trims = self.remove_extra_whitespaces
        out: list[str] = []
        origins: list[int] = []
        consumed = 0
        has_begun = is_after_space = False
        for part, size in parts:
            if not has_begun:
                if trims and part == " ":
                    consumed += size
                    continue
                has_begun, is_after_space = True, trims
                if self.add_dummy_prefix and not self.whitespace_as_suffix:
                    out.append(space)
                    origins.append(consumed)
            text = part.lstrip(" ") if is_after_space else part
            if text:
                out.append(text.replace(" ", space))
                origins += [consumed] * len(text)
                is_after_space = trims and text.endswith(" ")
            consumed += size
        if not has_begun:
            return "", [consumed]
        joined = "".join(out)
        if trims:
            kept = len(joined.rstrip(space))
            if kept < len(joined):
                joined, consumed = joined[:kept], origins[kept]
                del origins[kept:]
        if self.add_dummy_prefix and self.whitespace_as_suffix:
            joined += space
            origins.append(consumed)
        origins.append(consumed)
        return joined, origins

    # --- prefixes ----------------------------------------------------------------------------------------------------

    @cached_property
    def _kept_pattern(self) -> str:
        return "|".join(map(re.escape, sorted(self.kept, key=lambda symbol: (-len(symbol), symbol)))) or "(?!)"

    @cached_property
    def _characters(self) -> re.Pattern[str]:
        return re.compile(f"(?P<kept>{self._kept_pattern})|(?P<run>(?!))|.", re.DOTALL)

    @cached_property
    def _runs(self) -> re.Pattern[str]:
        """Printable ASCII goes unchanged, if no rule is about it alone; its last character may go with what follows."""
        if self._has_ascii_rules():
            return self._characters
        ascii_run = "[ -~]" if not self.kept else f"(?:(?!{self._kept_pattern})[ -~])"
        return re.compile(f"(?P<kept>{self._kept_pattern})|(?P<run>{ascii_run}+(?=[\\0-\\x7f]|\\Z))|.", re.DOTALL)

    def _has_ascii_rules(self) -> bool:
        for first in _ASCII:
            for second in _ASCII:
                if any(True for _ in self.charsmap.prefixes(bytes([first, second, first]))):
                    return True
        return False

    def _parts(self, text: str, pattern: re.Pattern[str]) -> Iterator[Part]:
        if not self.charsmap.units and not self.kept and pattern is self._runs:
            pattern = _ALL_OR_SPACES
        at = 0
        while match := pattern.match(text, at):
            found = match[0]
            if match.lastgroup == "run":
                yield (_SPACES.sub(" ", found) if self.remove_extra_whitespaces else found), len(found)
                # what is one part may begin with a space that was part of its own: the same in `_joined`
            elif match.lastgroup == "kept":
                yield found, len(found)
            else:
                part = self._replaced(text, at)
                yield part
                at += part[1]
                continue
            at = match.end()

    def _replaced(self, text: str, at: int) -> Part:
        """The longest rule for what begins here."""
        char = text[at]
        if char in self._plain:
            return char, 1
        window = _WINDOW
        while True:
            data = text[at : at + window].encode()
            found = self.charsmap.longest(data, 0)
            if found is None or found[0] < len(data) or at + window >= len(text):
                break
            window *= 2
        if found is None:
            if not self.charsmap.continues(char.encode()):
                self._plain.add(char)  # at most one entry for each character there is
            return char, 1
        size, replacement = found
        return replacement.decode("utf-8", "replace"), len(data[:size].decode("utf-8", "replace"))


_SPACES = re.compile(" {2,}")
_ALL_OR_SPACES = re.compile("(?P<run>.+)", re.DOTALL)
