"""minbpe's models: pairs of ids merge, in the order of their ids; two ids may stand for the same bytes.

`Encoding` does the same for a model whose tokens all differ, and faster; this is for the others, and for the basic
models, which take a text as one piece.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import ClassVar

from tokcli.engine.pair_bpe import SHIFT, merge
from tokcli.engine.piece_cache import CACHE_PIECE_CHARS, CACHE_PIECES
from tokcli.engine.postprocessor import Tokens, joined
from tokcli.engine.pretokenizer import PreTokenizer
from tokcli.engine.text import character_spans
from tokcli.errors import UnknownTokenError

BYTES = 256  # ids below it are bytes, those above merges


@dataclass(frozen=True)
class MinBpe:
    """`pairs[i]` merge into id 256 + i; `pattern` None: the text is one piece.

    >>> MinBpe([(97, 98)], {}, None).encode("abc", frozenset())
    [256, 99]
    """

    pairs: Sequence[tuple[int, int]] = field(repr=False)
    special_tokens: Mapping[str, int]
    pattern: str | None
    _cache: dict[str, tuple[int, ...]] = field(default_factory=dict, repr=False, compare=False)

    is_byte_level: ClassVar[bool] = True
    has_template: ClassVar[bool] = False
    decodes_apart: ClassVar[bool] = True
    shortcut: ClassVar[None] = None
    native: ClassVar[None] = None

    @property
    def max_id(self) -> int:
        """The largest id."""
        return max(BYTES + len(self.pairs) - 1, *self.special_tokens.values(), 0)

    @cached_property
    def pretokenizer(self) -> PreTokenizer | None:
        """What cuts a text into pieces."""
        return None if self.pattern is None else PreTokenizer(self.pattern)

    @cached_property
    def _merges(self) -> dict[int, tuple[int, int]]:
        return {left << SHIFT | right: (rank, BYTES + rank) for rank, (left, right) in enumerate(self.pairs)}

    @cached_property
    def tokens(self) -> list[bytes]:
        """The bytes of each id."""
        found = [bytes([byte]) for byte in range(BYTES)]
        for left, right in self.pairs:
            found.append(found[left] + found[right])
        return found

    def encode(self, text: str, allowed: frozenset[str]) -> list[int]:
        """The ids of a text."""
        ids: list[int] = []
        names = [name for name in self.special_tokens if name in allowed]
        parts = re.split(f"({'|'.join(map(re.escape, names))})", text) if names else [text]
        for at, part in enumerate(parts):
            if at % 2:
                ids.append(self.special_tokens[part])
                continue
            for piece in self.pretokenizer.split(part) if self.pretokenizer else (part,):
                ids += self._encode_piece(piece)
        return ids

    def _encode_piece(self, piece: str) -> tuple[int, ...]:
        ids = self._cache.get(piece)
        if ids is None:
            ids = tuple(number for number, _ in merge([(byte, 1) for byte in piece.encode()], self._merges))
            if len(piece) <= CACHE_PIECE_CHARS:
                if len(self._cache) >= CACHE_PIECES:
                    self._cache.clear()
                self._cache[piece] = ids
        return ids

    def encode_spans(self, text: str, allowed: frozenset[str]) -> Tokens:
        """The ids of a text, and where they stand in it, in characters."""
        ids = self.encode(text, allowed)
        return Tokens(ids, spans=list(character_spans([self._all[number] for number in ids])))

    def finish(self, texts: list[Tokens], add: bool) -> Tokens:
        """There is no template."""
        del add
        return joined(texts)

    def split(self, text: str) -> list[str]:
        """The pieces of a text."""
        return self.pretokenizer.split(text) if self.pretokenizer else [text] if text else []

    @cached_property
    def _all(self) -> Mapping[int, bytes]:
        special = {number: name.encode() for name, number in self.special_tokens.items()}
        return special | dict(enumerate(self.tokens))

    def decode(self, ids: Sequence[int]) -> bytes:
        """The bytes of some ids."""
        try:
            return b"".join(map(self._all.__getitem__, ids))
        except KeyError as error:
            raise UnknownTokenError(f"{error.args[0]} is not an id of the vocabulary") from None

    def parents(self, number: int) -> tuple[int, int] | None:
        """The pair that merges into an id; None for a byte or a special token."""
        return self.pairs[number - BYTES] if BYTES <= number < BYTES + len(self.pairs) else None

    def token_bytes(self) -> Mapping[int, bytes]:
        """The bytes of each id."""
        return self._all
