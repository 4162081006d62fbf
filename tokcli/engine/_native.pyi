"""The native backend (tokcli/engine/native). Families are indices of FAMILIES; text is str or UTF-8; ids are uint32.

KeyError: a byte of the text, or an id, is not in the vocabulary. UnicodeEncodeError: a lone surrogate. Every call that
works on much text lets go of the GIL; a Vocabulary serves any number of threads.
"""

from collections.abc import Mapping
from typing import overload

from typing_extensions import Buffer

FAMILIES: tuple[str, ...]
IMAGE_VERSION: int
TEXT_IMAGE_VERSION: int

def build_image(blob: Buffer, sizes: Buffer, ids: Buffer, source: Buffer, merges: Buffer | None = None) -> bytes:
    """The image of tokens: their bytes in a row, a size and an id for each, and 32 bytes that name the source.

    Merges are found, or given: three ids each (uint32). A merge has the rank of the token that it makes.
    """

def live_merges(blob: Buffer, sizes: Buffer, ids: Buffer, merges: Buffer) -> bytes:
    """Of merges (three uint32 each) in order, the numbers (uint32) of those that can happen; tokens as above.

    ValueError where tokens are so long that it would take minutes.
    """

def set_instructions(most: str) -> str: ...
def split(text: str, family: int) -> bytes:
    """Where the pieces of a text end, in bytes of UTF-8 (uint64)."""

def format_ids(ids: Buffer, between: bytes) -> bytes:
    """Ids (uint32) as decimal text."""

def format_records(ids: Buffer, offsets: Buffer, between: bytes, joint: bytes, limit: int) -> tuple[bytes, bool]:
    """The same for records that begin at offsets (uint64), of each at most `limit` ids; whether that cut any."""

def parse_ids(text: Buffer) -> Ids | None:
    """The ids in decimal text between white space and commas; None for anything else, and above uint32."""

def narrow_ids(ids: Buffer) -> bytes:
    """The lower 16 bits of each id."""

def valid_utf8(text: Buffer) -> int:
    """How many bytes from the beginning are whole characters of UTF-8."""

def record_ends(data: Buffer, separator: int) -> bytes:
    """The places (uint64) behind each such byte."""

class Ids(Buffer):
    """Ids as a read-only buffer of uint32 (as bytes: memoryview(ids).cast("I"))."""

class Vocabulary:
    """An image that was opened, and not copied: the buffer is kept. ValueError where it is none."""

    def __init__(self, image: Buffer) -> None: ...
    def verify(self) -> bool:
        """Whether every byte is as it was built."""
    def source(self) -> bytes:
        """The 32 bytes that were given to build_image."""
    def count(self, text: str, family: int, threads: int = 1) -> int: ...
    def count_buffer(self, data: Buffer, family: int, threads: int = 1) -> int: ...
    def encode(self, text: str, family: int) -> list[int]: ...
    def encode_str(self, text: str, family: int, threads: int = 1) -> Ids: ...
    def encode_buffer(self, data: Buffer, family: int, threads: int = 1) -> Ids: ...
    def encode_piece(self, data: Buffer) -> list[int]:
        """The ids of bytes that are not split."""
    def encode_batch(self, texts: list[str], family: int, threads: int = 1) -> tuple[Ids, bytes]:
        """All ids (uint32), and where each text's begin (uint64, one more than there are texts)."""
    def encode_batch_lists(self, texts: list[str], family: int, threads: int = 1) -> list[list[int]]: ...
    def parents(self) -> bytes:
        """The two ids that merge into each id (uint32): all left ones, then all right ones; 2**32 - 1 for none."""
    def decode(self, ids: list[int]) -> bytes: ...
    def decode_str(self, ids: list[int]) -> str: ...
    def encode_records(self, data: Buffer, ends: Buffer, separator_size: int, family: int) -> tuple[Ids, bytes]:
        """The ids of records, and where each one's begin (uint64); they end at `ends` (uint64), behind a separator."""
    def count_records(self, data: Buffer, ends: Buffer, separator_size: int, family: int) -> bytes:
        """How many ids each record has (uint32)."""

class Decoder:
    """Ids in buffers to bytes. A special token's id that is also a token's means the token."""

    def __init__(self, vocabulary: Vocabulary, special_tokens: dict[int, bytes]) -> None: ...
    def decode(self, ids: Buffer, width: int) -> bytes:
        """The bytes of ids of 2 or 4 bytes each, in this machine's order."""

# --- tokenizers that are not byte-level (native_text.py, native_models.py) -------------------------------------------

Answer = tuple[list[int], list[int], list[bytes]]
"""Code points whose rules, and code points whose classes are to be learned first, and runs of characters (UTF-8)."""

