"""Ranks of bytes that merge exactly as a list of merges does, for those lists that ranks can express.

Of the merges that make one token, only one can ever happen: the last one in merging the token's own bytes, since text
beyond its ends does not change what happens between them (merge.h says why). So the bytes of every token are merged by
the list. If the merges that happen are in the order of their ids, merging by ids, the lowest first, does the same.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain, pairwise

from tokcli.engine import backend
from tokcli.engine.bpe.bpe import merge_steps
from tokcli.engine.bpe.byte_alphabet import all_bytes_of
from tokcli.engine.bpe.image import image_of

MOST_WORK = 1 << 31  # one or two seconds natively; the largest vocabularies in use take some 2**24


Merge = tuple[int, int, int]  # left, right, and what they make


@dataclass(frozen=True)
class Ranked:
    """Ranks, and the merges that happen when text is merged by them, in order.

    `whole_only` are tokens that are found only if a whole piece is looked up: no merge of the list makes them, but
    merging by ranks would. `missing` are the bytes without a token. `load_image` gives the native image of all tokens;
    ranks and merges are large, and made only on demand.
    """

    load_ranks: Callable[[], dict[bytes, int]] = field(repr=False)
    load_merges: Callable[[], list[Merge]] = field(repr=False)
    load_image: Callable[[], bytes] = field(repr=False)
    whole_only: dict[bytes, int]
    missing: frozenset[int]
    max_id: int
    drops_missing: bool = False  # missing bytes have no ids, and nothing merges across them; only the image knows that

    @cached_property
    def ranks(self) -> dict[bytes, int]:
        """The rank of each token by its bytes."""
        return self.load_ranks()

    @cached_property
    def merges(self) -> list[Merge]:
        """The merges in their order."""
        return self.load_merges()


def live_merges(tokens: Mapping[int, bytes], merges: Sequence[Merge]) -> list[int]:
    """Return the indexes of the merges that can happen; ValueError if tokens are too long to find out in time.

    >>> live_merges({0: b"a", 1: b"b", 3: b"ab", 4: b"ba", 5: b"aba"}, [(0, 1, 3), (1, 0, 4), (0, 4, 5), (3, 0, 5)])
    [0, 1, 3]
    """
    native = backend.native()
    if native is None:
        return live_merges_by_python(tokens, merges)
    sizes = array("I", map(len, tokens.values()))
    pairs = array("I", chain.from_iterable(merges))
    found = native.live_merges(b"".join(tokens.values()), sizes, array("I", tokens), pairs)
    live: list[int] = memoryview(found).cast("I").tolist()
    return live


def live_merges_by_python(tokens: Mapping[int, bytes], merges: Sequence[Merge]) -> list[int]:
    """Return what `live_merges` does; ValueError where that would take too long in Python."""
    if sum(len(token) ** 2 for token in tokens.values()) > MOST_WORK:
        raise ValueError("tokens too long")
    byte_ids = {token[0]: id for id, token in tokens.items() if len(token) == 1}
    order_of = {(left, right): order for order, (left, right, _) in enumerate(merges)}
    find, never = order_of.get, len(merges)
    live = []
    for id, token in tokens.items():
        parts = [byte_ids.get(byte, -1) for byte in token]
        if len(parts) < 2 or -1 in parts:
            continue
        found = [find(pair, never) for pair in pairwise(parts)]  # the merge of each part with the next
        last = never
        while found and (lowest := min(found)) < never:
            at, last = found.index(lowest), lowest
            parts[at : at + 2] = [merges[lowest][2]]
            del found[at]
            for i in (at - 1, at):
                if 0 <= i < len(found):
                    found[i] = find((parts[i], parts[i + 1]), never)
        if parts == [id]:
            live.append(last)
    return sorted(live)


def ranks_of_pairs(pairs: Sequence[tuple[int, int]]) -> dict[bytes, int] | None:
    """Return the mergeable_ranks of minbpe's pairs, the first of which makes id 256; None if no ranks merge alike."""
    tokens = [bytes([byte]) for byte in range(256)]
    for left, right in pairs:
        tokens.append(tokens[left] + tokens[right])
    ranks = {token: id for id, token in enumerate(tokens)}
    if len(ranks) != len(tokens):
        return None
    merges = [(left, right, 256 + n) for n, (left, right) in enumerate(pairs)]
    try:
        live = live_merges(dict(enumerate(tokens)), merges)
    except ValueError:
        return None
    return ranks if live == list(range(len(pairs))) else None


