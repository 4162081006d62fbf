"""`train`: from a corpus to an `Encoding`, by the readable trainer.

What a piece is, the pre-tokenizer says; which pairs merge, trainer.py says. Files are the caller's.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from tokcli.engine.encoding import Encoding
from tokcli.engine.known_patterns import O200K
from tokcli.engine.pretokenizer import PreTokenizer
from tokcli.engine.stream import BLOCK_BYTES, Blocks, Errors, read_chunks, split_chunk
from tokcli.engine.text import without_surrogates
from tokcli.errors import VocabularyError
from tokcli.training.counts import count_pieces
from tokcli.training.trainer import train_ranks

if TYPE_CHECKING:
    from tokcli.training.trainer import OnMerge


def train(
    corpus: Iterable[str | bytes],
    vocab_size: int,
    *,
    pat_str: str = O200K,
    special_tokens: Sequence[str] = (),
    name: str = "trained",
    min_frequency: int = 1,
    on_merge: OnMerge | None = None,
) -> Encoding:
    """An encoding of `vocab_size` tokens, learnt from texts (or UTF-8), each taken on its own.

    The tokens are the 256 bytes and then the merges, fewer where the corpus has no more pairs. `special_tokens` get the
    ids after them; where they stand in the corpus, they are left out. Ties as `trainer.train_ranks` states.

    >>> train(["ab ab ab"], 258, special_tokens=["<end>"]).encode_ordinary("ab ab")
    [256, 257]
    """
    pretokenizer = PreTokenizer(pat_str)
    counts: Counter[bytes] = Counter()
    for text in corpus:
        data = without_surrogates(text).encode() if isinstance(text, str) else text
        blocks = (data[i : i + BLOCK_BYTES] for i in range(0, len(data), BLOCK_BYTES))
        counts.update(count_blocks(blocks, pretokenizer, special_tokens=special_tokens))
    ranks = train_ranks(counts, vocab_size, min_frequency=min_frequency, on_merge=on_merge)
    return make_encoding(name, pat_str, ranks, special_tokens)


def make_encoding(name: str, pat_str: str, ranks: dict[bytes, int], special_tokens: Sequence[str]) -> Encoding:
    """The encoding of ranks, with the special tokens behind them in the order given; none twice, none empty."""
    if len(set(special_tokens)) != len(special_tokens) or "" in special_tokens:
        raise VocabularyError("special tokens must differ, and none may be empty")
    special = {token: len(ranks) + number for number, token in enumerate(special_tokens)}
    return Encoding(name, pat_str=pat_str, mergeable_ranks=ranks, special_tokens=special)


def count_blocks(
    blocks: Blocks, pretokenizer: PreTokenizer, *, errors: Errors = "strict", special_tokens: Sequence[str] = ()
) -> Counter[bytes]:
    """How often each piece stands in a stream of bytes; special tokens separate texts and are not counted."""
    counts: Counter[bytes] = Counter()
    for chunk in read_chunks(blocks, pretokenizer, errors=errors, allowed=frozenset(special_tokens)):
        if not chunk.special:
            counts.update(count_pieces(split_chunk(chunk, pretokenizer)))
    return counts
