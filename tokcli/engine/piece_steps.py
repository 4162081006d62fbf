"""How each piece of a text became its tokens: by merges in order, or on the best path, or as the longest that fit.

The merges of a tokenizer that has a list of its own are played back from the merge trees of its tokens: of the nodes
whose two parts are there, the one that merges first comes next, the leftmost of equals, as byte pair encoding goes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING, Literal, TypeAlias

from tokcli.engine.bpe import MergeStep
from tokcli.engine.compiled import whole_of
from tokcli.engine.llama_cpp import LlamaCpp
from tokcli.engine.minbpe import BYTES, MinBpe
from tokcli.engine.models import WordLevel, WordPiece
from tokcli.engine.pair_bpe import SHIFT, PairBpe
from tokcli.engine.pipeline import Pipeline
from tokcli.engine.pipeline_encoding import PipelineEncoding
from tokcli.engine.sentencepiece import SentencePiece
from tokcli.engine.unigram import Unigram
from tokcli.errors import InputError

if TYPE_CHECKING:
    from tokcli.engine.encoding import Encoding
    from tokcli.engine.stream import Chunk

Kind = Literal["merges", "path", "pieces"]
MAX_PIECE = 2048  # bytes: all steps of a longer piece have millions of parts
RankOf: TypeAlias = Callable[[int, int, int], float]  # of two ids and the one that they merge into


@dataclass(frozen=True)
class PieceSteps:
    """A piece, its tokens, and its merges from the smallest parts on: of what does not merge, only what came of it.

    `at_once`: it is a token as it stands, and is not merged. `scores` are those of the tokens of a best path.
    """

    piece: bytes
    ids: tuple[int, ...]
    kind: Kind
    steps: tuple[MergeStep, ...]
    at_once: bool = False
    scores: tuple[float, ...] = ()


def kind_of(encoding: Encoding) -> Kind:
    """How an encoding comes to its tokens; InputError where nothing is known of it."""
    if not isinstance(encoding, PipelineEncoding):
        return "merges"
    tokenizer = whole_of(encoding.tokenizer)
    model = tokenizer.model if isinstance(tokenizer, Pipeline) else None
    if isinstance(tokenizer, MinBpe) or isinstance(model, PairBpe):
        return "merges"
    if isinstance(model, Unigram):
        return "path"
    if isinstance(model, (WordLevel, WordPiece)):
        return "pieces"
    if isinstance(tokenizer, SentencePiece):
        return {"bpe": "merges", "unigram": "path"}.get(tokenizer.model_type, "pieces")  # type: ignore[return-value]
    if isinstance(tokenizer, LlamaCpp):
        return {"llama": "merges", "gpt2": "merges", "t5": "path"}.get(tokenizer.kind, "pieces")  # type: ignore[return-value]
    raise InputError(f"{encoding.name} is a {type(tokenizer).__name__}, of which no steps are known")


def read_steps(encoding: Encoding, chunk: Chunk, scores: Callable[[int], float]) -> Iterator[PieceSteps]:
    """The pieces of a chunk; `scores` gives those of the tokens of a model that has them."""
    kind = kind_of(encoding)
    if not isinstance(encoding, PipelineEncoding):
        for piece in encoding.split_chunk(chunk):
            _refuse_long(piece)
            ids = tuple(encoding.piece_tokens(piece))
            yield PieceSteps(piece, ids, kind, tuple(encoding.merge_steps(piece)), len(ids) == 1)
        return
    token = encoding.decode_single_token_bytes
    for piece, found in pieces_with_ids(encoding, chunk):
        _refuse_long(piece)
        ids = tuple(found)
        at_once = len(ids) == 1 and (kind == "pieces" or _finds_whole(encoding))
        if kind == "merges" and not at_once:
            steps = tuple(replay(ids, token, encoding.parents_of, rank_of(encoding)))
        else:
            steps = (MergeStep(tuple(map(token, ids)), None, None),)
        yield PieceSteps(piece, ids, kind, steps, at_once, tuple(map(scores, ids)) if kind == "path" else ())


def _refuse_long(piece: bytes) -> None:
    if len(piece) > MAX_PIECE:
        raise InputError(
            f"a piece of {len(piece)} bytes has too many merges to show: the limit is {MAX_PIECE}",
            "`tokcli split --table` shows the pieces.",
        )


def _finds_whole(encoding: PipelineEncoding) -> bool:
    tokenizer = whole_of(encoding.tokenizer)
    return isinstance(tokenizer, Pipeline) and getattr(tokenizer.model, "ignore_merges", False)


def pieces_with_ids(encoding: PipelineEncoding, chunk: Chunk) -> Iterator[tuple[bytes, list[int]]]:
    """The pieces of a text and the ids of each; all in one where it is not known where its tokens stand."""
    text = chunk.text
    try:
        tokens = encoding.encode_spans(chunk)
    except InputError:
        tokens = None
    if tokens is None or tokens.spans is None:
        yield text.encode(), encoding.encode_chunk(chunk)
        return
    pieces = encoding.tokenizer.split(text)
    ends = list(accumulate(map(len, pieces)))
    ids: list[list[int]] = [[] for _ in pieces]
    at = 0
    for number, (begin, _) in zip(tokens.ids, tokens.spans, strict=True):
        while at < len(ends) - 1 and begin >= ends[at]:
            at += 1
        ids[at].append(number)
    yield from ((piece.encode(), found) for piece, found in zip(pieces, ids, strict=True))


def rank_of(encoding: PipelineEncoding) -> RankOf:
    """What tells which of two merges of an encoding comes first: the lower one."""
    tokenizer = whole_of(encoding.tokenizer)
    if isinstance(tokenizer, Pipeline) and isinstance(tokenizer.model, PairBpe):
        merges = tokenizer.model.merges
        return lambda left, right, _: merges[left << SHIFT | right][0]
    if isinstance(tokenizer, MinBpe):
        return lambda _left, _right, made: made - BYTES
    if isinstance(tokenizer, SentencePiece):
        pieces = tokenizer.pieces
        return lambda _left, _right, made: _number(-pieces[made].score)
    if isinstance(tokenizer, LlamaCpp) and tokenizer.kind == "llama":
        scores = tokenizer.scores
        return lambda _left, _right, made: _number(-scores[made])
    if isinstance(tokenizer, LlamaCpp):
        order, texts = _orders(tuple(tokenizer.merges)), tokenizer.texts
        return lambda left, right, _: order[texts[left], texts[right]]
    raise InputError(f"{encoding.name} has no merges")


@lru_cache(maxsize=1)
def _orders(merges: Sequence[tuple[str, str]]) -> dict[tuple[str, str], int]:
    return {pair: rank for rank, pair in reversed(list(enumerate(merges)))}


def _number(value: float) -> float:
    return int(value) if value == int(value) else value


def replay(
    ids: Sequence[int],
    token: Callable[[int], bytes],
    parents_of: Callable[[int], tuple[int, int] | None],
    rank: RankOf,
) -> Iterator[MergeStep]:
    """Every merge that led to some tokens, from the smallest parts on.

    >>> tokens, parents = {0: b"a", 1: b"b", 2: b"ab", 3: b"aba"}, {2: (0, 1), 3: (2, 0)}
    >>> [step.parts for step in replay([3], tokens.get, parents.get, lambda left, right, made: made)]
    [(b'a', b'b', b'a'), (b'ab', b'a'), (b'aba',)]
    """
    parts: list[int] = []
    made: dict[tuple[int, int], tuple[float, int]] = {}  # of the leaves from, to: rank and id of what they become
    for number in ids:
        _expand(number, parents_of, rank, parts, made)
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
    number: int,
    parents_of: Callable[[int], tuple[int, int] | None],
    rank: RankOf,
    leaves: list[int],
    made: dict[tuple[int, int], tuple[float, int]],
) -> None:
    """Puts the leaves of a token's tree behind the others, and its merges by the leaves they span into `made`."""
    pending: list[tuple[int, int | None, float]] = [(number, None, 0)]
    while pending:
        current, begin, order = pending.pop()
        if begin is not None:  # both parts are there
            made[begin, len(leaves)] = order, current
        elif (pair := parents_of(current)) is None:
            leaves.append(current)
        else:
            pending.append((current, len(leaves), rank(*pair, current)))
            pending += [(pair[1], None, 0), (pair[0], None, 0)]
