"""The models of a tokenizer.json: pieces of text to ids. WordLevel and WordPiece stand here; the others have files.

A model answers for one piece: `encode` its ids, `tokens` where they stand in it, too.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple, Protocol

from tokcli.errors import InputError


class Token(NamedTuple):
    """An id, the text it stands for, and where it stands in its piece, in characters."""

    id: int
    text: str
    begin: int
    end: int


class Model(Protocol):
    """What a pipeline asks of a model."""

    @property
    def ids(self) -> Mapping[str, int]:
        """The id of each token."""

    def encode(self, piece: str) -> tuple[int, ...]:
        """The ids of a piece."""

    def tokens(self, piece: str) -> list[Token]:
        """The same, and where they stand."""

    def texts(self) -> dict[int, str]:
        """The text of each id."""


def byte_token(byte: int) -> str:
    """The name of the token for a byte: '<0x0A>'."""
    return f"<0x{byte:02X}>"


def texts_of(ids: Mapping[str, int]) -> dict[int, str]:
    """The mapping the other way round; of several texts with one id, the last."""
    return {number: text for text, number in ids.items()}


def unknown(ids: Mapping[str, int], token: str, what: str) -> int:
    """The id for what is in no token; InputError where there is none."""
    number = ids.get(token)
    if number is None:
        raise InputError(f"{what} is no token, and the vocabulary has no {token[:40]!r} to stand for it")
    return number


@dataclass(frozen=True)
class WordLevel:
    """A piece is a token, or unknown."""

    ids: Mapping[str, int]
    unk_token: str

    def encode(self, piece: str) -> tuple[int, ...]:
        """The id of a piece."""
        number = self.ids.get(piece)
        return (unknown(self.ids, self.unk_token, repr(piece[:40])) if number is None else number,)

    def tokens(self, piece: str) -> list[Token]:
        """The same, and where it stands."""
        number = self.encode(piece)[0]
        return [Token(number, piece if piece in self.ids else self.unk_token, 0, len(piece))]

    def texts(self) -> dict[int, str]:
        """The text of each id."""
        return texts_of(self.ids)


@dataclass(frozen=True)
class WordPiece:
    """The longest token first, then the longest with the prefix for what continues a word; all or nothing.

    >>> model = WordPiece({"[UNK]": 0, "un": 1, "##able": 2, "##ab": 3}, "[UNK]", "##", 100)
    >>> model.encode("unable"), model.encode("unabel")
    ((1, 2), (0,))
    """

    ids: Mapping[str, int]
    unk_token: str
    prefix: str
    max_chars: int

    @cached_property
    def _longest(self) -> int:
        return max(map(len, self.ids), default=0)

    def encode(self, piece: str) -> tuple[int, ...]:
        """The ids of a piece."""
        found = list(self._matches(piece))
        if found and found[-1] is None:
            return (unknown(self.ids, self.unk_token, repr(piece[:40])),)
        return tuple(self.ids[token.text] for token in found if token)

    def tokens(self, piece: str) -> list[Token]:
        """The same, and where they stand."""
        found = list(self._matches(piece))
        if found and found[-1] is None:
            return [Token(self.encode(piece)[0], self.unk_token, 0, len(piece))]
        return [token for token in found if token]

    def _matches(self, piece: str) -> Iterator[Token | None]:
        if len(piece) > self.max_chars:
            yield None
            return
        at, prefix = 0, ""
        while at < len(piece):
            longest = min(len(piece), at + self._longest)
            for end in range(longest, at, -1):
                text = prefix + piece[at:end]
                if text in self.ids:
                    yield Token(self.ids[text], text, at, end)
                    at, prefix = end, self.prefix
                    break
            else:
                yield None
                return

    def texts(self) -> dict[int, str]:
        """The text of each id."""
        return texts_of(self.ids)
