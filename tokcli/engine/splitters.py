"""The pre-tokenizers of a tokenizer.json: how normalized text is cut into the pieces that the model sees one by one.

Each cuts (and may change) a piece that came before it. A pat_str, the one pre-tokenizer of tiktoken's encodings, is
pretokenizer.py's.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache
from typing import Literal, NamedTuple, Protocol

from tokcli.engine import matching
from tokcli.engine import unicode_classes as classes
from tokcli.engine.aligned import Aligned, Span
from tokcli.engine.known_patterns import GPT2
from tokcli.engine.matching import Characters, Finder, OnigPattern
from tokcli.engine.normalizer import byte_changes, to_byte_chars

Behavior = Literal["Removed", "Isolated", "Contiguous", "MergedWithPrevious", "MergedWithNext"]
PrependScheme = Literal["always", "first", "never"]


class Splitter(Protocol):
    """The parts of a piece, which it may change."""

    def __call__(self, piece: Aligned, /) -> list[Aligned]: ...


def cut(piece: Aligned, spans: Iterable[Span]) -> list[Aligned]:
    """The parts of a piece that are not empty."""
    if piece.spans is None:
        text = piece.text
        return [Aligned(text[begin:end]) for begin, end in spans if begin < end]
    return [piece.part(begin, end) for begin, end in spans if begin < end]


class Sequence(NamedTuple):
    """One after the other, each on the pieces that the one before left."""

    splitters: tuple[Splitter, ...]

    def __call__(self, piece: Aligned) -> list[Aligned]:
        pieces = [piece]
        for splitter in self.splitters:
            pieces = [part for whole in pieces for part in splitter(whole)]
        return pieces


class Split(NamedTuple):
    """At what a pattern finds; `invert`: at what it does not."""

    finder: Finder
    behavior: Behavior
    invert: bool = False

    def __call__(self, piece: Aligned) -> list[Aligned]:
        found = matching.matches(self.finder, piece.text)
        if self.invert:
            found = ((begin, end, not is_match) for begin, end, is_match in found)
        return cut(piece, matching.BEHAVIORS[self.behavior](found))


def at_class(name: classes.Class, behavior: Behavior) -> Split:
    """At every character of a class."""
    return Split(Characters(name), behavior)


def bert() -> Sequence:
    """BERT's: white space left out, punctuation alone."""
    return Sequence((at_class("SPACE", "Removed"), at_class("PUNCTUATION", "Isolated")))


class Words:
    """Runs of word characters, and runs of what is neither that nor white space (`\\w+|[^\\w\\s]+` in Rust)."""

    def __call__(self, piece: Aligned) -> list[Aligned]:
        return cut(piece, (match.span() for match in _words().finditer(piece.text)))


@lru_cache(maxsize=1)
def _words() -> re.Pattern[str]:
    word = classes.members("WORD")
    return re.compile(f"[{word}]+|[^{word}{classes.SPACE}]+")


class ByteLevel(NamedTuple):
    """GPT-2's: cut by its pattern (unless `use_regex` is off), and bytes as their printable characters."""

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
    """SentencePiece's: a visible character for the space, one before the text, and each word with the one before it."""

    replacement: str
    prepend_scheme: PrependScheme
    split: bool

    def __call__(self, piece: Aligned) -> list[Aligned]:
        if piece.spans is None:
            piece.text = piece.text.replace(" ", self.replacement)
        else:
            piece.substitute(matching.Literal(" ").find(piece.text), self.replacement)
        wanted = self.prepend_scheme == "always" or (self.prepend_scheme == "first" and piece.start == 0)
        if wanted and not piece.text.startswith(self.replacement):
            piece.prepend(self.replacement)
        if not self.split:
            return [piece]
        found = matching.matches(matching.Literal(self.replacement), piece.text)
        return cut(piece, matching.merged_with_next(found))


class FixedLength(NamedTuple):
    """So many characters at a time."""

    length: int

    def __call__(self, piece: Aligned) -> list[Aligned]:
        size = len(piece.text)
        return cut(piece, ((at, min(at + self.length, size)) for at in range(0, size, self.length)))


class UnicodeScripts:
    """Where the script changes; Han and the kana are one, and spaces go with any."""

    def __call__(self, piece: Aligned) -> list[Aligned]:
        cuts: list[int] = []  # what stands before the first is lost, as the library has it
        last: int | None = None
        for at, char in enumerate(piece.text):
            script = classes.script(char)
            if script is not None and script != last:
                cuts.append(at)
                last = script
        return cut(piece, zip(cuts, [*cuts[1:], len(piece.text)], strict=False))
