"""Merges by pairs as ranks by bytes: when a list of merges says nothing that `Encoding`'s ranks do not say as well.

Of the merges that make one token, only one can ever happen: the one whose two parts are what merging leaves of the
token's bytes until then (merge.h says why). A merge is that one if nothing of a lower rank would have merged across the
border of its parts; this is tried by taking the parts apart along the border, last merge first, as the Rust crate `bpe`
(GitHub, rust-gems) does. Where every token has such a merge, in the order of the ids, merging by pairs and merging
whatever is a token together do the same.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise

from tokcli.engine.bpe import parents

_NEVER = 1 << 62


def live_merges(parts: Iterable[int], merges: Iterable[tuple[int, int, int]]) -> dict[int, tuple[int, int, int]]:
    """Of merges (left, right, made) in order, those that can happen: made -> (order, left, right).

    `parts` are the ids that nothing makes.

    >>> live_merges([0, 1, 2], [(0, 1, 3), (1, 2, 4), (0, 4, 5), (3, 2, 5)])
    {3: (0, 0, 1), 4: (1, 1, 2), 5: (3, 3, 2)}
    """
    made_of: dict[int, tuple[int, int, int]] = {}
    order_of: dict[tuple[int, int], int] = {}
    simple = set(parts)

    def can_happen(left: int, right: int, limit: int) -> bool:
        a, b = left, right
        while True:
            if order_of.get((a, b), _NEVER) < limit:
                return False
            # take apart the one that was made later
            order_a = made_of[a][0] if a in made_of else -1
            order_b = made_of[b][0] if b in made_of else -1
            if order_a < 0 and order_b < 0:
                return True
            if order_a > order_b:
                limit, a = min(limit, order_a), made_of[a][2]
            else:
                # of equals, the left one merges first
                limit, b = min(limit, order_b + 1), made_of[b][1]

    for order, (left, right, made) in enumerate(merges):
        if made in made_of or made in simple:
            continue
        are_made = (left in made_of or left in simple) and (right in made_of or right in simple)
        if are_made and can_happen(left, right, order):
            made_of[made] = order, left, right
            order_of[left, right] = order
    return made_of


def ranks_of_pairs(pairs: Sequence[tuple[int, int]]) -> dict[bytes, int] | None:
    """The mergeable_ranks of minbpe's pairs, the first of which makes id 256; None where they say more."""
    tokens = [bytes([byte]) for byte in range(256)]
    for left, right in pairs:
        tokens.append(tokens[left] + tokens[right])
    ranks = {token: number for number, token in enumerate(tokens)}
    if len(ranks) != len(tokens):
        return None
    live = live_merges(range(256), ((left, right, 256 + n) for n, (left, right) in enumerate(pairs)))
    return ranks if len(live) == len(pairs) else None


def ranks_of_merges(
    tokens: Mapping[int, bytes], merges: Iterable[tuple[int, int, int]], *, finds_whole: bool
) -> tuple[dict[bytes, int], list[bytes]] | None:
    """The mergeable_ranks for tokens (id -> bytes) and merges (left, right, made) in order; None where there are none.

    With them the tokens that ranks cannot have, for ranks would merge them and the list does not, and which are tokens
    only as whole pieces (`finds_whole`: pieces are looked up before merging). Tokens that nothing finds are left out.
    """
    singles = {number for number, token in tokens.items() if len(token) == 1}
    if len({tokens[number] for number in singles}) != 256:
        return None
    live = live_merges(singles, merges)
    in_order = sorted(live, key=lambda number: live[number][0])
    if any(a > b for a, b in pairwise(in_order)):
        return None
    ranks = {tokens[number]: number for number in (*singles, *in_order)}
    if len(ranks) != len(singles) + len(live):
        return None
    if any(tokens[left] + tokens[right] != tokens[number] for number, (_, left, right) in live.items()):
        return None
    if not finds_whole:
        return ranks, []
    unmade = {token: number for number, token in tokens.items() if token and token not in ranks}
    ranks |= unmade
    whole_only = [token for token in unmade if parents(ranks, token) is not None]
    return {token: number for token, number in ranks.items() if token not in whole_only}, whole_only
