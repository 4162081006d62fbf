"""The models of a `TokenizerSpec`: how pieces of text become ids."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal, NamedTuple, TypeAlias

BYTES = 256  # lower ids of numbered pairs are bytes
PairMerges: TypeAlias = Mapping[int, tuple[int, int]]  # left << 32 | right -> (rank, id of both together)
LlamaKind = Literal["llama", "gpt2", "bert", "t5", "rwkv", "plamo2"]
# A token of a GGUF file has one of these kinds or several (llama.cpp, llama_token_attr).
NORMAL, CONTROL, USER_DEFINED, UNKNOWN, UNUSED, BYTE = 1, 2, 4, 8, 16, 32
PieceKind = Literal["normal", "unknown", "control", "user_defined", "byte", "unused"]
ModelType = Literal["unigram", "bpe", "word", "char"]


class Ranks(NamedTuple):
    """Merges bytes into the token of the lowest rank first; ranks are ids.

    `names_special` says whether the file names special tokens. `sha256` (hex) is that of the ranks as a .tiktoken
    file, by which published ones are known; "" for ranks of other formats.
    """

    mergeable_ranks: dict[bytes, int]
    names_special: bool = True
    sha256: str = ""


class NumberedPairs(NamedTuple):
    """Merges pairs of ids in the order of the list: pair n makes the id BYTES + n (minbpe)."""

    pairs: Sequence[tuple[int, int]]


class Pairs(NamedTuple):
    """Merges pairs of tokens that are texts, by a list, with the settings of Hugging Face's model BPE.

    With `ignore_merges` a piece that is a token is not merged. `prefix` is before every character of a piece but the
    first, `suffix` after the last.
    """

    ids: Mapping[str, int]
    merges: PairMerges
    unk_token: str | None = None
    fuse_unk: bool = False
    byte_fallback: bool = False
    ignore_merges: bool = False
    prefix: str = ""
    suffix: str = ""


class Unigram(NamedTuple):
    """Takes the tokens with the highest total score; `pieces` has the text and the score of each id, in order."""

    pieces: Sequence[tuple[str, float]]
    unk_id: int | None
    byte_fallback: bool = False


class WordPiece(NamedTuple):
    """Takes the longest token at each place of a piece; tokens after the first have a prefix.

    A piece that tokens do not cover, or that has more than `max_chars` characters, is unknown.
    """

    ids: Mapping[str, int]
    unk_token: str
    prefix: str
    max_chars: int


class WordLevel(NamedTuple):
    """Makes one token of each piece, which is unknown if it is none."""

    ids: Mapping[str, int]
    unk_token: str


class LlamaModel(NamedTuple):
    """Finds tokens as llama.cpp does for vocabularies of this `kind`: by scores, merges, or the longest match.

    `texts`, `scores` and `kinds` (NORMAL and so on) are by id; `unknown` is the id of unknown text. The `merges` of
    gpt2 are lines, each two texts with a space between them; with `byte_level` they are of bytes in GPT-2's alphabet,
    with `shows_spaces` a space is written as a visible one. With `ignore_merges` a word that is a token is not merged,
    with `lines_whole` no run of newlines that is a token.
    """

    kind: LlamaKind
    texts: Sequence[str]
    scores: Sequence[float]
    kinds: Sequence[int]
    unknown: int | None = None
    merges: Sequence[bytes] = ()
    byte_level: bool = False
    shows_spaces: bool = True
    ignore_merges: bool = False
    lines_whole: bool = False


class SpmPiece(NamedTuple):
    """A piece of a SentencePiece vocabulary; its score is a float of 32 bits."""

    text: str
    score: float
    kind: PieceKind


class SentencePieceModel(NamedTuple):
    """Finds the pieces of a text by the way of its type, such as BPE or Unigram (SentencePiece).

    The pieces have the ids from `first_id` on, in order; those that are an added token's are never a piece's. Unknown
    text has `unknown_id`, or, if that is None, the id of the piece for it; with `byte_fallback`, its bytes have the ids
    of theirs.
    """

    pieces: Sequence[SpmPiece]
    type: ModelType = "unigram"
    byte_fallback: bool = False
    first_id: int = 0
    unknown_id: int | None = None


TokenizerJsonModel: TypeAlias = Pairs | Unigram | WordPiece | WordLevel
Model: TypeAlias = Ranks | NumberedPairs | LlamaModel | SentencePieceModel | TokenizerJsonModel
