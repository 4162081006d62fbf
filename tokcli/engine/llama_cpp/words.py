"""`LlamaWords`: BERT's model as llama.cpp runs it, where a word becomes the longest tokens in it, or unknown."""

from __future__ import annotations

import re
from array import array
from collections.abc import Callable, Iterator
from itertools import chain
from typing import cast

from tokcli.engine.base.longest_match import LongestMatch
from tokcli.engine.bpe.bpe import BoundedCache
from tokcli.engine.bpe.byte_alphabet import VISIBLE_SPACE
from tokcli.engine.llama_cpp import characters
from tokcli.engine.llama_cpp.fragment_models import FragmentModel
from tokcli.engine.spec.normalizers import Bert
from tokcli.engine.spec.spec import TokenizerSpec
from tokcli.engine.unicode.classes import CHINESE
from tokcli.engine.unicode.ranges import Ranges, merged, minus


class LlamaWords(FragmentModel):
    """BERT's model: tokens, with a visible space before those that begin a word, and the id of an unknown word."""

    def __init__(self, spec: TokenizerSpec) -> None:
        super().__init__(spec)
        self.unknown, self.settings = self.unknown_id(), cast(Bert, spec.normalizer[0])
        self.rule = word_rule(self.settings)
        self._match = LongestMatch(self.ids)
        self._cache = BoundedCache(self._longest_tokens)

    def tokenize(self, text: str) -> list[int]:
        """Return the ids of a text."""
        cache = self._cache
        words = "".join(map(self.rule, text)).split(" ")
        return [id for word in words if word for id in cache[word]]

    def _longest_tokens(self, word: str) -> list[int]:
        """Return the ids of the longest token at each place of a word, or that of an unknown word."""
        word = VISIBLE_SPACE + word
        ids, at = [], 0
        while at < len(word):
            end = self._match.end(word, at)
            if end == at:
                return [self.unknown]
            ids.append(self.ids[word[at:end]])
            at = end
        return ids


def word_rule(settings: Bert) -> Callable[[str], str]:
    """Return the function that gives what BERT makes of a character, between spaces if it is a word of its own."""
    lowercase, strip_accents = settings.lowercase, settings.strip_accents

    def rule(char: str) -> str:
        if strip_accents:
            char = characters.decomposed(char)
        kind = _word_kind(char)
        if kind == "space":
            return " "
        if kind == "nothing" or (kind == "mark" and strip_accents):
            return ""
        low = characters.lower(char) if lowercase else char
        return f" {low} " if kind == "sign" else low

    return rule


_SIGNS = re.compile(f"[$+<=>^`|~{CHINESE}]")


def _word_kind(char: str) -> str:
    """Return what BERT takes a character for: space, nothing, mark, sign (a word of its own), or letter."""
    if characters.is_white(char):
        return "space"
    if char in "\0\ufffd" or characters.class_of("C").match(char):
        return "nothing"
    if characters.class_of("M").match(char):
        return "mark"
    return "sign" if characters.class_of("P").match(char) or _SIGNS.match(char) else "letter"


def word_ranges() -> array[int]:
    """Return what native code has to know of characters: ranges in order, each as first, last and kind (uint32).

    The kinds are those of WordRange: nothing, mark, sign and unassigned. What is in no range is a letter or a space.
    """
    signs = [*characters.ranges_of("P"), *((ord(c), ord(c)) for c in "$+<=>^`|~"), *_CHINESE]
    kinds = [
        merged([*characters.ranges_of("C"), (0, 0), (0xFFFD, 0xFFFD)]),
        characters.ranges_of("M"),
        merged(signs),
        minus(((0, 0x10FFFF),), characters.ranges_of("LMNPSZC")),
    ]
    found: list[tuple[int, int, int]] = []
    taken: Ranges = ()
    for kind, ranges in enumerate(kinds):
        found += [(first, last, kind) for first, last in minus(ranges, taken)]
        taken = merged([*taken, *ranges])
    return array("I", chain.from_iterable(sorted(found)))


_CHINESE = [(ord(first), ord(last)) for first, last in re.findall("(.)-(.)", CHINESE)]


def white_space_words(text: str, lowercase: bool) -> Iterator[str]:
    """Yield the words of a text, which are separated by white space, in lower case if asked for."""
    words = "".join(" " if characters.is_white(char) else char for char in text).split(" ")
    for word in words:
        if word:
            yield "".join(map(characters.lower, word)) if lowercase else word
