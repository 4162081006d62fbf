"""Which tokens of a text would stand whatever came after it, and what its unstable end could become.

The promise of tiktoken's `encode_with_unstable`, and the rule for bytes that end in the middle of a character, which
looks at the same unstable end.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Mapping, Sequence

from tokcli.engine.bpe import Ranks, encode_piece, merge_piece

_SPACE_BYTES = frozenset(b" \n\t")  # as in tiktoken: what a pattern may split one way or another
# White_Space, which Python's str.isspace is not (it has 1C-1F too)
_WHITE_SPACE = frozenset(
    "\t\n\v\f\r \x85\xa0\u1680\u2028\u2029\u202f\u205f\u3000" + "".join(map(chr, range(0x2000, 0x200B)))
)


def unstable_tail(token_bytes: Sequence[bytes], last_piece_tokens: int) -> int:
    """How many of the last tokens are not yet certain, given how many the last piece has.

    Where the last piece begins with a token of white space, so are all tokens of white space before it: `\\s*[\\r\\n]+`
    can still join them.
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
    """The ways in which the tokens of `unstable` could come out, with more text after it.

    Each is the shortest run of ids whose bytes cover `unstable`, for every token that could straddle its end.
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
        # a character after it may split `\s+(?!\S)` before its last space
        head, tail = unstable[:-last], unstable[-last:]
        found.add((*merge_or_rank(ranks, head), *merge_or_rank(ranks, tail)))
    return found


def merge_or_rank(ranks: Ranks, data: bytes) -> list[int]:
    """tiktoken merges here without looking the whole up first; for tokens that merging reaches that is the same."""
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
    """How many bytes the last character takes; 0 if the data does not end in a whole one."""
    for size in range(1, min(4, len(data)) + 1):
        try:
            if len(data[-size:].decode()) == 1:
                return size
        except UnicodeDecodeError:
            continue
    return 0
