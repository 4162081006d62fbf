"""SentencePiece's normalizer: it applies a charsmap, keeps user-defined symbols, trims spaces and makes them visible.

The order of steps is that of SentencePiece 0.2 (normalizer.cc), which replaces prefix by prefix from left to right.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cached_property

from tokcli.engine.base.longest_match import LongestMatch
from tokcli.engine.bpe.byte_alphabet import VISIBLE_SPACE
from tokcli.engine.sentencepiece.charsmap import Charsmap
from tokcli.engine.spec.normalizers import SentencePieceNormalizer
from tokcli.engine.tokens import check_growth, most_made_of

_WINDOW = 64  # characters in which a rule is looked for first
_ASCII = range(0x20, 0x7F)

Replaced = tuple[str, int]  # the text that characters become, and the number of these characters


class SpmNormalizer:
    """Changes texts as the settings of a model's normalizer say."""

    def __init__(self, settings: SentencePieceNormalizer) -> None:
        self.settings, self.charsmap = settings, Charsmap(settings.charsmap)
        self._plain = set[str]()  # characters that no rule begins with

    def normalize(self, text: str) -> str:
        """Return the text that the model sees.

        >>> SpmNormalizer(SentencePieceNormalizer()).normalize(" a  b ")
        '▁a▁b'
        """
        return self._joined(self._parts(text, self._runs), most_made_of(len(text)))[0]

    def normalize_aligned(self, text: str) -> tuple[str, list[int]]:
        """Return the text that the model sees, and the origin of each of its characters and of its end in `text`."""
        return self._joined(self._parts(text, self._characters), most_made_of(len(text)))

    def _joined(self, parts: Iterator[Replaced], most: int) -> tuple[str, list[int]]:
        settings, trims = self.settings, self.settings.remove_extra_whitespaces
        space = VISIBLE_SPACE if settings.escape_whitespaces else " "
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
                if settings.add_dummy_prefix and not settings.whitespace_as_suffix:
                    out.append(space)
                    origins.append(consumed)
            text = part.lstrip(" ") if is_after_space else part
            if text:
                out.append(text.replace(" ", space))
                check_growth(len(origins) + len(text), most, "charsmap")
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
        if settings.add_dummy_prefix and settings.whitespace_as_suffix:
            joined += space
            origins.append(consumed)
        origins.append(consumed)
        return joined, origins

    # --- prefixes ----------------------------------------------------------------------------------------------------

    @cached_property
    def _kept_match(self) -> LongestMatch[str]:
        return LongestMatch(self.settings.kept)

    @cached_property
    def _kept_begin(self) -> str:
        return "(?!)" if self._kept_match.begin is None else self._kept_match.begin.pattern

    @cached_property
    def _characters(self) -> re.Pattern[str]:
        return re.compile(f"(?P<kept>{self._kept_begin})|(?P<run>(?!))|.", re.DOTALL)

    @cached_property
    def _runs(self) -> re.Pattern[str]:
        """The pattern that finds runs of printable ASCII, which stay as they are if no rule is for ASCII alone.

        The last character before text that is not ASCII is not part of a run, as a rule may be for both.
        """
        if self._has_ascii_rules():
            return self._characters
        ascii_run = "[ -~]" if not self.settings.kept else f"(?:(?!{self._kept_begin})[ -~])"
        return re.compile(f"(?P<kept>{self._kept_begin})|(?P<run>{ascii_run}+(?=[\\0-\\x7f]|\\Z))|.", re.DOTALL)

    def _has_ascii_rules(self) -> bool:
        for first in _ASCII:
            for second in range(0x80):  # a run may be followed by a control character
                both = bytes([first, second])
                if self.charsmap.continues(both) or self.charsmap.longest(both, 0):
                    return True
        return False

    def _parts(self, text: str, pattern: re.Pattern[str]) -> Iterator[Replaced]:
        if not self.charsmap.units and not self.settings.kept and pattern is self._runs:
            pattern = _ALL_OR_SPACES
        at = 0
        while match := pattern.match(text, at):
            found = match[0]
            if match.lastgroup == "run":
                yield (_SPACES.sub(" ", found) if self.settings.remove_extra_whitespaces else found), len(found)
                # A run may begin with a space that was a part of its own before: `_joined` treats both alike.
                at = match.end()
            elif match.lastgroup == "kept" and (end := self._kept_match.end(text, at)) > at:
                yield text[at:end], end - at
                at = end
            else:
                part = self._replaced(text, at)
                yield part
                at += part[1]

    def _replaced(self, text: str, at: int) -> Replaced:
        """Return the replacement by the longest rule for the text at a place."""
        char = text[at]
        if char in self._plain:
            return char, 1
        window = _WINDOW
        while True:
            data = text[at : at + window].encode("utf-8", "surrogateescape")
            found = self.charsmap.longest(data, 0)
            if at + window >= len(text) or not self.charsmap.continues(data):
                break
            window *= 2
        if found is None:
            if not self.charsmap.continues(char.encode("utf-8", "surrogateescape")):
                self._plain.add(char)  # at most one entry for each character there is
            return char, 1
        size, replacement = found
        return replacement.decode("utf-8", "replace"), len(data[:size].decode("utf-8", "replace"))


_SPACES = re.compile(" {2,}")
_ALL_OR_SPACES = re.compile("(?P<run>.+)", re.DOTALL)
