"""The native twin of pre-tokenizing and merging: an opened vocabulary image, and the scanner for a known pattern.

It answers exactly as the Python code does, or not at all: what goes wrong is left to that code to name.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Mapping
from itertools import chain
from typing import TYPE_CHECKING, Any

from tokcli.engine import backend
from tokcli.engine import known_patterns as known

if TYPE_CHECKING:
    from collections.abc import Callable

    from typing_extensions import Buffer

    from tokcli.engine.merges import Merges

# The family of scanners (scan.h) that does what a pattern says.
FAMILY_OF = {
    known.R50K: "r50k",
    known.GPT2: "r50k",
    known.GPT2_EDUCATIONAL: "r50k",
    known.CL100K: "cl100k",
    known.LLAMA3: "llama3",
    known.GPT4: "llama3",
    known.QWEN2: "qwen2",
    known.O200K: "o200k",
    known.TEKKEN: "tekken",
    known.QWEN35: "qwen35",
    known.STARCODER: "starcoder",
    known.DEEPSEEK: "deepseek",
    known.FALCON: "falcon",
    known.LLAMA_CPP_DEFAULT: "default",
    known.LLAMA_CPP_GPT4O: "gpt4o",
    known.LLAMA_CPP_GRANITE: "granite",
    known.LLAMA_CPP_TEKKEN: "llama_tekken",
    known.DEEPSEEK_CODER: "coder",
    known.LLAMA_CPP_CODER: "llama_coder",
    known.BLOOM: "bloom",
}
UNNAMED = bytes(32)  # the source of an image that is not kept


class NativeEncoder:
    """A vocabulary and a family of patterns. KeyError and UnicodeEncodeError as _native.pyi says.

    With a check (text_check.py) a str of which that does not hold has no answer but None.
    """

    def __init__(self, vocabulary: Any, family: int, check: Any = None) -> None:
        self._vocabulary = vocabulary
        self._family = family
        self._check = check

    def checked(self, check: Any) -> NativeEncoder:
        """The same with a check."""
        return NativeEncoder(self._vocabulary, self._family, check)

    def count(self, text: str, threads: int = 1) -> int | None:
        """How many ids a text has."""
        count: int | None = self._vocabulary.count(text, self._family, threads, self._check)
        return count

    def encode(self, text: str) -> list[int] | None:
        """The ids of a text."""
        ids: list[int] | None = self._vocabulary.encode(text, self._family, self._check)
        return ids

    def encode_piece(self, piece: bytes) -> list[int]:
        """The ids of bytes that are not split."""
        ids: list[int] = self._vocabulary.encode_piece(piece)
        return ids

    def encode_array(self, text: str, threads: int = 1) -> memoryview | None:
        """The ids of a text as uint32."""
        ids = self._vocabulary.encode_str(text, self._family, threads, self._check)
        return None if ids is None else memoryview(ids).cast("I")

    def encode_utf8(self, data: Buffer) -> memoryview:
        """The ids of text as UTF-8, which is not checked here (stream.py does)."""
        return memoryview(self._vocabulary.encode_buffer(data, self._family)).cast("I")

    def count_utf8(self, data: Buffer) -> int:
        """How many ids text as UTF-8 has."""
        count: int = self._vocabulary.count_buffer(data, self._family)
        return count

    def encode_records(self, data: Buffer, ends: Buffer, separator_size: int) -> tuple[memoryview, memoryview]:
        """All ids of the records that end at `ends` (uint64) in UTF-8, and where each record's begin."""
        ids, offsets = self._vocabulary.encode_records(data, ends, separator_size, self._family)
        return memoryview(ids).cast("I"), memoryview(offsets).cast("Q")

    def count_records(self, data: Buffer, ends: Buffer, separator_size: int) -> memoryview:
        """How many ids each record has (uint32)."""
        return memoryview(self._vocabulary.count_records(data, ends, separator_size, self._family)).cast("I")

    def encode_batch(self, texts: list[str], threads: int) -> tuple[memoryview, memoryview] | None:
        """All ids of some texts, and where each text's begin; None where the check does not hold for one of them."""
        made = self._vocabulary.encode_batch(texts, self._family, threads, self._check)
        return None if made is None else (memoryview(made[0]).cast("I"), memoryview(made[1]).cast("Q"))

    def encode_batch_lists(self, texts: list[str], threads: int) -> list[list[int] | None]:
        """The ids of each text."""
        ids: list[list[int] | None] = self._vocabulary.encode_batch_lists(texts, self._family, threads, self._check)
        return ids

    def decode(self, ids: list[int]) -> bytes:
        """The bytes of some ids; KeyError for special tokens too, which are not in the image."""
        data: bytes = self._vocabulary.decode(ids)
        return data

    def decoder(self, special_tokens: Mapping[str, int]) -> Any:
        """What turns ids in a buffer into bytes, special tokens too: `decode(ids, bytes of one)`; or KeyError."""
        native = backend.native()
        assert native is not None
        return native.Decoder(self._vocabulary, {i: token.encode() for token, i in special_tokens.items()})

    def decode_str(self, ids: list[int]) -> str:
        """The text of some ids, U+FFFD for what is not UTF-8."""
        text: str = self._vocabulary.decode_str(ids)
        return text


def image_of(
    ranks: Mapping[bytes, int],
    merges: Iterable[tuple[int, int, int]] | None = None,
    *,
    drops_missing: bool = False,
) -> bytes:
    """The image of a vocabulary; ValueError where an id is too large for one. Merges are found, where not given.

    `drops_missing`: bytes that are no token have no ids; else they are an error.
    """
    native = backend.native()
    if native is None:
        raise ValueError("there is no native backend")
    try:
        sizes, ids = array("I", map(len, ranks)), array("I", ranks.values())
        pairs = None if merges is None else array("I", chain.from_iterable(merges))
    except OverflowError:
        raise ValueError("an id is too large for an image") from None
    image: bytes = native.build_image(b"".join(ranks), sizes, ids, UNNAMED, pairs, drops_missing)
    return image


def open_vocabulary(image: Callable[[], Any]) -> Any:
    """An image that is made or mapped on demand, as native code has it; None where only Python can do its work."""
    native = backend.native()
    if native is None:
        return None
    try:
        return native.Vocabulary(image())
    except ValueError:
        return None


def encoder_for(pat_str: str, vocabulary: Any) -> NativeEncoder:
    """The encoder for a pattern that is in FAMILY_OF."""
    native = backend.native()
    assert native is not None
    return NativeEncoder(vocabulary, native.FAMILIES.index(FAMILY_OF[pat_str]))


def split_natively(pat_str: str, text: str) -> list[bytes] | None:
    """The pieces of a text; None where only Python can split it."""
    native = backend.native()
    if native is None or pat_str not in FAMILY_OF:
        return None
    try:
        ends = memoryview(native.split(text, native.FAMILIES.index(FAMILY_OF[pat_str]))).cast("Q").tolist()
        data = text.encode()
    except (UnicodeError, OverflowError):
        return None
    return [data[begin:end] for begin, end in zip([0, *ends], ends, strict=False)]


def parents_in(vocabulary: Any) -> Merges:
    """The two ids that merge into each id of an opened image."""
    from tokcli.engine.merges import Merges

    both = array("I", vocabulary.parents())
    return Merges(both[: len(both) // 2], both[len(both) // 2 :])
