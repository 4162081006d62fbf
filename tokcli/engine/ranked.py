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

from tokcli.engine import backend
from tokcli.engine.bpe import parents
from tokcli.engine.native_encoder import image_of, native_parents

_NEVER = 1 << 62
_ROUNDS = 8  # of taking out tokens; in files there are two


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
    listed: dict[tuple[int, int], tuple[int, int]] = {}  # (left, right) -> (order, made)
    for order, (left, right, made) in enumerate(merges):
        if left in tokens and right in tokens and made in tokens:
            listed.setdefault((left, right), (order, made))
    if any(tokens[left] + tokens[right] != tokens[made] for (left, right), (_, made) in listed.items()):
        return None
    singles = {number for number, token in tokens.items() if len(token) == 1}
    if len({tokens[number] for number in singles}) != 256:
        return None
    made_by_some = {made for _, made in listed.values()}
    wanted = [number for number, token in tokens.items() if token and (finds_whole or number in made_by_some)]
    ranks = {tokens[number]: number for number in singles.union(wanted)}
    if len(ranks) != len(singles.union(wanted)):
        return None
    pairs = _pairs_that_agree(ranks, tokens, listed)
    if pairs is None or any(a > b for a, b in pairwise(listed[pairs[number]][0] for number in sorted(pairs))):
        return None
    whole_only = [tokens[number] for number in wanted if tokens[number] not in ranks] if finds_whole else []
    if not finds_whole:
        ranks = {token: number for token, number in ranks.items() if number in pairs or number in singles}
    return ranks, whole_only


def _pairs_that_agree(
    ranks: dict[bytes, int], tokens: Mapping[int, bytes], listed: Mapping[tuple[int, int], tuple[int, int]]
) -> dict[int, tuple[int, int]] | None:
    """By id the two that ranks merge into it, all of them listed: tokens of others are taken out of `ranks`.

    Suppose that ranks and list merge every text shorter than a token in the same way. Then they come to the same two
    parts of it, and ranks merge them; so does the list if it has them. It may have other pairs for the same token: they
    never come to stand beside each other. (A part may be a token of a later rank; Llama 3 has such tokens.)
    """
    for _ in range(_ROUNDS):
        pairs = _pairs(ranks, listed)
        if pairs is None:
            return None
        others = [number for number, pair in pairs.items() if listed.get(pair, (0, -1))[1] != number]
        if not others:
            return pairs
        for number in others:
            del ranks[tokens[number]]
    return None


def _pairs(
    ranks: dict[bytes, int], listed: Mapping[tuple[int, int], tuple[int, int]]
) -> dict[int, tuple[int, int]] | None:
    """By id the two that ranks merge into it."""
    if backend.native() is not None:
        try:
            found = native_parents(lambda: image_of(ranks))
        except ValueError:
            return None
        return None if found is None else {made: (left, right) for made, left, right in found.in_order()}
    # In Python most are known without merging: those that parts of lower ranks make.
    in_order = [(*pair, made) for pair, (_, made) in listed.items()]
    live = live_merges((number for token, number in ranks.items() if len(token) == 1), in_order)
    if not live.keys() >= {made for _, made in listed.values()}.intersection(ranks.values()):
        return None
    unmade = {token: number for token, number in ranks.items() if number not in live and len(token) > 1}
    found_whole = {number: pair for token, number in unmade.items() if (pair := parents(ranks, token)) is not None}
    return {made: (left, right) for made, (_, left, right) in live.items()} | found_whole
