"""The readable BPE trainer: from counts of pieces to mergeable_ranks, the specification that faster twins follow.

Reading a corpus, splitting it into pieces and writing the ranks to a file are left to others.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from heapq import heapify, heappop, heappush
from typing import TypeAlias

from tokcli.errors import InputError
from tokcli.training.corpus import Pair, PieceCorpus

BYTE_TOKENS = 256  # every single byte is a token, so that any input can be encoded

# Called after each merge as on_merge(index, left, right, token, count): the number of the merge, from 0; the bytes of
# the two parts and of the new token; and how often the pair occurred.
OnMerge: TypeAlias = Callable[[int, bytes, bytes, bytes, int], object]

_Queue: TypeAlias = list[tuple[int, Pair]]  # a heap of (-count, pair): most frequent first, then the smallest ranks


def train_ranks(
    piece_counts: Mapping[bytes, int],
    vocab_size: int,
    *,
    min_frequency: int = 1,
    on_merge: OnMerge | None = None,
) -> dict[bytes, int]:
    """Return the mergeable_ranks that byte pair encoding learns from pieces and how often each occurs.

    The ranks 0..255 are the single bytes, by value. Each further one is made so: encode every piece with the ranks
    there are; count all pairs of neighbours ("aaa" holds two pairs a+a), each as often as its piece occurs; the bytes
    of the most frequent pair become the next token.

    **Ties**: among equally frequent pairs the one with the smallest rank on the left wins, then the smallest rank on
    the right. So the result depends on the counts alone: not on the order of pieces, nor on hashing or threads.

    No token is made twice, though "abc" could be a+bc or ab+c: equal bytes are always segmented alike (PieceCorpus says
    why). So the ranks are 0..n-1 without gaps, a token's own bytes encode to it alone, and the pieces of the corpus are
    encoded just as training segmented them.

    Training stops at `vocab_size` tokens, or earlier when no pair occurs `min_frequency` times (counts below 1 ask
    for 1): `len(result) - 256` is the number of merges made. Special tokens are not part of the ranks.

    Memory is proportional to the bytes in distinct pieces; a merge costs what it changes. The algorithm is that of
    Sennrich, Haddow and Birch, "Neural Machine Translation of Rare Words with Subword Units" (2016), over bytes.

    Raises InputError (a ValueError) when `vocab_size` is below 256 or a count is negative.

    >>> ranks = train_ranks({b"low": 5, b"lower": 2, b"newest": 6}, vocab_size=259)
    >>> [token for token in ranks if ranks[token] >= 256]
    [b'we', b'lo', b'ewe']
    >>> len(train_ranks({b"ab": 1}, vocab_size=1000))
    257
    """
    if vocab_size < BYTE_TOKENS:
        raise InputError(f"vocabulary size {vocab_size}: too small", f"it is at least {BYTE_TOKENS}, one per byte")
    corpus = PieceCorpus(piece_counts)
    queue: _Queue = [(-count, pair) for pair, count in corpus.pair_counts.items()]
    heapify(queue)
    while len(corpus.tokens) < vocab_size:
        pair = _pop_most_frequent(queue, corpus.pair_counts)
        if pair is None or corpus.pair_counts[pair] < min_frequency:
            break
        count = corpus.pair_counts[pair]
        for each in corpus.merge(pair):
            heappush(queue, (-corpus.pair_counts[each], each))
        if on_merge is not None:
            left, right = (corpus.tokens[rank] for rank in pair)
            on_merge(len(corpus.tokens) - 1 - BYTE_TOKENS, left, right, corpus.tokens[-1], count)
    return corpus.ranks


def _pop_most_frequent(queue: _Queue, pair_counts: Mapping[Pair, int]) -> Pair | None:
    """Take the most frequent pair off the queue; None when no pair is left.

    An entry is not corrected when its pair becomes rarer, only when it comes to the top: it then goes back with the
    count it has now. A pair that has become more frequent has been queued again since.
    """
    while queue:
        negative, pair = heappop(queue)
        count = pair_counts.get(pair, 0)
        if count == -negative:
            return pair
        if 0 < count < -negative:
            heappush(queue, (-count, pair))
    return None
