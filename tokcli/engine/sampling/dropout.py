"""BPE-dropout: merges that are skipped at random, as tokenizers and as SentencePiece skip them.

Both follow Provilkov et al. 2020 (arXiv:1910.13267), and differ in what becomes of a merge that was skipped. In
tokenizers it may take place after the next one that does; in SentencePiece the two parts do not merge any more. So the
same probability leaves more tokens in SentencePiece.
"""

from __future__ import annotations

from heapq import heapify, heappop, heappush
from random import Random

from tokcli.engine.bpe.bpe import Join, Part, merge_parts


class Dropout:
    """The probability with which each merge is skipped, and the random numbers that decide.

    Both ways to merge do what `merge_parts` does, but for the merges that they skip.
    """

    def __init__(self, probability: float, random: Random) -> None:
        self.probability, self._random = probability, random

    def _skips_merge(self) -> bool:
        return self._random.random() < self.probability

    def merge_once(self, parts: list[Part], join: Join[Part]) -> list[int]:
        """Merge as SentencePiece does (bpe_model.cc): two parts whose merge is skipped do not merge any more.

        >>> Dropout(1.0, Random(1)).merge_once(["a", "b"], lambda left, right: (7, left + right))
        [0, 1]
        """
        return merge_parts(parts, join, skips_merge=self._skips_merge)

    def merge_again(self, parts: list[Part], join: Join[Part]) -> list[int]:
        """Merge as tokenizers does (word.rs): a merge that is skipped is tried again after the next that is not.

        A pair whose parts have changed meanwhile is drawn like any other, as there, and then ignored; if it is not
        skipped, the others are tried again.

        >>> Dropout(1.0, Random(1)).merge_again(["a", "b"], lambda left, right: (7, left + right))
        [0, 1]
        """
        count = len(parts)
        following = list(range(1, count + 1))  # the next part; `count` for the last
        previous = list(range(-1, count - 1))
        is_gone = bytearray(count)
        pairs = map(join, parts, parts[1:])
        heap = [(found[0], at, found[1]) for at, found in enumerate(pairs) if found is not None]
        heapify(heap)
        skipped: list[tuple[float, int, Part]] = []
        while heap:
            pair = heappop(heap)
            if self._skips_merge():
                skipped.append(pair)
                continue
            for one in skipped:
                heappush(heap, one)
            skipped.clear()
            _, at, made = pair
            right = following[at]
            if is_gone[at] or right == count or (found := join(parts[at], parts[right])) is None or found[1] != made:
                continue
            parts[at] = made
            is_gone[right] = 1
            after = following[at] = following[right]
            if after < count:
                previous[after] = at
            for left, right in ((previous[at], at), (at, after)):
                if left >= 0 and right < count and (found := join(parts[left], parts[right])) is not None:
                    heappush(heap, (found[0], left, found[1]))
        return [at for at in range(count) if not is_gone[at]]
