"""What every trainer promises, and the rules that all of them follow; `train.py` chooses one of them.

The promise: the first ranks are those of the tokens to begin with, by default the single bytes, by value. Each further
rank is made as follows: encode every piece with the ranks made so far; count all pairs of neighbours ("aaa" holds two
pairs a+a), each as often as its piece occurs; the bytes of the most frequent pair become the next token. A pair that
would make a token longer than `max_token_bytes` is passed over.

**Ties**: among equally frequent pairs the one with the smallest rank on the left wins, then the smallest rank on the
right. So the result depends on the counts alone: not on the order of pieces, nor on hashing or threads. With
`ties="first"`, minbpe's rule, the pair that occurs first wins, in the pieces as the counts give them.

Training stops at `vocab_size` tokens, or earlier when no pair occurs `min_frequency` times (values below 1 mean 1).
Special tokens are not part of the ranks. A trainer yields each merge before it looks for the next one, and returns
which pairs are left where it stops early (`PairsLeft`), so that people can be told why.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias

from tokcli.errors import InputError, VocabularyError
from tokcli.training.corpus_counter import PieceCounts

if TYPE_CHECKING:
    from tokcli.engine.encoding import Encoding

BYTES = {bytes([value]): value for value in range(256)}  # the tokens to begin with: any input can be encoded

Pair: TypeAlias = tuple[int, int]  # the ranks of two neighbours, left and right
Merge: TypeAlias = tuple[int, int, int]  # a pair that becomes the next token, and how often it occurred


class PairsLeft(NamedTuple):
    """The counts of the most frequent pairs that are left when training stops early; 0 where there are none.

    `most` is of the pairs that may merge, `most_too_long` of those whose token would be above `max_token_bytes`.
    """

    most: int
    most_too_long: int


# What a trainer makes: the merges, and where it stops before the size of the vocabulary, the pairs that are left.
Merges: TypeAlias = Generator[Merge, None, "PairsLeft | None"]

# Called after each merge as on_merge(index, left, right, token, count): the number of the merge, from 0; the bytes of
# the two tokens and of the new one; and how often the pair occurred.
OnMerge: TypeAlias = Callable[[int, bytes, bytes, bytes, int], object]

Ties: TypeAlias = Literal["rank", "first"]

CountedPieces: TypeAlias = PieceCounts | Mapping[bytes, int]  # distinct pieces and how often each occurs


class TrainingRules:
    """The rules of a training: the size of the vocabulary, which pairs may merge, and the tokens to begin with.

    `seed` maps the tokens to begin with, which include all single bytes, to their ids; `seed_special` does the same for
    special tokens. New tokens get the ids after all of those.
    """

    def __init__(
        self,
        vocab_size: int,
        min_frequency: int = 1,
        max_token_bytes: int | None = None,
        ties: Ties = "rank",
        seed: Mapping[bytes, int] = BYTES,
        seed_special: Mapping[str, int] | None = None,
    ) -> None:
        self.vocab_size, self.min_frequency, self.max_token_bytes = vocab_size, min_frequency, max_token_bytes
        self.ties, self.seed, self.seed_special = ties, seed, seed_special or {}

    def from_seed(self, seed: Mapping[bytes, int], special: Mapping[str, int]) -> TrainingRules:
        """Return the same rules with other tokens to begin with."""
        return TrainingRules(self.vocab_size, self.min_frequency, self.max_token_bytes, self.ties, seed, special)

    def extending(self, seed: Encoding) -> TrainingRules:
        """Return the same rules with the tokens of an encoding to begin with; VocabularyError where it has no ranks."""
        rules = seed.tokenizer.rules
        ranks = seed._mergeable_ranks if rules is None or rules.text_ranks is not None else {}
        if any(bytes([byte]) not in ranks for byte in range(256)):
            raise VocabularyError("only a vocabulary of ranks that has all 256 bytes can be extended")
        return self.from_seed(ranks, seed._special_tokens)

    @cached_property
    def tokens(self) -> list[bytes]:
        """The tokens to begin with, in the order of their ids; a trainer's rank of a token is its index here."""
        return sorted(self.seed, key=self.seed.__getitem__)

    @property
    def next_id(self) -> int:
        """The id of the first new token."""
        return max((*self.seed.values(), *self.seed_special.values())) + 1

    def extended(self, tokens: Sequence[bytes]) -> TrainingRules:
        """Return the rules to continue a training: `tokens` are those of `seed`, then those learnt before.

        VocabularyError where `tokens` do not begin with those of `seed`.
        """
        more = tokens[len(self.seed) :]
        if list(tokens[: len(self.seed)]) != self.tokens:
            raise VocabularyError("the tokens learnt before do not extend this vocabulary")
        new = {token: self.next_id + i for i, token in enumerate(more)}
        return self.from_seed({**self.seed, **new}, self.seed_special)

    def check_size(self, name: str = "vocabulary size") -> None:
        """Raise InputError where the vocabulary has no room for the tokens to begin with."""
        least = len(self.seed)
        if self.vocab_size < least:
            why = "one per byte" if least == len(BYTES) else "the tokens of the vocabulary to begin with"
            raise InputError(f"{name} {self.vocab_size}: too small", f"It is at least {least}, {why}.")
