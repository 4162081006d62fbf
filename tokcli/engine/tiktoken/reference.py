"""What ranks do in Python: merging pieces, the parents of tokens, and the unstable end of a text.

The native twin does most of the work. So a vocabulary loads this module, and those that it imports, only when Python
has to work: most runs of the command line save 1.2 ms of start-up. What the end of a text can become follows tiktoken's
`encode_with_unstable` and, where bytes end inside a character, its `_encode_bytes`.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping, Sequence

from tokcli.engine.bpe.bpe import MergeStep, PieceCache, Ranks, encode_piece, merge_piece, merge_steps, parents
from tokcli.engine.bpe.merges import ParentTable, check_size, for_ids, one_by_one

_SPACE_BYTES = frozenset(b" \n\t")  # as in tiktoken: white space that a pattern may split in more than one way
# The characters of White_Space; Python's str.isspace has 1C-1F, too
_WHITE_SPACE = frozenset(
    "\t\n\v\f\r \x85\xa0\u1680\u2028\u2029\u202f\u205f\u3000" + "".join(map(chr, range(0x2000, 0x200B)))
)


class RankReference:
    """The readable counterpart of the native twin; `ranks` and `decoder` are called when they are needed."""

    def __init__(self, ranks: Callable[[], Ranks], decoder: Callable[[], Mapping[int, bytes]]) -> None:
        self._ranks, self._decoder = ranks, decoder
        self.cache = PieceCache(self.encode_piece)

    def encode_piece(self, piece: bytes) -> list[int]:
        """Return the ids of a piece; UnknownTokenError for a byte that is no token."""
        return encode_piece(self._ranks(), piece)

    def merge_steps(self, piece: bytes) -> Iterator[MergeStep]:
        """Yield every merge of a piece, from its bytes to its tokens."""
        return merge_steps(self._ranks(), piece)

    def parents(self, token: bytes) -> tuple[int, int] | None:
        """Return the two ids that merge into a token; None for a single byte."""
        return parents(self._ranks(), token)

    def parent_table(self, ids: int, known: tuple[array[int], array[int]] | None) -> ParentTable:
        """Return the parents of all ids; `known` are left and right parents that native code found."""
        check_size(ids)
        if known is not None:
            return for_ids(ParentTable(*known), ids)
        decoder = self._decoder()
        return one_by_one(ids, decoder, lambda id: self.parents(decoder[id]))

    def unstable(
        self, ids: list[int], last: int, encode: Callable[[str], list[int]]
    ) -> tuple[list[int], list[list[int]]]:
        """Return the ids of a text that no following text changes, and all ways to encode the rest.

        `ids` are those of the text, the last `last` of which belong to its last piece.
        """
        decoder, ranks = self._decoder(), self._ranks()
        # for the rule of the unstable end, a special token is not white space
        stable = len(ids) - unstable_tail([decoder.get(id, b"<special>") for id in ids], last)
        rest = b"".join(map(decoder.__getitem__, ids[stable:]))
        ways = completions(rest, ranks, decoder, sorted(ranks), encode)
        return ids[:stable], [list(way) for way in ways]

    def with_tail(self, ids: list[int], token_bytes: Sequence[bytes], last: int, tail: bytes) -> list[int]:
        """Return the ids of a text and of bytes after it that are not UTF-8 and belong to its last piece."""
        keep = len(ids) - unstable_tail(token_bytes, last)
        return ids[:keep] + self.encode_piece(b"".join(token_bytes[keep:]) + tail)


def unstable_tail(token_bytes: Sequence[bytes], last_piece_tokens: int) -> int:
    """Return the number of tokens at the end that following text could change; the last piece has `last_piece_tokens`.

    Where the last piece begins with a token of white space, all tokens of white space before it count, too:
    `\\s*[\\r\\n]+` can still join them.
    """
    count = last_piece_tokens
    if count and _is_space(token_bytes[-count]):
        while count < len(token_bytes) and _is_space(token_bytes[-count - 1]):
            count += 1
    return count


def _is_space(token: bytes) -> bool:
    return _SPACE_BYTES.issuperset(token)


def completions(
    unstable: bytes,
    ranks: Ranks,
    decoder: Mapping[int, bytes],
    sorted_tokens: Sequence[bytes],
    encode_ordinary: Callable[[str], list[int]],
) -> set[tuple[int, ...]]:
    """Return all ways to encode `unstable`, the end of a text, depending on the text that follows.

    Each way is the shortest sequence of ids whose bytes cover `unstable`, for each token that could reach past its end.
    """
    found: set[tuple[int, ...]] = set()
    if not unstable:
        return found
    for token in _beginning_with(sorted_tokens, unstable):
        found.add((ranks[token],))
    for cut in range(1, len(unstable)):
        prefix, suffix = unstable[:cut], unstable[cut:]
        for token in _beginning_with(sorted_tokens, suffix):
            found.add(_covering(_encode_bytes(prefix + token, ranks, encode_ordinary), len(unstable), decoder))
    last = _last_character(unstable)
    if 0 < last < len(unstable) and unstable[-last:].decode() in _WHITE_SPACE:
        # a following character may split `\s+(?!\S)` before the last space
        head, tail = unstable[:-last], unstable[-last:]
        found.add((*merge_or_rank(ranks, head), *merge_or_rank(ranks, tail)))
    return found


def merge_or_rank(ranks: Ranks, data: bytes) -> list[int]:
    """Return the ids of bytes, merged without looking up the whole first, as tiktoken does here."""
    return merge_piece(ranks, data) if len(data) > 1 else encode_piece(ranks, data)


def _beginning_with(sorted_tokens: Sequence[bytes], prefix: bytes) -> Sequence[bytes]:
    start = bisect_left(sorted_tokens, prefix)
    end = start
    while end < len(sorted_tokens) and sorted_tokens[end].startswith(prefix):
        end += 1
    return sorted_tokens[start:end]


def _encode_bytes(data: bytes, ranks: Ranks, encode_ordinary: Callable[[str], list[int]]) -> list[int]:
    try:
        return encode_ordinary(data.decode())
    except UnicodeDecodeError:
        return merge_or_rank(ranks, data)


def _covering(ids: Sequence[int], size: int, decoder: Mapping[int, bytes]) -> tuple[int, ...]:
    covered = 0
    for number, token in enumerate(ids, 1):
        covered += len(decoder[token])
        if covered >= size:
            return tuple(ids[:number])
    return tuple(ids)


def _last_character(data: bytes) -> int:
    """Return the number of bytes of the last character; 0 where the data does not end in a whole one."""
    for size in range(1, min(4, len(data)) + 1):
        try:
            if len(data[-size:].decode()) == 1:
                return size
        except UnicodeDecodeError:
            continue
    return 0
