"""How each piece of a text became its tokens: by merges in order, on the best path, or as the longest tokens that fit.

With ranks, the bytes of a piece are merged again. For other tokenizers, the merges are replayed from the merge trees of
the tokens: of the nodes whose two parents are there, the one of lowest rank comes next, the leftmost of equals.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise

from tokcli.analysis.pieces.other_ways import OtherWay, TokenCovers
from tokcli.engine.bpe.bpe import MergeOrder, MergeStep, ModelKind
from tokcli.engine.encoding import Encoding
from tokcli.engine.stream.chunks import Chunk
from tokcli.errors import InputError

MAX_PIECE = 2048  # bytes: the steps of a longer piece have millions of parts in all


@dataclass(frozen=True)
class PieceSteps:
    """A piece, its ids, and every merge from its smallest parts on; a model without merges has one step, the tokens.

    `at_once` says that the piece is a token and is not merged. `scores` are those of the tokens of a best path;
    `other_ways` are the ways in which other tokens would cover the piece.
    """

    piece: bytes
    ids: tuple[int, ...]
    kind: ModelKind
    steps: tuple[MergeStep, ...]
    at_once: bool = False
    scores: tuple[float, ...] = ()
    other_ways: tuple[OtherWay, ...] = ()


def read_steps(
    encoding: Encoding, chunk: Chunk, scores: Callable[[int], float], covers: TokenCovers
) -> Iterator[PieceSteps]:
    """Yield the pieces of a chunk with their merges; `scores` gives the score of an id of a model that has scores."""
    tokenizer = encoding.tokenizer
    kind = tokenizer.model_kind
    token = encoding.decode_single_token_bytes
    for piece, found in pieces_with_ids(encoding, chunk):
        if len(piece) > MAX_PIECE:
            raise InputError(
                f"a piece of {len(piece)} bytes has too many merges to show: the limit is {MAX_PIECE}",
                "`tokcli split --table` shows the pieces.",
            )
        ids = tuple(found)
        merged = tokenizer.merge_steps(piece)
        at_once = len(ids) == 1 and (kind == "pieces" or tokenizer.ignore_merges)
        if merged is not None:
            steps = tuple(merged)
        elif kind == "merges" and not at_once:
            order = tokenizer.merge_order()
            if order is None:
                raise InputError(f"{encoding.name} has no merges")
            steps = tuple(replay(ids, token, tokenizer.parents, order))
        else:
            steps = (MergeStep(tuple(map(token, ids)), None, None),)
        data = b"".join(steps[-1].parts) if steps else b""
        is_piece = kind != "pieces" and data.lstrip(b" ") == piece.lstrip(
            b" "
        )  # no token has other bytes than the text
        yield PieceSteps(
            piece, ids, kind, steps, at_once, tuple(map(scores, ids)) if kind == "path" else (),
            covers.beside(data, ids) if is_piece else (),
        )  # fmt: skip


def pieces_with_ids(encoding: Encoding, chunk: Chunk) -> Iterator[tuple[bytes, Sequence[int]]]:
    """Yield each piece of a text with its ids; the whole text as one piece if the places of its tokens are unknown."""
    tokenizer = encoding.tokenizer
    if not tokenizer.sees_whole_texts:
        for data in tokenizer.split_chunk(chunk):
            yield data, tokenizer.encode_piece(data)
        return
    text = chunk.text
    try:
        tokens = tokenizer.encode_spans(chunk)
    except InputError:
        tokens = None
    if tokens is None or tokens.spans is None:
        yield text.encode(), tokenizer.encode_part(chunk)
        return
    pieces = tokenizer.split(text)
    ends = list(accumulate(map(len, pieces)))
    ids: list[list[int]] = [[] for _ in pieces]
    at = 0
    for id, begin in zip(tokens.ids, tokens.spans[::2], strict=True):
        while at < len(ends) - 1 and begin >= ends[at]:
            at += 1
        ids[at].append(id)
    yield from ((piece.encode(), found) for piece, found in zip(pieces, ids, strict=True))


def replay(
    ids: Sequence[int],
    token: Callable[[int], bytes],
    parents_of: Callable[[int], tuple[int, int] | None],
    rank: MergeOrder,
) -> Iterator[MergeStep]:
    """Yield the steps of merging that made some ids: their smallest parts, and the parts after every merge.

    >>> tokens, parents = {0: b"a", 1: b"b", 2: b"ab", 3: b"aba"}, {2: (0, 1), 3: (2, 0)}
    >>> [step.parts for step in replay([3], tokens.get, parents.get, lambda left, right, made: made)]
    [(b'a', b'b', b'a'), (b'ab', b'a'), (b'aba',)]
    """
    parts: list[int] = []
    made: dict[tuple[int, int], tuple[float, int]] = {}  # leaves (from, to) -> rank and id of what they become
    for id in ids:
        _expand(id, parents_of, rank, parts, made)
    wanted = list(made)
    spans = [(at, at + 1) for at in range(len(parts))]
    yield MergeStep(tuple(map(token, parts)), None, None)
    while wanted:
        ready = {(a[0], b[1]): at for at, (a, b) in enumerate(pairwise(spans))}
        best = min((span for span in wanted if span in ready), key=lambda span: (made[span][0], span))
        at = ready[best]
        wanted.remove(best)
        spans[at : at + 2] = [best]
        parts[at : at + 2] = [made[best][1]]
        yield MergeStep(tuple(map(token, parts)), made[best][0], at)  # type: ignore[arg-type]


def _expand(
    id: int,
    parents_of: Callable[[int], tuple[int, int] | None],
    rank: MergeOrder,
    leaves: list[int],
    made: dict[tuple[int, int], tuple[float, int]],
) -> None:
    """Append the leaves of a token's tree to `leaves`, and add its merges to `made` by the leaves that they span."""
    pending: list[tuple[int, int | None, float]] = [(id, None, 0)]
    while pending:
        current, begin, order = pending.pop()
        if begin is not None:  # both parts are there
            made[begin, len(leaves)] = order, current
        elif (pair := parents_of(current)) is None:
            leaves.append(current)
        else:
            pending.append((current, len(leaves), rank(*pair, current)))
            pending += [(pair[1], None, 0), (pair[0], None, 0)]