def ranks_of_merges(
    tokens: Mapping[int, bytes], merges: Sequence[Merge], *, ignore_merges: bool, drops_missing: bool = False
) -> Ranked | None:
    """Return the ranks for tokens (bytes by id) and merges in order; None if no ranks merge alike.

    Tokens that nothing finds are left out. `ignore_merges`: pieces are looked up before merging.
    """
    singles = {id: token[0] for id, token in tokens.items() if len(token) == 1}
    missing = frozenset(range(256)).difference(singles.values())
    try:
        live = [merges[order] for order in live_merges(tokens, merges)]
    except ValueError:
        return None
    made = [id for _, _, id in live]
    if len(singles) + len(missing) != 256 or sorted(made) != made:
        return None
    ranks = {tokens[id]: id for id in (*singles, *made)}
    if len(ranks) != len(singles) + len(live):
        return None
    if any(tokens[left] + tokens[right] != tokens[id] for left, right, id in live):
        return None
    if not ignore_merges:
        return _ranked(ranks, {}, live, missing, drops_missing)
    unmade = {token: id for id, token in tokens.items() if token and token not in ranks}
    ranks |= unmade
    whole_only = {token: id for token, id in unmade.items() if _arrives(ranks, token)}
    for token in whole_only:
        del ranks[token]
    return _ranked(ranks, whole_only, live, missing, drops_missing)


def _ranked(
    ranks: dict[bytes, int],
    whole_only: dict[bytes, int],
    merges: list[Merge],
    missing: frozenset[int],
    drops_missing: bool,
) -> Ranked:
    tokens = ranks | whole_only if whole_only else ranks
    return Ranked(
        lambda: ranks,
        lambda: merges,
        lambda: image_of(tokens, merges, drops_missing=drops_missing),
        whole_only,
        missing,
        max(tokens.values(), default=0),
        drops_missing,
    )


def ranks_of_texts(
    ids: Mapping[str, int], merges: array[int], *, ignore_merges: bool, drops_missing: bool = False
) -> Ranked | None:
    """Return the ranks for tokens that are texts in GPT-2's alphabet; None if no ranks merge alike.

    `merges` has three ids for each: left, right, made. Texts that are not in the alphabet are not tokens.

    >>> found = ranks_of_texts({"a": 0, "b": 1, "ab": 2, "<\u2581>": 3}, array("I", [0, 1, 2]), ignore_merges=False)
    >>> found.ranks, len(found.missing)
    ({b'a': 0, b'b': 1, b'ab': 2}, 254)
    """
    native = backend.native()
    try:
        if native is not None:
            flat = array("I", ids.values())
            made = native.rank_merges(list(ids), flat, merges, ignore_merges, drops_missing)
    except (ValueError, OverflowError):
        native = None  # too much for an image
    if native is None:
        found = zip(ids.values(), all_bytes_of(ids), strict=True)
        tokens = {id: data for id, data in found if data is not None}
        triples = list(zip(merges[::3], merges[1::3], merges[2::3], strict=True))
        drops_missing &= backend.native() is not None
        return ranks_of_merges(tokens, triples, ignore_merges=ignore_merges, drops_missing=drops_missing)
    if made is None:
        return None
    image, ranked, whole, live, missing = made

    def tokens_of(wanted_ids: bytes) -> dict[bytes, int]:
        wanted = array("I", wanted_ids)
        texts = {id: text for text, id in ids.items()}
        return dict(zip(all_bytes_of(map(texts.__getitem__, wanted)), wanted, strict=True))  # type: ignore[arg-type]

    def load_merges() -> list[Merge]:
        flat = array("I", live)
        return list(zip(flat[::3], flat[1::3], flat[2::3], strict=True))

    return Ranked(
        lambda: tokens_of(ranked), load_merges, lambda: image, tokens_of(whole) if whole else {}, frozenset(missing),
        max(array("I", ranked + whole)), drops_missing,
    )  # fmt: skip


def _arrives(ranks: Mapping[bytes, int], token: bytes) -> bool:
    """Return whether merging a token's own bytes by ranks makes that token."""
    *_, last = merge_steps(ranks, token)
    return len(last.parts) == 1
