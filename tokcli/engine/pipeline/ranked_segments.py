"""`RankedSegments`: native splitting and merging of the text between added tokens, for a byte-level tokenizer.json."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

from tokcli.engine.pipeline.added_tokens import AddedTokenFinder, RecordFinder
from tokcli.engine.pipeline.aligned import Aligned
from tokcli.engine.pretokenizers.native_pattern import native_row
from tokcli.engine.pretokenizers.pretokenizer import PreTokenizer
from tokcli.engine.shortcut.placed import placed
from tokcli.engine.shortcut.shortcut import Shortcut
from tokcli.engine.tiktoken.native_encoder import NativeEncoder, native_splitter, open_vocabulary
from tokcli.engine.tokens import Tokens, mapped_spans

if TYPE_CHECKING:
    from typing_extensions import Buffer

    from tokcli.engine import _native
    from tokcli.engine.twins import RecordEncoder

Segment = tuple[Aligned, int | None]
"""An added token and its id, or normalized text between two of them and None."""


class _SegmentedRecords:
    """Encodes many records at once, cut at the added tokens that a finder finds in them: see `RecordEncoder`."""

    def __init__(self, shortcut: Shortcut, encoder: NativeEncoder, finder: RecordFinder) -> None:
        self._puts_space, self._encoder, self._finder = shortcut.prefix_space, encoder, finder

    def encode_records(self, data: Buffer, ends: Buffer, separator_size: int) -> tuple[memoryview, memoryview] | None:
        native = self._with_tokens(data, ends, separator_size)
        return None if native is None else native.encode_records(data, ends, separator_size)

    def count_records(self, data: Buffer, ends: Buffer, separator_size: int) -> memoryview | None:
        native = self._with_tokens(data, ends, separator_size)
        return None if native is None else native.count_records(data, ends, separator_size)

    def _with_tokens(self, data: Buffer, ends: Buffer, separator_size: int) -> NativeEncoder | None:
        tokens = self._finder.find(data, ends, separator_size)
        return None if tokens is None else self._encoder.with_tokens(tokens, puts_space=self._puts_space)


class RankedSegments:
    """Native splitting and merging by a shortcut, for single segments of normalized text."""

    def __init__(self, shortcut: Shortcut, encoder: NativeEncoder) -> None:
        self._shortcut, self._encoder = shortcut, encoder
        self._decoder: _native.Decoder = encoder.decoder({})
        self._finder_of = lru_cache(maxsize=8)(RecordFinder)

    @staticmethod
    def of(shortcut: Shortcut) -> RankedSegments | None:
        """Return the native code for a shortcut; None where there is none."""
        splitter = native_row(shortcut.row) if shortcut.row else native_splitter(PreTokenizer(shortcut.pat_str))
        vocabulary = None if splitter is None else open_vocabulary(shortcut.load_image)
        if splitter is None or vocabulary is None:
            return None
        return RankedSegments(shortcut, NativeEncoder(vocabulary, splitter))

    def encode(self, text: str) -> list[int] | None:
        """Return the ids of a segment; None for one that native code cannot encode exactly."""
        if not self._shortcut.holds_for(text):
            return None
        try:
            return self._encoder.encode(self._shortcut.with_prefix(text))
        except (KeyError, UnicodeEncodeError):  # a byte without a token, a lone surrogate
            return None

    def encode_all(self, segments: Sequence[Segment]) -> memoryview | None:
        """Return the ids of segments and added tokens in a row (uint32); None where native code cannot encode all."""
        encoded = self._encoded(segments)
        if encoded is None or all(number is None for _, number in segments):
            return None if encoded is None else encoded[0]
        ids, offsets = encoded
        parts: list[bytes | memoryview] = []
        at = 0  # in the offsets
        for _, number in segments:
            if number is not None:
                parts.append(number.to_bytes(4, sys.byteorder))
                continue
            parts.append(ids[offsets[at] : offsets[at + 1]])
            at += 1
        return memoryview(b"".join(parts)).cast("I")

    def count_all(self, segments: Sequence[Segment]) -> int | None:
        """Return the number of ids that `encode_all` gives."""
        encoded = self._encoded(segments)
        return None if encoded is None else len(encoded[0]) + sum(number is not None for _, number in segments)

    def for_records(self, raw: AddedTokenFinder, normalized: AddedTokenFinder, text: str) -> RecordEncoder | None:
        """Return what encodes records at once, given the finders of their added tokens and all of their text.

        The normalizer does not change the text. Return None where native code cannot encode all of it.
        """
        if not self._shortcut.holds_for(text):
            return None
        return _SegmentedRecords(self._shortcut, self._encoder, self._finder_of(raw, normalized))

    def _encoded(self, segments: Sequence[Segment]) -> tuple[memoryview, memoryview] | None:
        """Return the ids of all segments but the added tokens, and where those of each begin (uint64)."""
        texts = [segment.text for segment, number in segments if number is None]
        if not all(map(self._shortcut.holds_for, texts)):
            return None
        return self._encoder.encode_batch(list(map(self._shortcut.with_prefix, texts)), threads=1)

    def place(self, segment: Aligned, *, with_blanks: bool) -> Tokens | None:
        """Return the tokens of a segment with their places in the input; None where native code cannot find them."""
        breaks = segment.breaks()
        if breaks is None or not self._shortcut.holds_for(segment.text):
            return None
        found = placed(self._shortcut, self._encoder, self._decoder, segment.text, 0, with_blanks=with_blanks)
        if found is not None and found.spans is not None:
            found.spans = mapped_spans(found.spans, breaks, 0)
        return found
