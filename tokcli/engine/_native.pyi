"""The native backend (tokcli/engine/native). Families are indices of FAMILIES; text is str or UTF-8; ids are uint32.

KeyError: a byte of the text, or an id, is not in the vocabulary. UnicodeEncodeError: a lone surrogate. Every call that
works on much text lets go of the GIL; a Vocabulary serves any number of threads.
"""

from typing_extensions import Buffer

FAMILIES: tuple[str, ...]
IMAGE_VERSION: int

def build_image(blob: Buffer, sizes: Buffer, ids: Buffer, source: Buffer) -> bytes:
    """The image of tokens: their bytes in a row, a size and an id for each, and 32 bytes that name the source."""

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
