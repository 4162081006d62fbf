"""`train` makes an `Encoding` from a corpus; `learn_ranks` makes ranks from counts, with the fastest trainer that can.

The pre-tokenizer says what a piece is, and trainer.py which pairs merge. Files are left to the caller.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from tokcli.engine.base import arguments
from tokcli.engine.encoding import Encoding
from tokcli.engine.pretokenizers.known_patterns import O200K
from tokcli.engine.pretokenizers.pretokenizer import PreTokenizer
from tokcli.engine.stream.utf8 import without_surrogates
from tokcli.errors import VocabularyError
from tokcli.training.corpus_counter import CorpusCounter
from tokcli.training.native_trainer import native_merges
from tokcli.training.reference_trainer import merges_of
from tokcli.training.torch_trainer import merges_on
from tokcli.training.trainer import CountedPieces, Merge, Merges, OnMerge, PairsLeft, Ties, TrainingRules


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
    """Return an encoding of `vocab_size` tokens, learnt from texts (or their UTF-8), each taken on its own.

    The tokens are the 256 bytes and then the merges, fewer where no pair is left that may merge. `special_tokens` get
    the ids after them; where they occur in the corpus, they are not counted. With `seed`, its tokens, special ones too,
    keep their ids, and new tokens get the ids after them. `training/trainer.py` states the rules, also those for ties.
    TypeError and ValueError name the argument that is wrong; one text must be in a list, too.

    >>> train(["ab ab ab"], 258, special_tokens=["<end>"]).encode_ordinary("ab ab")
    [256, 257]
    """
    rules = _rules_of(vocab_size, min_frequency, max_token_bytes, ties)
    arguments.check_text(pat_str, "pat_str")
    special_tokens = arguments.several_texts(special_tokens, "special_tokens")
    arguments.check_text(name, "name")
    threads = arguments.threads_in(num_threads)
    if not (seed is None or isinstance(seed, Encoding)):
        raise arguments.wrong_type("seed", "an Encoding", seed)
    if not (on_merge is None or callable(on_merge)):
        raise arguments.wrong_type("on_merge", "a function", on_merge)
    if isinstance(corpus, (str, bytes)):
        raise arguments.one_text("corpus", corpus)
    if not isinstance(corpus, Iterable):
        raise arguments.wrong_type("corpus", "a list of texts", corpus)
    if seed is not None:
        rules = rules.extending(seed)
    rules.check_size("vocab_size")
    counter = CorpusCounter(
        PreTokenizer(pat_str),
        special_tokens=[*special_tokens, *rules.seed_special],
        threads=1 if ties == "first" else threads,
    )
    counter.add_texts(_document(text, at) for at, text in enumerate(corpus))
    ranks = learn_ranks(counter.finish(), rules, on_merge=on_merge)
    return make_encoding(name, pat_str, ranks, special_tokens, rules.seed_special)


def _rules_of(vocab_size: int, min_frequency: int, max_token_bytes: int | None, ties: Ties) -> TrainingRules:
    """Return the rules that the arguments of `train` give; an error names the argument that is wrong."""
    if max_token_bytes is not None and (max_token_bytes := arguments.number_in(max_token_bytes, "max_token_bytes")) < 0:
        raise ValueError(f"max_token_bytes: expected 0 or more, not {max_token_bytes}")
    if ties not in ("rank", "first"):
        raise ValueError(f"ties: expected 'rank' or 'first', not {ties!r}")
    sizes = arguments.number_in(vocab_size, "vocab_size"), arguments.number_in(min_frequency, "min_frequency")
    return TrainingRules(*sizes, max_token_bytes, ties)


def _document(text: object, at: int) -> bytes:
    if isinstance(text, str):
        return without_surrogates(text).encode()
    if not isinstance(text, bytes):
        raise arguments.wrong_type(f"corpus[{at}]", "a str or bytes", text)
    return text


def learn_ranks(
    counts: CountedPieces,
    rules: TrainingRules,
    *,
    device: str | None = None,
    on_merge: OnMerge | None = None,
    on_early_stop: Callable[[PairsLeft], object] | None = None,
) -> dict[bytes, int]:
    """Return the mergeable_ranks that counts and rules give, by native code where it can, else by the readable trainer.

    `device` ("cpu", "cuda") chooses the trainer on tensors. All trainers make the same merges. Where training stops
    before the size of the vocabulary is reached, `on_early_stop` is told which pairs are left. InputError where the
    size of the vocabulary is below the number of tokens to begin with, or a count is negative.

    >>> ranks = learn_ranks({b"low": 5, b"lower": 2, b"newest": 6}, TrainingRules(259))
    >>> [token for token in ranks if ranks[token] >= 256]
    [b'we', b'lo', b'ewe']
    """
    rules.check_size()
    tokens = list(rules.tokens)
    merges = merges_on(device, counts, rules) if device else native_merges(counts, rules) or merges_of(counts, rules)
    for index, (left, right, count) in enumerate(_told_of_stop(merges, on_early_stop)):
        tokens.append(tokens[left] + tokens[right])
        if on_merge is not None:
            on_merge(index, tokens[left], tokens[right], tokens[-1], count)
    new_ids = range(rules.next_id, rules.next_id + len(tokens) - len(rules.seed))
    return dict(zip(tokens, [*map(rules.seed.__getitem__, rules.tokens), *new_ids], strict=True))


def _told_of_stop(merges: Merges, on_early_stop: Callable[[PairsLeft], object] | None) -> Iterator[Merge]:
    left = yield from merges
    if left is not None and on_early_stop is not None:
        on_early_stop(left)


def make_encoding(
    name: str,
    pat_str: str,
    ranks: dict[bytes, int],
    special_tokens: Sequence[str],
    seed_special: Mapping[str, int] | None = None,
) -> Encoding:
    """Return an encoding with these ranks; special tokens get the next ids in order, but those of the seed keep theirs.

    VocabularyError where a special token is empty, is given twice, or has half of a surrogate pair.
    """
    check_special_tokens(special_tokens)
    special = dict(seed_special or {})
    first = max((*ranks.values(), *special.values())) + 1
    new = [token for token in special_tokens if token not in special]
    special.update((token, first + number) for number, token in enumerate(new))
    return Encoding(name, pat_str=pat_str, mergeable_ranks=ranks, special_tokens=special)


def check_special_tokens(special_tokens: Sequence[str]) -> None:
    """Raise VocabularyError where a special token is empty, is given twice, or cannot be written as UTF-8."""
    if "" in special_tokens:
        raise VocabularyError("a special token is empty", "Name one of at least one character.")
    seen: set[str] = set()
    for token in special_tokens:
        if token in seen:
            raise VocabularyError(f"special token {token[:40]!r} is given twice", "Special tokens must differ.")
        seen.add(token)
        if without_surrogates(token) != token:
            raise VocabularyError(f"special token {token[:40]!r} is not UTF-8")
