"""The pre-tokenizers of a tokenizer.json, which cut normalized text into the pieces that the model sees one by one.

Each cuts the pieces that the one before it left, and may change them. A pat_str, the only pre-tokenizer of tiktoken's
encodings, is left to `pretokenizers/`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache
from typing import Literal, NamedTuple, Protocol

from tokcli.engine.bpe.byte_alphabet import to_byte_chars
from tokcli.engine.pipeline import finders as matching
from tokcli.engine.pipeline.aligned import Aligned, Span
from tokcli.engine.pipeline.finders import Characters, Finder, OnigPattern
from tokcli.engine.pipeline.normalizers import byte_changes
from tokcli.engine.pretokenizers.known_patterns import GPT2
from tokcli.engine.unicode import classes
from tokcli.engine.unicode.ranges import SPACE

Behavior = Literal["Removed", "Isolated", "Contiguous", "MergedWithPrevious", "MergedWithNext"]
PrependScheme = Literal["always", "first", "never"]


class Splitter(Protocol):
    """Cuts a piece into smaller ones, and may change them."""

    def __call__(self, piece: Aligned, /) -> list[Aligned]: ...


def cut(piece: Aligned, spans: Iterable[Span]) -> list[Aligned]:
    """Return the parts of a piece at these spans, without empty ones."""
    if piece.spans is None:
        text = piece.text
        return [Aligned(text[begin:end], most=piece.most) for begin, end in spans if begin < end]
    return [piece.part(begin, end) for begin, end in spans if begin < end]


_FEW = 4  # splitters: this many make a text at most 2**4 times as long


class SplitterSequence(NamedTuple):
    """Applies splitters one after the other, each to the pieces that the previous one left."""

    splitters: tuple[Splitter, ...]

    def __call__(self, piece: Aligned) -> list[Aligned]:
        pieces = [piece]
        for splitter in self.splitters:
            pieces = [part for whole in pieces for part in splitter(whole)]
            if len(self.splitters) > _FEW:
                piece.check(sum(len(part.text) for part in pieces))
        return pieces


class Split(NamedTuple):
    """Cuts at the matches of a pattern or, with `invert`, at the text between them."""

    finder: Finder
    behavior: Behavior
    invert: bool = False

    def __call__(self, piece: Aligned) -> list[Aligned]:
        found = matching.matches(self.finder, piece.text)
        if self.invert:
            found = ((begin, end, not is_match) for begin, end, is_match in found)
        return cut(piece, matching.BEHAVIORS[self.behavior](found))


def at_class(name: classes.Class, behavior: Behavior) -> Split:
    """Return the splitter that cuts at every character of a class."""
    return Split(Characters(name), behavior)


def bert() -> SplitterSequence:
    """Return BERT's pre-tokenizer: it drops white space and isolates each character of punctuation."""
    return SplitterSequence((at_class("SPACE", "Removed"), at_class("PUNCTUATION", "Isolated")))


class Words:
    """Cuts into runs of word characters and runs of others, without white space (Rust's `\\w+|[^\\w\\s]+`)."""

    def __call__(self, piece: Aligned) -> list[Aligned]:
        return cut(piece, (match.span() for match in _words().finditer(piece.text)))


@lru_cache(maxsize=1)
def _words() -> re.Pattern[str]:
    word = classes.members("WORD")
    return re.compile(f"[{word}]+|[^{word}{SPACE}]+")


class ByteLevel(NamedTuple):
    """Cuts by GPT-2's pattern, unless `use_regex` is off, and turns bytes into the characters of GPT-2's alphabet."""

    add_prefix_space: bool
    use_regex: bool

    def __call__(self, piece: Aligned) -> list[Aligned]:
        if self.add_prefix_space and not piece.text.startswith(" "):
            piece.prepend(" ")
        pieces = cut(piece, _GPT2.find(piece.text)) if self.use_regex else [piece]
        for part in pieces:
            part.rewrite(to_byte_chars, lambda text: list(byte_changes(text)))
        return pieces


_GPT2 = OnigPattern(GPT2)


class Metaspace(NamedTuple):
    """Makes spaces visible, puts one before the text, and cuts before each of them, as SentencePiece does."""

    replacement: str
    prepend_scheme: PrependScheme
    split: bool

    def __call__(self, piece: Aligned) -> list[Aligned]:
        if piece.spans is None:
            piece.text = piece.text.replace(" ", self.replacement)
        else:
            piece.substitute(matching.LiteralText(" ").find(piece.text), self.replacement)
        wanted = self.prepend_scheme == "always" or (self.prepend_scheme == "first" and piece.start == 0)
        if wanted and not piece.text.startswith(self.replacement):
            piece.prepend(self.replacement)
        if not self.split:
            return [piece]
        found = matching.matches(matching.LiteralText(self.replacement), piece.text)
        return cut(piece, matching.BEHAVIORS["MergedWithNext"](found))


class FixedLength(NamedTuple):
    """Cuts into pieces of `length` characters."""

    length: int

    def __call__(self, piece: Aligned) -> list[Aligned]:
        size = len(piece.text)
        return cut(piece, ((at, min(at + self.length, size)) for at in range(0, size, self.length)))


class UnicodeScripts:
    """Cuts where the script changes; Han and the kana are one script, and a space never changes the script."""

    def __call__(self, piece: Aligned) -> list[Aligned]:
        cuts: list[int] = []  # text before the first is lost, as in the library
        last: str | None = None
        for at, char in enumerate(piece.text):
            script = classes.script(char)
            if script is not None and script != last:
                cuts.append(at)
                last = script
        return cut(piece, zip(cuts, [*cuts[1:], len(piece.text)], strict=False))
