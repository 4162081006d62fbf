"""The names of `tiktoken._educational`: byte pair encoding to read, to watch and to train, a few lines at a time.

Ids and what is printed are tiktoken's. Nothing here is fast, and text is printed as it is, control characters included;
`tokcli encode --visualise=merges` shows merges of any tokenizer, and `tokcli.train` learns from large texts.

>>> enc = SimpleBytePairEncoding.from_tiktoken("cl100k_base")
>>> enc.encode("hello", visualise="simple")
[b'h', b'e', b'l', b'l', b'o']
[b'h', b'el', b'l', b'o']
[b'h', b'el', b'lo']
[b'h', b'ello']
[b'hello']
<BLANKLINE>
[15339]
"""

from __future__ import annotations

from collections import Counter
from itertools import pairwise
from pathlib import Path
from typing import Protocol

import regex

from tokcli.engine.base import arguments
from tokcli.engine.bpe.bpe import merge_piece, merge_steps
from tokcli.errors import UnknownTokenError
from tokcli.registry.registered import get_encoding

__all__ = ["SimpleBytePairEncoding", "bpe_encode", "bpe_train", "train_simple_encoding", "visualise_tokens"]

_BYTES = 256
_IN_COLOURS = ("colour", "color")
_BACKGROUNDS = (167, 179, 185, 77, 80, 68, 134)  # of the 256 colours of terminals
_RESET = "\x1b[0m"
_GPT2_PATTERN = r"""'s|'t|'re|'ve|'m|'ll|'d| ?[\p{L}]+| ?[\p{N}]+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"""
_WORDS_IN_COLOURS, _WORDS_AS_LISTS = 50, 20  # of the training data that are shown after each merge

Pair = tuple[bytes, bytes]


class _ByteLevel(Protocol):
    """An encoding of tokcli or of tiktoken."""

    @property
    def _pat_str(self) -> str: ...

    @property
    def _mergeable_ranks(self) -> dict[bytes, int]: ...


class SimpleBytePairEncoding:
    """An encoding that is nothing but a pattern and ranks: the pattern cuts the text, and the pieces merge one by one.

    `mergeable_ranks` maps the bytes of each token to its rank, which is its id and its place in the order of merging.
    """

    def __init__(self, *, pat_str: str, mergeable_ranks: dict[bytes, int]) -> None:
        arguments.check_text(pat_str, "pat_str")
        self.pat_str = pat_str
        self.mergeable_ranks = arguments.ids_by_token(mergeable_ranks, bytes, "mergeable_ranks")
        self._decoder = {rank: token for token, rank in self.mergeable_ranks.items()}
        self._pat = regex.compile(pat_str)

    def encode(self, text: str, visualise: str | None = "colour") -> list[int]:
        """Return the ids of a text; what the pattern does not match has none.

        `visualise` prints each merge: "colour" with a background for each token, "simple" as lists of bytes, None not.

        >>> SimpleBytePairEncoding.from_tiktoken("gpt2").encode("hello world", visualise=None)
        [31373, 995]
        """
        arguments.check_text(text)
        pieces: list[str] = self._pat.findall(text)
        return [token for piece in pieces for token in bpe_encode(self.mergeable_ranks, piece.encode(), visualise)]

    def decode_bytes(self, tokens: list[int]) -> bytes:
        """Return the bytes of ids; UnknownTokenError, a KeyError, for an id that is no rank."""
        return b"".join(self.decode_tokens_bytes(tokens))

    def decode(self, tokens: list[int]) -> str:
        """Return the text of ids; bytes that are not UTF-8 become U+FFFD."""
        return self.decode_bytes(tokens).decode(errors="replace")

    def decode_tokens_bytes(self, tokens: list[int]) -> list[bytes]:
        """Return the bytes of each id; UnknownTokenError, a KeyError, for an id that is no rank.

        >>> SimpleBytePairEncoding.from_tiktoken("gpt2").decode_tokens_bytes([31373, 995])
        [b'hello', b' world']
        """
        try:
            return [self._decoder[token] for token in arguments.token_ids(tokens)]
        except KeyError as error:
            raise UnknownTokenError(f"tokens: no token has the id {error.args[0]}") from None

    @staticmethod
    def train(training_data: str, vocab_size: int, pat_str: str) -> SimpleBytePairEncoding:
        """Return an encoding of `vocab_size` tokens that is learnt from a text; every merge is printed in colours."""
        arguments.check_text(training_data, "training_data")
        return SimpleBytePairEncoding(pat_str=pat_str, mergeable_ranks=bpe_train(training_data, vocab_size, pat_str))

    @staticmethod
    def from_tiktoken(encoding: str | _ByteLevel) -> SimpleBytePairEncoding:
        """Return the encoding of a registered name, or of an `Encoding` of tokcli or tiktoken, without special tokens.

        >>> SimpleBytePairEncoding.from_tiktoken("cl100k_base").decode([15339, 1917])
        'hello world'
        """
        if isinstance(encoding, str):
            encoding = get_encoding(encoding)
        if not hasattr(encoding, "_mergeable_ranks"):
            raise arguments.wrong_type("encoding", "an Encoding or the name of one", encoding)
        return SimpleBytePairEncoding(pat_str=encoding._pat_str, mergeable_ranks=encoding._mergeable_ranks)


