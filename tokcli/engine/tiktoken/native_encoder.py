"""Opened vocabulary images: their tokens, merging of known pieces, and the native scanner for a known pattern.

They answer exactly as the Python code does, or raise Refused: naming errors is left to the Python code.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Mapping
from functools import wraps
from itertools import accumulate
from typing import TYPE_CHECKING

from tokcli.engine import backend
from tokcli.engine.native_models.text_model import Refused
from tokcli.engine.pretokenizers import known_patterns as known
from tokcli.engine.pretokenizers.pretokenizer import PreTokenizer
from tokcli.engine.stream.utf8 import SplitText

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import ParamSpec, TypeVar

    from typing_extensions import Buffer

    from tokcli.engine import _native

    P = ParamSpec("P")
    R = TypeVar("R")

# The name of the native scanner that splits as a pattern does.
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


def refusing(method: Callable[P, R]) -> Callable[P, R]:
    """Return a method that raises Refused where native code finds bytes or ids that are not in the vocabulary.

    Python then names what is wrong. Lone surrogates and numbers that do not fit are refused, too; a wrong type is an
    error of the caller, and stays one.
    """

    @wraps(method)
    def answer(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return method(*args, **kwargs)
        except (KeyError, UnicodeEncodeError, OverflowError):
            raise Refused from None

    return answer


class NativeTokens:
    """The tokens of an opened vocabulary, for ids to text."""

    def __init__(self, vocabulary: _native.Vocabulary) -> None:
        self._vocabulary = vocabulary

    @refusing
    def decode(self, ids: Sequence[int]) -> bytes:
        """Return the bytes of ids; special tokens are refused, since the image lacks them."""
        return self._vocabulary.decode(ids)

    @refusing
    def decode_str(self, ids: Sequence[int]) -> str:
        """Return the text of ids, with U+FFFD for bytes that are not UTF-8."""
        return self._vocabulary.decode_str(ids)

    def decoder(self, special_tokens: Mapping[str, int]) -> _native.Decoder:
        """Return the vocabulary with special tokens, for buffers of ids; its methods raise KeyError for unknown ids."""
        return open_decoder(self._vocabulary, {id: token.encode() for token, id in special_tokens.items()})


def open_vocabulary(image: Callable[[], Buffer]) -> _native.Vocabulary | None:
    """Return the opened image that a function makes or maps, if there is native code, and it takes the image."""
    native = backend.native()
    if native is None:
        return None
    try:
        opened: _native.Vocabulary = native.Vocabulary(image())
    except ValueError:
        return None
    return opened


def is_intact(image: Buffer) -> bool:
    """Return whether an image is as it was built, and native code opens it."""
    opened = open_vocabulary(lambda: image)
    return opened is not None and opened.verify()


def open_decoder(vocabulary: _native.Vocabulary, others: Mapping[int, bytes]) -> _native.Decoder:
    """Return the decoder of an opened vocabulary and of other tokens, whose bytes are given by their ids."""
    decoder: _native.Decoder = backend.code().Decoder(vocabulary, dict(others))
    return decoder


def native_splitter(pretokenizer: PreTokenizer) -> int | _native.Pattern | None:
    """Return what native code splits by, if it can: the number of a family, or a pattern."""
    native = backend.native()
    family = FAMILY_OF.get(pretokenizer.pat_str)
    if native is None or family is None:
        return pretokenizer.native_pattern
    number: int = native.FAMILIES.index(family)
    return number


class InvalidRecords:
    """Encodes records with bytes that are not UTF-8 as errors="bytes" does: see `RecordEncoder`."""

    def __init__(self, vocabulary: _native.Vocabulary, splitter: int | _native.Pattern) -> None:
        self._vocabulary, self._splitter = vocabulary, splitter

    @refusing
    def encode_records(self, data: Buffer, ends: Buffer, separator_size: int) -> tuple[memoryview, memoryview]:
        """Return the ids of all records in `data`, which end at `ends` (uint64), and where each record's ids begin."""
        ids, offsets = self._vocabulary.encode_invalid(data, ends, separator_size, self._splitter, True)
        return memoryview(ids).cast("I"), memoryview(offsets).cast("Q")

    @refusing
    def count_records(self, data: Buffer, ends: Buffer, separator_size: int) -> memoryview:
        """Return the number of ids of each record as an array."""
        counts = self._vocabulary.encode_invalid(data, ends, separator_size, self._splitter, False)
        return memoryview(counts).cast("I")


class NativePieces:
    """Merging of pieces that are known, natively, by an opened vocabulary."""

    def __init__(self, vocabulary: _native.Vocabulary) -> None:
        self._vocabulary = vocabulary

    @refusing
    def merge(self, part: SplitText) -> memoryview:
        """Return the ids of a text whose pieces are known, as an array."""
        if part.family is not None:
            return InvalidRecords(self._vocabulary, part.family).encode_records(part.data, _as_record(part), 0)[0]
        ids, _, _ = self._vocabulary.encode_pieces(part.data, part.ends, part.is_invalid)
        return memoryview(ids or b"").cast("I")

    @refusing
    def merge_each(self, part: SplitText) -> tuple[_native.Ids, bytes]:
        """Return the ids of a text whose pieces are known, and the number of ids of each (uint32)."""
        ids, counts, _ = self._vocabulary.encode_pieces(part.data, part.ends, False, True, True)
        assert ids is not None
        assert counts is not None
        return ids, counts

    @refusing
    def count(self, part: SplitText) -> int:
        """Return the number of ids of a text whose pieces are known."""
        if part.family is not None:
            return InvalidRecords(self._vocabulary, part.family).count_records(part.data, _as_record(part), 0)[0]
        return self._vocabulary.encode_pieces(part.data, part.ends, part.is_invalid, False)[2]

    @refusing
    def merge_piece(self, piece: bytes) -> list[int]:
        """Return the ids of bytes that are not split."""
        ids, _, _ = self._vocabulary.encode_pieces(piece, array("Q", [len(piece)] if piece else ()))
        return memoryview(ids or b"").cast("I").tolist()

    @refusing
    def count_pieces(self, pieces: Sequence[bytes]) -> list[int]:
        """Return the number of ids of each piece, none of them empty."""
        ends = array("Q", accumulate(map(len, pieces)))
        _, counts, _ = self._vocabulary.encode_pieces(b"".join(pieces), ends, False, False, True)
        return memoryview(counts or b"").cast("I").tolist()


def _as_record(part: SplitText) -> Buffer:
    """Return where the records of a part end that is a single one."""
    return array("Q", [part.nbytes])


@refusing
def split_text(pat_str: str, text: str) -> list[bytes]:
    """Return the pieces of a text as UTF-8, cut by a known pattern; Refused for any other, and without native code."""
    native, family = backend.native(), FAMILY_OF[pat_str]
    if native is None:
        raise Refused
    ends = memoryview(native.split(text, native.FAMILIES.index(family))).cast("Q").tolist()
    data = text.encode()
    return [data[begin:end] for begin, end in zip([0, *ends], ends, strict=False)]


def split_plain(pat_str: str, data: memoryview) -> SplitText:
    """Return a part of a stream (UTF-8) with its pieces, as native code splits it by a known pattern."""
    native = backend.native()
    assert native is not None
    return SplitText(data, native.split(data, native.FAMILIES.index(FAMILY_OF[pat_str])))


def parents_in(vocabulary: _native.Vocabulary) -> tuple[array[int], array[int]]:
    """Return the left and the right parent of each id in an opened image (uint32)."""
    both = array("I", vocabulary.parents())
    return both[: len(both) // 2], both[len(both) // 2 :]
