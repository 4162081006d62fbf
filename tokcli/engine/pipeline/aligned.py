"""`Aligned`: a text on its way to the model, and the place in the input from which each of its characters comes.

Normalizers and pre-tokenizers change it in place. The places are kept only where the caller wants offsets. The rules
for the place of a changed character are those of Hugging Face's `NormalizedString`, in characters instead of bytes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from tokcli.engine.tokens import check_growth, most_made_of
from tokcli.engine.unicode.ranges import SPACES

Change = tuple[str, int]  # a character; 0: it replaces one, 1: it is added, -n: it replaces one and the n after it
_BLANKS = SPACES + "\u0120"  # the character of a space's byte in GPT-2's alphabet
Span = tuple[int, int]  # first and past-the-end character in the input


class Aligned:
    """A text, the span of each of its characters in the input, and the place of its start in the input.

    `spans` is None where places are not wanted. A change that makes the text longer than `most` characters, by default
    many times as many as it had, raises InputError: rules that feed each other could make a short text endless.

    >>> word = Aligned.of("É a")
    >>> word.transform([("e", 0), ("´", 1), (" ", 0), ("a", 0)])
    >>> word.text, word.spans
    ('e´ a', [(0, 1), (0, 1), (1, 2), (2, 3)])
    """

    __slots__ = ("most", "spans", "start", "text")

    def __init__(self, text: str, spans: list[Span] | None = None, start: int = 0, most: int | None = None) -> None:
        self.text = text
        self.most = most_made_of(len(text)) if most is None else most
        self.spans = spans
        self.start = start

    @classmethod
    def of(cls, text: str) -> Aligned:
        """Return an input text, in which the place of each character is its index."""
        return cls(text, [(i, i + 1) for i in range(len(text))])

    def part(self, begin: int, end: int) -> Aligned:
        """Return the characters from `begin` to `end` with their places."""
        if self.spans is None:
            return Aligned(self.text[begin:end], start=self.start + begin, most=self.most)
        spans = self.spans[begin:end]
        return Aligned(self.text[begin:end], spans, spans[0][0] if spans else self.start + begin, self.most)

    def span(self, begin: int, end: int) -> Span:
        """Return the place in the input of the characters from `begin` to `end`."""
        if self.spans is None or begin >= end or end > len(self.spans):
            return self.start + begin, self.start + end
        return self.spans[begin][0], self.spans[end - 1][1]

    def rewrite(self, plain: Callable[[str], str], changes: Callable[[str], Sequence[Change] | None]) -> None:
        """Replace the text by `plain(text)` or, where places are kept, apply `changes(text)`, if that is not None."""
        if self.spans is None:
            self.text = plain(self.text)
        elif (found := changes(self.text)) is not None:
            self.transform(found)
        self.check(len(self.text))

    def check(self, size: int) -> None:
        """Raise InputError if `size`, the length of a changed text in characters, is above the limit `most`."""
        check_growth(size, self.most, "normalizer or pre-tokenizer")

    def transform(self, changes: Iterable[Change], removed: int = 0) -> None:
        """Apply `changes` to the text, after dropping `removed` characters at its beginning.

        An added character has the place of the character before it that was replaced.
        """
        changes = list(changes)
        if self.spans is not None:
            spans, at = [], removed
            for _, change in changes:
                if change > 0:
                    spans.append(self.spans[at - 1] if at else (self.start, self.start))
                else:
                    spans.append(self.spans[at])
                    at += 1 - change
            self.spans = spans
        self.text = "".join(char for char, _ in changes)

    def keep(self, wanted: Callable[[str], bool]) -> None:
        """Drop all characters but those that are wanted."""
        changes: list[Change] = []
        removed = 0
        for char in self.text:
            if wanted(char):
                changes.append((char, 0))
            elif changes:
                changes[-1] = (changes[-1][0], changes[-1][1] - 1)
            else:
                removed += 1
        self.transform(changes, removed)

    def prepend(self, text: str) -> None:
        """Put `text` before a text that is not empty; it gets the place of the first character.

        As in the library, an empty `text` leaves the first character without a place of its own.
        """
        if not self.text:
            return
        self.check(len(self.text) + len(text))
        if self.spans is not None:
            if text:
                self.spans[:0] = [self.spans[0]] * len(text)
            else:
                self.spans[0] = (self.start, self.start)
        self.text = text + self.text

    def substitute(self, matches: Iterable[Span], content: str) -> None:
        """Replace each match by `content`, which gets the place of the match's last character."""
        text, spans, at = [], [], 0
        size = len(self.text)
        for begin, end in matches:
            size += len(content) - (end - begin)
            self.check(size)
            text += [self.text[at:begin], content]
            if self.spans is not None:
                spans += self.spans[at:begin]
                spans += [self.spans[end - 1] if end else (self.start, self.start)] * len(content)
            at = end
        if not text:
            return
        self.text = "".join(text) + self.text[at:]
        if self.spans is not None:
            self.spans = spans + self.spans[at:]


def blanks_of(text: str) -> tuple[int, int]:
    """Return the number of white-space characters, GPT-2's for a space included, that a token begins and ends with.

    >>> blanks_of("\\u0120a "), blanks_of("  ")
    ((1, 1), (2, 2))
    """
    return len(text) - len(text.lstrip(_BLANKS)), len(text) - len(text.rstrip(_BLANKS))