def bpe_encode(mergeable_ranks: dict[bytes, int], input: bytes, visualise: str | None = "colour") -> list[int]:
    """Return the ids of one piece: of all neighbours that are a token together, the lowest rank merges first.

    UnknownTokenError, a KeyError, where a byte is no token. `visualise` is that of `SimpleBytePairEncoding.encode`.

    >>> bpe_encode({b"a": 0, b"b": 1, b"ab": 2}, b"abb", visualise="simple")
    [b'a', b'b', b'b']
    [b'ab', b'b']
    <BLANKLINE>
    [2, 1]
    """
    if not isinstance(input, bytes):
        raise arguments.wrong_type("input", "bytes", input)
    if visualise:
        for step in merge_steps(mergeable_ranks, input):
            if visualise in _IN_COLOURS:
                visualise_tokens(list(step.parts))
            elif visualise == "simple":
                print(list(step.parts))
        print()
    return merge_piece(mergeable_ranks, input)


def bpe_train(data: str, vocab_size: int, pat_str: str, visualise: str | None = "colour") -> dict[bytes, int]:
    """Return the ranks that are learnt from a text: the 256 bytes, and then the most common pair, again and again.

    Of pairs that are equally common, the first in the text is next. `visualise` prints each merge. ValueError where
    `vocab_size` is below 256, or more than there are pairs to merge.

    >>> ranks = bpe_train("ab ab abc", 258, r"\\S+", visualise=None)
    >>> [token for token, rank in ranks.items() if rank >= 256]
    [b'ab', b'abc']
    """
    arguments.check_text(data, "data")
    arguments.check_text(pat_str, "pat_str")
    if arguments.number_in(vocab_size, "vocab_size") < _BYTES:
        raise ValueError(f"vocab_size: must be at least {_BYTES}, one token for each byte, not {vocab_size}")
    ranks = {bytes([value]): value for value in range(_BYTES)}
    words = [[bytes([value]) for value in piece.encode()] for piece in regex.findall(pat_str, data)]
    while len(ranks) < vocab_size:
        counts = Counter(pair for word in words for pair in pairwise(word))
        if not counts:
            raise ValueError(f"vocab_size: {len(ranks)} tokens leave nothing to merge in data, not {vocab_size}")
        pair = max(counts, key=counts.__getitem__)
        ranks[pair[0] + pair[1]] = len(ranks)
        words = [_merged(word, pair) for word in words]
        if visualise:
            _show_training(pair, len(ranks), words, visualise)
    return ranks


def _merged(word: list[bytes], pair: Pair) -> list[bytes]:
    """Return the parts of a word with every occurrence of a pair made one part, from left to right."""
    parts: list[bytes] = []
    for part in word:
        if parts and (parts[-1], part) == pair:
            parts[-1] += part
        else:
            parts.append(part)
    return parts


def _show_training(pair: Pair, size: int, words: list[list[bytes]], visualise: str) -> None:
    """Print a merge of training, and how the first words look after it, in tiktoken's words."""
    print(f"The current most common pair is {pair[0]!r} + {pair[1]!r}")
    print(f"So we made {pair[0] + pair[1]!r} our {size}th token")
    if visualise in _IN_COLOURS:
        print("Now the first fifty words in our training data look like:")
        visualise_tokens([part for word in words[:_WORDS_IN_COLOURS] for part in word])
    elif visualise == "simple":
        print("Now the first twenty words in our training data look like:")
        for word in words[:_WORDS_AS_LISTS]:
            print(word)
    print("\n")


def visualise_tokens(token_values: list[bytes]) -> None:
    """Print tokens side by side, each on a background that differs from the one before; U+FFFD for parts of characters.

    >>> visualise_tokens([b"ab", b"c"])  # doctest: +ELLIPSIS
    \x1b[48;5;167mab\x1b[48;5;185mc\x1b[0m
    """
    characters, last = 0, -1
    shown = []
    for token in token_values:
        text = token.decode(errors="replace")
        colour = characters % len(_BACKGROUNDS)
        if colour == last:  # as many characters as colours ago
            colour = (colour + 1) % len(_BACKGROUNDS)
        shown.append(f"\x1b[48;5;{_BACKGROUNDS[colour]}m{text}")
        characters, last = characters + len(text), colour
    print("".join(shown) + _RESET)


def train_simple_encoding() -> SimpleBytePairEncoding:
    """Return an encoding of 600 tokens that is learnt from the text of this file, and print how it encodes hello world.

    Its ids are those of this text, and so not those of tiktoken's function, which learns from another text.
    """
    data = Path(__file__).read_text("utf-8")
    enc = SimpleBytePairEncoding.train(data, vocab_size=600, pat_str=_GPT2_PATTERN)
    print("This is the sequence of merges performed in order to encode 'hello world':")
    tokens = enc.encode("hello world")
    assert enc.decode(tokens) == "hello world"
    assert enc.decode_tokens_bytes(tokens) == [b"hello", b" world"]
    return enc
