"""minbpe's models: pairs of ids merge in the order of their ids; two ids may have the same bytes.

`RankVocabulary` does the same, and faster, for a model whose tokens all differ. This is for the other models, and for
the basic ones, which take a text as one piece. It is their reference: ranks do the work here too, since merging makes
only one of several ids with the same bytes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property, lru_cache
from typing import ClassVar, cast

from tokcli.engine.bpe.bpe import MergeOrder, PieceCache
from tokcli.engine.bpe.pairs import SHIFT, merge
from tokcli.engine.bpe.ranks import ranks_of_merges, ranks_of_pairs
from tokcli.engine.pretokenizers.pretokenizer import ALL, PreTokenizer
from tokcli.engine.spec.image import DecodingSpec
from tokcli.engine.spec.models import BYTES, NumberedPairs
from tokcli.engine.spec.splitters import PatStr
from tokcli.engine.stream.decoding_facts import DecodingFacts
from tokcli.engine.text_tokenizer import PieceTokenizer, SpecTokenizer
from tokcli.engine.tiktoken.text_ranks import TextRanks
from tokcli.engine.tiktoken.text_ranks_of import text_ranks_of
from tokcli.errors import UnknownTokenError


class MinBpe(SpecTokenizer, PieceTokenizer):
    """A model of numbered pairs; without a pattern in the spec's splitter, a text is one piece.

    >>> from tokcli.engine.spec.models import NumberedPairs
    >>> from tokcli.engine.spec.spec import TokenizerSpec
    >>> MinBpe(TokenizerSpec(NumberedPairs([(97, 98)]))).encode("abc", frozenset())
    [256, 99]
    """

    is_byte_level: ClassVar[bool] = True
    decodes_context_free: ClassVar[bool] = True

    @property
    def pairs(self) -> Sequence[tuple[int, int]]:
        """The pairs of ids that merge."""
        return cast(NumberedPairs, self.spec.model).pairs

    @property
    def max_id(self) -> int:
        """The largest id."""
        return max(BYTES + len(self.pairs) - 1, *self.special_tokens.values(), 0)

    @property
    def single_pattern(self) -> str | None:
        """The pattern that cuts text into pieces; None for a basic model."""
        return next((step.pattern for step in self.spec.splitter if isinstance(step, PatStr)), None)

    @cached_property
    def pretokenizer(self) -> PreTokenizer | None:
        """The pattern that cuts text into pieces; None for a basic model."""
        return None if self.single_pattern is None else PreTokenizer(self.single_pattern)

    @cached_property
    def text_ranks(self) -> TextRanks | None:
        """The ranks of the ids that merging makes; None where special tokens hide others."""
        if self._hides_specials:
            return None
        merges = [(left, right, id) for id, (left, right) in enumerate(self.pairs, BYTES)]
        ranked = ranks_of_merges(dict(enumerate(self.tokens)), merges, ignore_merges=False)
        if ranked is None:
            return None
        return text_ranks_of(self.spec.name, self.single_pattern or ALL, ranked, self.special_tokens)

    @property
    def _hides_specials(self) -> bool:
        """Whether a special token is the beginning of a later one, which minbpe then never finds."""
        return len(_found(tuple(self.special_tokens))) < len(self.special_tokens)

    def decoding_facts(self) -> DecodingFacts:
        """Return the bytes of each id, which is all that decoding needs."""
        found = self._token_bytes
        return DecodingFacts(list(found), list(self.special_tokens.values()), found.__getitem__, DecodingSpec())

    @cached_property
    def _merges(self) -> dict[int, tuple[int, int]]:
        return {left << SHIFT | right: (rank, BYTES + rank) for rank, (left, right) in enumerate(self.pairs)}

    @cached_property
    def tokens(self) -> list[bytes]:
        """The bytes of each id that is not special."""
        found = [bytes([byte]) for byte in range(BYTES)]
        for left, right in self.pairs:
            found.append(found[left] + found[right])
        return found

    @cached_property
    def _cache(self) -> PieceCache:
        return PieceCache(lambda piece: [id for id, _ in merge([(byte, 1) for byte in piece], self._merges)])

    def found(self, allowed: frozenset[str]) -> frozenset[str]:
        """Return the allowed special tokens but those that begin with an earlier one."""
        return _found(tuple(name for name in self.special_tokens if name in allowed))

    def split(self, text: str) -> list[str]:
        """Return the pieces of a text; joined, they are the text."""
        return self.pretokenizer.split(text) if self.pretokenizer else [text] if text else []

    @cached_property
    def _token_bytes(self) -> Mapping[int, bytes]:
        special = {id: name.encode() for name, id in self.special_tokens.items()}
        return special | dict(enumerate(self.tokens))

    def decode(self, ids: Sequence[int]) -> bytes:
        """Return the bytes of ids; UnknownTokenError for an id that the vocabulary lacks."""
        try:
            return b"".join(map(self._token_bytes.__getitem__, ids))
        except KeyError as error:
            raise UnknownTokenError(f"{error.args[0]} is not an id of the vocabulary") from None

    def token_bytes(self) -> Mapping[int, bytes]:
        """Return the bytes of every id, special tokens included."""
        return self._token_bytes

    def parents(self, id: int) -> tuple[int, int] | None:
        """Return the pair that merges into an id; None for a byte or a special token."""
        return self.pairs[id - BYTES] if BYTES <= id < BYTES + len(self.pairs) else None

    def merge_order(self) -> MergeOrder:
        """Return the order of merging: the pair that makes the smallest id is first."""
        return lambda _left, _right, made: made - BYTES

    def as_ranks(self) -> tuple[dict[bytes, int], list[tuple[int, int]]] | None:
        """Return mergeable_ranks and the pairs that merge, where these give the model's ids; else None."""
        ranks = ranks_of_pairs(self.pairs)
        return None if ranks is None else (ranks, list(self.pairs))

    def why_no_ranks(self) -> list[str]:
        """Return what ranks and a pattern cannot express about the model."""
        return ["ids that stand for the same bytes, of which ranks hold one"]


@lru_cache(maxsize=16)
def _found(names: tuple[str, ...]) -> frozenset[str]:
    """Return the special tokens without those that begin with an earlier one, which minbpe finds in their place."""
    place_of = {name: place for place, name in enumerate(names)}
    found: set[str] = set()
    row: list[tuple[str, int]] = []  # the tokens that one begins with, each with the first place up to it in the row
    for name in sorted(place_of):
        while row and not name.startswith(row[-1][0]):
            row.pop()
        first = min(place_of[name], row[-1][1] if row else place_of[name])
        if first == place_of[name]:
            found.add(name)
        row.append((name, first))
    return frozenset(found)
