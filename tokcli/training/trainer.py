"""The readable BPE trainer: from counts of pieces to mergeable_ranks, the specification that faster twins follow.

Reading a corpus, splitting it into pieces and writing the ranks to a file are left to others.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from heapq import heappop, heappush
from typing import Literal, TypeAlias

from tokcli.errors import InputError
from tokcli.training.corpus import BYTES, Pair, PieceCorpus

BYTE_TOKENS = 256  # every single byte is a token, so that any input can be encoded

# Called after each merge as on_merge(index, left, right, token, count): the number of the merge, from 0; the bytes of
# the two parts and of the new token; and how often the pair occurred.
OnMerge: TypeAlias = Callable[[int, bytes, bytes, bytes, int], object]

Ties: TypeAlias = Literal["rank", "first"]

_Queue: TypeAlias = list[tuple[int, int, Pair]]  # a heap of (-count, place, pair): place is 0 but for ties="first"


def train_ranks(
    piece_counts: Mapping[bytes, int],
    vocab_size: int,
    *,
    min_frequency: int = 1,
    max_token_bytes: int | None = None,
    tokens: Sequence[bytes] = BYTES,
    ties: Ties = "rank",
    on_merge: OnMerge | None = None,
) -> dict[bytes, int]:
    """Return the mergeable_ranks that byte pair encoding learns from pieces and how often each occurs.

    The first ranks are those of `tokens`, by default the single bytes, by value. Each further one is made so: encode
    every piece with the ranks there are; count all pairs of neighbours ("aaa" holds two pairs a+a), each as often as
    its piece occurs; the bytes of the most frequent pair become the next token. A pair that would make a token longer
    than `max_token_bytes` is passed over.

    **Ties**: among equally frequent pairs the one with the smallest rank on the left wins, then the smallest rank on
    the right. So the result depends on the counts alone: not on the order of pieces, nor on hashing or threads. With
    `ties="first"`, minbpe's rule, it is the one that stands first, in the pieces as the mapping has them in order.

    No token is made twice, though "abc" could be a+bc or ab+c: equal bytes are always segmented alike (PieceCorpus says
    why). So the ranks are 0..n-1 without gaps, a token's own bytes encode to it alone, and the pieces of the corpus are
    encoded just as training segmented them.

    Training stops at `vocab_size` tokens, or earlier when no pair occurs `min_frequency` times (counts below 1 ask
    for 1): `len(result) - len(tokens)` is the number of merges made. Special tokens are not part of the ranks.

    Memory is proportional to the bytes in distinct pieces; a merge costs what it changes. The algorithm is that of
    Sennrich, Haddow and Birch, "Neural Machine Translation of Rare Words with Subword Units" (2016), over bytes.

    Raises InputError (a ValueError) when `vocab_size` is below the number of tokens there are, or a count is negative.

    >>> ranks = train_ranks({b"low": 5, b"lower": 2, b"newest": 6}, vocab_size=259)
    >>> [token for token in ranks if ranks[token] >= 256]
    [b'we', b'lo', b'ewe']
    >>> len(train_ranks({b"ab": 1}, vocab_size=1000))
    257
    """
    check_size(vocab_size, tokens)
    corpus = PieceCorpus(piece_counts, tokens)
    queue = _MergeQueue(corpus, ties, max_token_bytes)
    while len(corpus.tokens) < vocab_size:
        pair = queue.pop()
        if pair is None or corpus.pair_counts[pair] < min_frequency:
            break
        count = corpus.pair_counts[pair]
        for each in corpus.merge(pair):
            queue.push(each)
        if on_merge is not None:
            left, right = (corpus.tokens[rank] for rank in pair)
            on_merge(len(corpus.tokens) - 1 - len(tokens), left, right, corpus.tokens[-1], count)
    return corpus.ranks


def check_size(vocab_size: int, tokens: Sequence[bytes]) -> None:
    """InputError where a vocabulary has no room for the tokens that there are."""
    if vocab_size < len(tokens):
        least = "one per byte" if len(tokens) == BYTE_TOKENS else "those of the vocabulary to begin with"
        raise InputError(f"vocabulary size {vocab_size}: too small", f"it is at least {len(tokens)}, {least}")


class _MergeQueue:
    """The pairs of a corpus, the most frequent first."""

    def __init__(self, corpus: PieceCorpus, ties: Ties, max_token_bytes: int | None) -> None:
        self._corpus = corpus
        self._place: Callable[[Pair], int] = corpus.first_position if ties == "first" else lambda _: 0
        self._longest = max_token_bytes
        self._queue: _Queue = []
        for pair in corpus.pair_counts:
            self.push(pair)

    def push(self, pair: Pair) -> None:
        """Queues a pair with the count that it has now, unless its token would be too long."""
        tokens = self._corpus.tokens
        if self._longest is None or len(tokens[pair[0]]) + len(tokens[pair[1]]) <= self._longest:
            heappush(self._queue, (-self._corpus.pair_counts[pair], self._place(pair), pair))

    def pop(self) -> Pair | None:
        """Take the most frequent pair off the queue; None when no pair is left.

        An entry is not corrected when its pair becomes rarer, only when it comes to the top: it then goes back with the
        count it has now. A pair that has become more frequent has been queued again since.
        """
        while self._queue:
            negative, _, pair = heappop(self._queue)
            count = self._corpus.pair_counts.get(pair, 0)
            if count == -negative:
                return pair
            if 0 < count < -negative:
                self.push(pair)
        return None
