"""`Tokenizer`: the interface of any tokenizer, which `Encoding` and the commands use, role by role.

`RankTokenizer` (tiktoken/) is one, by ranks and a pattern. The families that turn whole texts into ids are
`TextTokenizer`s, and the two adapters in adapters/ make `Tokenizer`s of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Protocol

from tokcli.engine.base.arguments import NONE
from tokcli.engine.stream.chunks import PLAIN, ReadOptions
from tokcli.engine.token_vocabulary import TokenVocabulary

if TYPE_CHECKING:
    from typing_extensions import Buffer

    from tokcli.engine.bpe.bpe import MergeStep
    from tokcli.engine.bpe.merges import ParentTable
    from tokcli.engine.native_models.twins import RecordEncoder
    from tokcli.engine.pretokenizers.pretokenizer import PreTokenizer
    from tokcli.engine.stream.chunks import Blocks, Chunk
    from tokcli.engine.stream.utf8 import AnyChunk, SplitText
    from tokcli.engine.text_tokenizer import TextTokenizer
    from tokcli.engine.tokens import Tokens


class WholeTexts(Protocol):
    """Turns whole texts into ids.

    `allowed` are the special tokens that become their id; all others are ordinary text. Arrays of ids are memoryviews
    of uint32; `threads` is the number of threads to use.
    """

    def encode(self, text: str, allowed: frozenset[str] = NONE) -> list[int]:
        """Return the ids of a text."""

    def count(self, text: str) -> int:
        """Return the number of ids of a text."""

    def encode_array(self, text: str) -> memoryview:
        """Return the ids of a text as an array."""

    def encode_bytes(self, data: bytes) -> memoryview:
        """Return the ids of bytes as an array; UnicodeDecodeError where they must be UTF-8 and are not."""

    def encode_batch(self, texts: Sequence[str], threads: int) -> list[list[int]]:
        """Return the ids of each text."""

    def encode_array_batch(self, texts: Sequence[str], threads: int) -> tuple[memoryview, memoryview]:
        """Return the ids of all texts in one array, and len(texts) + 1 offsets (uint64) at which each text's begin."""


class Streams(Protocol):
    """Reads streams of bytes in parts, and turns these into ids or pieces, one after another or many at once."""

    def read_chunks(self, blocks: Blocks, options: ReadOptions = PLAIN) -> Iterator[Chunk]:
        """Yield blocks of bytes as chunks of text whose ids, in a row, are those of the whole input.

        Special tokens in `refused` raise DisallowedSpecialTokenError.
        """

    def read_parts(self, blocks: Blocks, options: ReadOptions = PLAIN) -> Iterator[AnyChunk]:
        """Yield blocks of bytes in the form that is encoded fastest: UTF-8 where native code takes it, else chunks."""

    def read_split(self, blocks: Blocks, options: ReadOptions = PLAIN) -> Iterator[SplitText | Chunk]:
        """Yield blocks of bytes as text with its pieces where native code splits it, else as chunks to be split."""

    def read_whole(self, blocks: Blocks, options: ReadOptions = PLAIN) -> Chunk | None:
        """Return blocks of bytes as one chunk; None where they are empty, InputError above MAX_PIECE_BYTES."""

    def cuts_at(self, data: bytes, at: int) -> bool:
        """Return whether streams may be cut at byte `at` of UTF-8: both sides then have the ids of the whole."""

    def split_chunk(self, chunk: Chunk) -> list[bytes]:
        """Return the pieces of a chunk; a special token is one piece."""

    def encode_part(self, part: AnyChunk) -> memoryview:
        """Return the ids of a part of a stream as an array."""

    def count_part(self, part: AnyChunk) -> int:
        """Return the number of ids of a part of a stream."""

    def for_records(self, data: bytes, options: ReadOptions = PLAIN, *, is_utf8: bool = False) -> RecordEncoder | None:
        """Return the native code that encodes all records in a buffer at once; None where they go one by one.

        Records go one by one where a special token that the options name may occur in `data`, or where `data` is not
        all UTF-8 and `options.errors` is not "bytes". Where `is_utf8`, the caller knows that it is all UTF-8.
        """


class Places(Protocol):
    """Turns parts of streams into tokens with their places."""

    def encode_spans(self, part: AnyChunk) -> Tokens:
        """Return the tokens of a part with their places in characters; InputError where these are not known."""

    def part_ends(self, part: AnyChunk, size: int) -> Sequence[int]:
        """Return the bytes at which parts of a part end that `encode_part_spans` takes one by one.

        Each has `size` bytes or a few more. There are none where `encode_spans` has to take all of it.
        """

    def encode_part_spans(self, part: memoryview, *, begins: bool, ends: bool) -> Tokens | None:
        """Return the tokens of a part that `part_ends` gave, with their places in its characters.

        `begins` and `ends` say whether what it was cut out of begins and ends with it. Return None for a part whose
        places only `encode_spans` of the whole tells.
        """


class Pieces(Protocol):
    """Turns pieces into ids, which are not split again."""

    def encode_piece(self, piece: bytes) -> list[int]:
        """Return the ids of one piece, which is not split again."""

    def count_pieces(self, pieces: list[bytes]) -> list[int]:
        """Return the number of ids of each piece."""

    def encode_each(self, part: SplitText) -> tuple[Buffer, bytes] | None:
        """Return the ids of a part and the number of ids of each piece (both uint32); None if only Python can do so."""

    def merge_steps(self, piece: bytes) -> Iterator[MergeStep] | None:
        """Yield each merge of a piece, from bytes to tokens; None where only the parents of its ids tell the merges."""

    def encode_own_texts(self, ids: Iterable[int]) -> Iterator[tuple[int, Sequence[int]]]:
        """Yield (id, ids of the text that it stands for) for those ids that stand for a text by themselves."""


class Tokenizer(TokenVocabulary, WholeTexts, Streams, Places, Pieces, Protocol):
    """A vocabulary with all ways from text to ids and back."""

    @property
    def name(self) -> str:
        """The name of the vocabulary in messages."""

    @property
    def pretokenizer(self) -> PreTokenizer | None:
        """The pattern that alone cuts text into pieces; None where there is none, or other parts cut text too."""

    @property
    def rules(self) -> TextTokenizer | None:
        """The tokenizer of whole texts behind this one, with everything its file says; None for ranks and a pattern."""

    @property
    def is_native(self) -> bool:
        """Whether native code does the work."""

    @property
    def sees_whole_texts(self) -> bool:
        """Whether the tokenizer is more than ranks and a pattern: templates and offsets then need the whole text."""

    @property
    def changes_text(self) -> bool:
        """Whether tokens may have other bytes than the text that they encode, as after a normalizer."""

    @property
    def puts_space_first(self) -> bool:
        """Whether `read_parts` adds a space before the text that is not in the input."""

    def decode_array(self, ids: memoryview) -> bytes:
        """Return the bytes of an array of ids (uint32 or uint16); UnknownTokenError as in `decode`."""

    def decode_text(self, ids: Sequence[int]) -> str:
        """Return the text of ids, with U+FFFD for bytes that are not UTF-8; UnknownTokenError as in `decode`."""

    def ranks(self) -> dict[bytes, int]:
        """Return the ids of all tokens that are not special."""

    def id_of(self, token: bytes) -> int | None:
        """Return the id of a token, special or not; None where there is none."""

    def is_special(self, number: int) -> bool:
        """Return whether an id is that of a special token, and of no other token."""

    def all_parents(self) -> ParentTable:
        """Return the parents of every id; VocabularyError where ids are too large for a table."""
