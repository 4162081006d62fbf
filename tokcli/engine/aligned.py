"""Text on its way to the model, and where in the input each of its characters comes from.

Normalizers and pre-tokenizers change it in place; the places are kept only where somebody wants offsets. The rules of
what a changed character belongs to are Hugging Face's (`NormalizedString`), in characters instead of bytes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

Change = tuple[str, int]  # a character; 0: in place of one, 1: added, -n: in place of one and the n behind it
Span = tuple[int, int]  # first and after last character in the input


class Aligned:
    """`text`; `spans`, one for each of its characters, or None where they are not wanted; `start`, of it in the input.

    >>> word = Aligned.of("É a")
    >>> word.transform([("e", 0), ("´", 1), (" ", 0), ("a", 0)])
    >>> word.text, word.spans
    ('e´ a', [(0, 1), (0, 1), (1, 2), (2, 3)])
    """

    __slots__ = ("spans", "start", "text")

    def __init__(self, text: str, spans: list[Span] | None = None, start: int = 0) -> None:
        self.text = text
        self.spans = spans
        self.start = start

    @classmethod
    def of(cls, text: str) -> Aligned:
        """A text as it came in, its characters where they stand."""
        return cls(text, [(i, i + 1) for i in range(len(text))])

    def part(self, begin: int, end: int) -> Aligned:
        """The characters from `begin` to `end`."""
        if self.spans is None:
            return Aligned(self.text[begin:end])
        spans = self.spans[begin:end]
        return Aligned(self.text[begin:end], spans, spans[0][0] if spans else self.start + begin)

    def span(self, begin: int, end: int) -> Span:
        """Where the characters from `begin` to `end` come from."""
        if self.spans is None or begin >= end or end > len(self.spans):
            return self.start + begin, self.start + end
        return self.spans[begin][0], self.spans[end - 1][1]

    def rewrite(self, plain: Callable[[str], str], changes: Callable[[str], Sequence[Change] | None]) -> None:
        """Another text: `plain` gives it where no spans are kept, else `changes` (None: nothing changes)."""
        if self.spans is None:
            self.text = plain(self.text)
        elif (found := changes(self.text)) is not None:
            self.transform(found)

    def transform(self, changes: Iterable[Change], removed: int = 0) -> None:
        """The text that `changes` say, after `removed` characters that are left out at the beginning.

        An added character comes from where the one before the next to be replaced does.
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
        """Only the characters that are wanted."""
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
        """Text before the first character, if there is one; it and that character come from where that one does."""
        if not self.text:
            return
        if self.spans is not None:
            self.spans[:0] = [self.spans[0]] * len(text)
        self.text = text + self.text

    def substitute(self, matches: Iterable[Span], content: str) -> None:
        """`content` instead of each match; it comes from where the match's last character does."""
        text, spans, at = [], [], 0
        for begin, end in matches:
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
