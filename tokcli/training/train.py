"""`train`: from a corpus to an `Encoding`; and how counts of pieces become ranks, by whichever trainer can do it.

What a piece is, the pre-tokenizer says; which pairs merge, trainer.py says. Files are the caller's.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from tokcli.engine.encoding import Encoding
from tokcli.engine.known_patterns import O200K
from tokcli.engine.pretokenizer import PreTokenizer
from tokcli.engine.text import without_surrogates
from tokcli.errors import VocabularyError
from tokcli.training.corpus import BYTES
from tokcli.training.counting import Counted, Counting
from tokcli.training.native_trainer import train_natively
from tokcli.training.trainer import check_size, train_ranks

if TYPE_CHECKING:
    from tokcli.training.trainer import OnMerge, Ties


@dataclass(frozen=True)
class Rules:
    """What is learnt: how many tokens, which pairs may merge, and what there is to begin with.

    `seed` maps the tokens to begin with to their ids, all single bytes among them; `seed_special` is what its special
    tokens are. New tokens get the ids behind all of those.
    """

    vocab_size: int
    min_frequency: int = 1
    max_token_bytes: int | None = None
    ties: Ties = "rank"
    seed: Mapping[bytes, int] = field(default_factory=lambda: {token: rank for rank, token in enumerate(BYTES)})
    seed_special: Mapping[str, int] = field(default_factory=dict)

    @property
    def tokens(self) -> list[bytes]:
        """The tokens to begin with, in the order of their ids."""
        return sorted(self.seed, key=self.seed.__getitem__)

    def extended(self, tokens: Sequence[bytes]) -> Rules:
        """The same, to begin with these tokens: first those there are, then some that were learnt before."""
        more = tokens[len(self.seed) :]
        if list(tokens[: len(self.seed)]) != self.tokens:
            raise VocabularyError("the tokens that were kept do not begin with those there are")
        return replace(self, seed={**self.seed, **{token: self.next_id + i for i, token in enumerate(more)}})

    @property
    def next_id(self) -> int:
        """The id of the first new token."""
        return max((*self.seed.values(), *self.seed_special.values())) + 1


def train(
    corpus: Iterable[str | bytes],
    vocab_size: int,
    *,
    pat_str: str = O200K,
    special_tokens: Sequence[str] = (),
    name: str = "trained",
    min_frequency: int = 1,
    max_token_bytes: int | None = None,
    ties: Ties = "rank",
    seed: Encoding | None = None,
    num_threads: int = 1,
    on_merge: OnMerge | None = None,
) -> Encoding:
    """An encoding of `vocab_size` tokens, learnt from texts (or UTF-8), each taken on its own.

    The tokens are the 256 bytes and then the merges, fewer where the corpus has no more pairs. `special_tokens` get the
    ids after them; where they stand in the corpus, they are left out. With `seed` its tokens, special ones too, keep
    their ids, and what is learnt comes behind. Ties and the rest as `trainer.train_ranks` states.

    >>> train(["ab ab ab"], 258, special_tokens=["<end>"]).encode_ordinary("ab ab")
    [256, 257]
    """
    rules = Rules(vocab_size, min_frequency, max_token_bytes, ties)
    if seed is not None:
        rules = Rules(vocab_size, min_frequency, max_token_bytes, ties, seed._mergeable_ranks, seed._special_tokens)
    counting = Counting(
        PreTokenizer(pat_str),
        special_tokens=[*special_tokens, *rules.seed_special],
        threads=1 if ties == "first" else num_threads,
    )
    counting.add_texts(without_surrogates(text).encode() if isinstance(text, str) else text for text in corpus)
    ranks = learn_ranks(counting.finish(), rules, on_merge=on_merge)
    return make_encoding(name, pat_str, ranks, special_tokens, rules.seed_special)


def learn_ranks(
    counted: Counted, rules: Rules, *, device: str | None = None, on_merge: OnMerge | None = None
) -> dict[bytes, int]:
    """The mergeable_ranks that counts and rules give: by native code where there is any, else by the readable trainer.

    `device` (cpu, cuda) asks for the trainer that works on tensors. All of them make the same merges.
    """
    tokens = rules.tokens
    check_size(rules.vocab_size, tokens)
    options: dict[str, Any] = {"min_frequency": rules.min_frequency, "max_token_bytes": rules.max_token_bytes}
    options |= {"ties": rules.ties, "tokens": tokens, "on_merge": on_merge}
    dense: dict[bytes, int] | None
    if device is not None:
        from tokcli.training.torch_trainer import train_on_device

        dense = train_on_device(dict(counted.items()), rules.vocab_size, device, **options)
    else:
        dense = train_natively(counted, rules.vocab_size, **options)
    if dense is None:
        dense = train_ranks(dict(counted.items()), rules.vocab_size, **options)
    ids = [*map(rules.seed.__getitem__, tokens), *range(rules.next_id, rules.next_id + len(dense) - len(tokens))]
    return dict(zip(dense, ids, strict=True))


def make_encoding(
    name: str,
    pat_str: str,
    ranks: dict[bytes, int],
    special_tokens: Sequence[str],
    seed_special: Mapping[str, int] | None = None,
) -> Encoding:
    """An encoding of ranks. Special tokens stand behind, as given, but for the seed's; none twice, none empty."""
    if len(set(special_tokens)) != len(special_tokens) or "" in special_tokens:
        raise VocabularyError("special tokens must differ, and none may be empty")
    special = dict(seed_special or {})
    first = max((*ranks.values(), *special.values())) + 1
    new = [token for token in special_tokens if token not in special]
    special.update((token, first + number) for number, token in enumerate(new))
    return Encoding(name, pat_str=pat_str, mergeable_ranks=ranks, special_tokens=special)
