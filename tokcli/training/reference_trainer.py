"""The readable BPE trainer, which is the specification of the native trainer and of the one on tensors."""

from __future__ import annotations

from collections.abc import Callable
from heapq import heappop, heappush
from typing import TypeAlias

from tokcli.training.segmented_corpus import SegmentedCorpus
from tokcli.training.trainer import CountedPieces, Merges, Pair, PairsLeft, TrainingRules

_Queue: TypeAlias = list[tuple[int, int, Pair]]  # a heap of (-count, place, pair): place is 0 except for ties="first"


def merges_of(counts: CountedPieces, rules: TrainingRules) -> Merges:
    """Yield the merges that byte pair encoding learns from pieces and their counts.

    The rules, including those for ties, are those that `trainer.py` states for every trainer.

    No token is made twice, though "abc" could be a+bc or ab+c: equal bytes are always segmented alike (SegmentedCorpus
    says why). So the ranks are 0..n-1 without gaps, a token's own bytes encode to it alone, and the pieces of the
    corpus are encoded just as training segmented them.

    Memory is proportional to the bytes in distinct pieces, a merge's time to what it changes. The algorithm is that of
    Sennrich, Haddow and Birch, "Neural Machine Translation of Rare Words with Subword Units" (2016), over bytes.
    InputError where a count is negative.

    >>> list(merges_of({b"ab": 3, b"abb": 1}, TrainingRules(1000)))
    [(97, 98, 4), (256, 98, 1)]
    """
    corpus = SegmentedCorpus(counts, rules.tokens)
    queue = _MergeQueue(corpus, rules)
    while len(corpus.tokens) < rules.vocab_size:
        pair = queue.pop()
        if pair is None or corpus.pair_counts[pair] < rules.min_frequency:
            return _pairs_left(corpus, rules)
        yield *pair, corpus.pair_counts[pair]
        for risen in corpus.merge(pair):
            queue.push(risen)
    return None


def _pairs_left(corpus: SegmentedCorpus, rules: TrainingRules) -> PairsLeft:
    most = most_too_long = 0
    for (left, right), count in corpus.pair_counts.items():
        size = len(corpus.tokens[left]) + len(corpus.tokens[right])
        if rules.max_token_bytes is None or size <= rules.max_token_bytes:
            most = max(most, count)
        else:
            most_too_long = max(most_too_long, count)
    return PairsLeft(most, most_too_long)


class _MergeQueue:
    """The pairs of a corpus in a queue, the most frequent first."""

    def __init__(self, corpus: SegmentedCorpus, rules: TrainingRules) -> None:
        self._corpus = corpus
        self._place: Callable[[Pair], int] = corpus.first_position if rules.ties == "first" else lambda _: 0
        self._longest = rules.max_token_bytes
        self._queue: _Queue = []
        for pair in corpus.pair_counts:
            self.push(pair)

    def push(self, pair: Pair) -> None:
        """Queue a pair with the count that it has now, unless its token would be too long."""
        tokens = self._corpus.tokens
        if self._longest is None or len(tokens[pair[0]]) + len(tokens[pair[1]]) <= self._longest:
            heappush(self._queue, (-self._corpus.pair_counts[pair], self._place(pair), pair))

    def pop(self) -> Pair | None:
        """Take the most frequent pair off the queue; None when no pair is left.

        An entry is not corrected when its pair becomes rarer, only when it reaches the top: it then goes back with the
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