class TextModel:
    """Distinct tokens (UTF-8 in a row, a size and an id for each), and what is done with text. Texts here are UTF-8.

    It is told of unknown text, kept symbols, one model, words, added tokens and steps of a normalizer in this order,
    and then encodes in any number of threads. ValueError: a table does not fit. An id of 0xFFFFFFFF is none.
    """

    @overload
    def __init__(self, blob: Buffer, sizes: Buffer, ids: Buffer) -> None: ...
    @overload
    def __init__(self, image: Buffer) -> None:
        """What `image` gave, at a multiple of 16 bytes, and is not changed; ValueError for anything else."""
    def image(self) -> bytes:
        """All of it but the runs of characters that it has learned."""
    def set_unknown(self, id: int, bytes: Buffer, joins: bool) -> None:
        """The id for what is unknown, or one for each byte (uint32); whether several such become one id."""
    def set_kept(self, texts: list[bytes]) -> None:
        """Symbols that stay whole, in SentencePiece's normalizer and models."""
    def use_pieces(self, orders: Buffer, kept: Buffer) -> None:
        """BPE by pieces: when each is merged (uint32, lowest first), and whether it is a kept symbol (a byte)."""
    def use_pairs(
        self, pairs: Buffer, ranks: Buffer, made: Buffer, has_unknown: bool, fuses: bool, whole_first: bool,
        prefix: bytes, suffix: bytes,
    ) -> None:  # fmt: skip
        """BPE by pairs of ids (uint64, the left one above 32 bits), their rank and the id of both (uint32)."""
    def use_word_piece(self, prefix: bytes, max_chars: int) -> None: ...
    def use_whole(self, by_character: bool) -> None:
        """Words, or characters and kept symbols, that are tokens or unknown."""
    def use_unigram(self, scores: Buffer, unknown_score: float, kind: int) -> None:
        """Scores are doubles. 0: of each word; 1, 2: of all the text, in sums of 32 or 64 bits."""
    def set_words(self, words: int, space: bytes, before_known: bool) -> None:
        """How a piece is cut: 0 not at all, 1 before each space, 2 where no token stands on both sides."""
    def set_metaspace(self, splits: bool, blindly: bool, prefix: int) -> None:
        """A space before pieces: 0 never, 1 always, 2 at the start; `blindly`: even where one is."""
    def set_added(self, normalized: bool, tokens: list[tuple[bytes, int, bool, bool, bool]]) -> None:
        """Added tokens: text, id, single_word, lstrip, rstrip."""
    def add_step(self, kind: int, found: bytes, content: bytes, left: bool, right: bool) -> None: ...
    def set_spaces(
        self, units: Buffer, texts: bytes, add_prefix: bool, trim: bool, as_suffix: bool, is_llama: bool, space: bytes
    ) -> None:
        """SentencePiece's normalizer: the units (uint32) and texts of a charsmap, and what becomes of spaces."""
    def use_classes(self) -> None:
        """Cuts pieces by the classes of characters."""
    def learn(
        self, chars: Mapping[int, bytes | None], classes: Mapping[int, int], runs: Mapping[bytes, bytes]
    ) -> None: ...
    def encode(self, text: str, raw: bytes, normalized: bytes) -> list[int] | Answer | None:
        """With a state for each added token (1: found, 2: found and taken as text). None: only Python can do it."""
    def encode_ids(self, text: str, raw: bytes, normalized: bytes) -> Ids | Answer | None: ...
    def count(self, text: str, raw: bytes, normalized: bytes) -> int | Answer | None: ...

# --- training --------------------------------------------------------------------------------------------------------

class PieceTable:
    """Distinct pieces and their counts: the twin of training.counts.PieceTable, which says what its methods promise."""

    piece_bytes: int
    memory: int
    has_overflown: bool
    """Whether `count` went beyond 2**62 (the other methods raise OverflowError)."""

    def __len__(self) -> int: ...
    def count(self, data: Buffer, family: int) -> None:
        """Counts the pieces of a text (UTF-8, complete)."""
    def add(self, piece: Buffer, count: int) -> None: ...
    def update(self, other: PieceTable) -> None: ...
    def add_block(self, block: Buffer) -> None: ...
    def sort(self) -> None: ...
    def next_block(self, limit: int) -> bytes: ...
    def item(self, number: int) -> tuple[bytes, int]: ...
    def clear(self) -> None: ...

class RunMerger:
    """Merges runs of blocks. ValueError: a block is damaged or out of order; OverflowError: a sum is too large."""

    def __init__(self, runs: int) -> None: ...
    def feed(self, run: int, block: Buffer) -> None:
        """The next block of the run that was asked for; an empty one ends it."""
    def merge(self, limit: int) -> bytes | int | None:
        """A block; or the number of the run that has to be fed; or None at the end."""

class Trainer:
    """Learns merges; ids are places of tokens. `token_bytes` and `byte_ids` are uint32: sizes, and ids of the bytes.

    `memory` is what its lists may take, about, in bytes; 0 for any. It changes no merge.
    """

    def __init__(
        self,
        vocab_size: int,
        min_frequency: int,
        max_token_bytes: int,
        first_wins: bool,
        memory: int,
        token_bytes: Buffer,
        byte_ids: Buffer,
    ) -> None: ...
    def add(self, ids: Buffer, count: int) -> None:
        """A piece as the ids (uint32) of its parts."""
    def add_table(self, table: PieceTable, in_order: bool) -> None: ...
    def add_block(self, block: Buffer) -> None: ...
    def reserve(self, parts: int) -> None: ...
    def run(self, milliseconds: int, limit: int) -> tuple[bytes, bool]:
        """The next merges (left, right, count as uint64), and whether there may be more; OverflowError if too large."""
