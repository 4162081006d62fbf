"""`RankedSegments`: native splitting and merging of the text between added tokens, for a byte-level tokenizer.json."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from tokcli.engine.pipeline.aligned import Aligned
from tokcli.engine.pretokenizers.native_pattern import native_row
from tokcli.engine.pretokenizers.pretokenizer import PreTokenizer
from tokcli.engine.shortcut.placed import placed
from tokcli.engine.shortcut.shortcut import Shortcut
from tokcli.engine.tiktoken.native_encoder import NativeEncoder, native_splitter, open_vocabulary
from tokcli.engine.tokens import Tokens, mapped_spans

if TYPE_CHECKING:
    from tokcli.engine import _native

Segment = tuple[Aligned, int | None]
"""An added token and its id, or normalized text between two of them and None."""


class RankedSegments:
    """Native splitting and merging by a shortcut, for single segments of normalized text."""

    def __init__(self, shortcut: Shortcut, encoder: NativeEncoder) -> None:
        self._shortcut, self._encoder = shortcut, encoder
        self._decoder: _native.Decoder = encoder.decoder({})

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
