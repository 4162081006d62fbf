"""`RankedSegments`: native splitting and merging of the text between added tokens, for a byte-level tokenizer.json."""

from __future__ import annotations

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

    def place(self, segment: Aligned, *, with_blanks: bool) -> Tokens | None:
        """Return the tokens of a segment with their places in the input; None where native code cannot find them."""
        breaks = segment.breaks()
        if breaks is None or not self._shortcut.holds_for(segment.text):
            return None
        found = placed(self._shortcut, self._encoder, self._decoder, segment.text, 0, with_blanks=with_blanks)
        if found is not None and found.spans is not None:
            found.spans = mapped_spans(found.spans, breaks, 0)
        return found
