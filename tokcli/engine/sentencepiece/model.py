"""`SentencePiece`: a model whose pieces are chosen by BPE, by Unigram, as words or as characters.

The model sees a text whole: no pre-tokenizer cuts it. Normalizing is left to normalizer.py, choosing pieces to
segmenters.py.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import cached_property
from typing import ClassVar

from tokcli.engine.bpe.bpe import MergeOrder, ModelKind, last_two, rank_of_score
from tokcli.engine.bpe.byte_alphabet import VISIBLE_SPACE
from tokcli.engine.native_models.twins import HasTwin
from tokcli.engine.sentencepiece.normalizer import SpmNormalizer
from tokcli.engine.sentencepiece.segmenters import (
    ModelType,
    NumberedText,
    Segmenter,
    SpmPiece,
    SpmTables,
    UnigramSegmenter,
    segmenter_of,
)
from tokcli.engine.spec.image import DecodingSpec, DropsSpace
from tokcli.engine.stream.decoding import ByteDecoder
from tokcli.engine.stream.decoding_facts import DecodingFacts
from tokcli.engine.stream.utf8 import TextOrUtf8, plain_text
from tokcli.engine.text_tokenizer import NextTokens, TextTokenizer
from tokcli.engine.tokens import Tokens, added, joined
from tokcli.errors import UnknownTokenError


@dataclass(frozen=True)
class SentencePiece(HasTwin, TextTokenizer):
    """A SentencePiece model: its pieces by id, the normalizer for text, and the settings of decoding.

    `unknown_surface` is what unknown ids are decoded to; `denormalizer` rewrites decoded text. `template` has the ids
    that a configuration beside the model puts before and after each text.
    """

    pieces: Sequence[SpmPiece] = field(repr=False)
    model_type: ModelType
    normalizer: SpmNormalizer
    byte_fallback: bool = False
    unknown_surface: str = " \u2047 "
    denormalizer: SpmNormalizer | None = None
    template: tuple[Sequence[int], Sequence[int]] = ((), ())

    special_tokens: Mapping[str, int] = field(default_factory=dict, init=False, repr=False)
    is_byte_level: ClassVar[bool] = False
    decodes_context_free: ClassVar[bool] = False
    is_own_text_normalized: ClassVar[bool] = True

    def __getstate__(self) -> dict[str, object]:
        """Return what is pickled: the fields, without anything that is made from them on demand."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    @property
    def max_id(self) -> int:
        """The largest id."""
        return len(self.pieces) - 1

    @property
    def has_template(self) -> bool:
        """Whether `finish` can add special tokens."""
        return any(self.template)

    def finish(self, texts: list[Tokens], add: bool) -> Tokens:
        """Return one text or a pair of texts, each between the tokens of the template if `add` is true."""
        if not add or not self.has_template:
            return joined(texts)
        (before, after), parts = self.template, list[Tokens]()
        for number, tokens in enumerate(texts):
            tokens.set_type(number)
            parts += [added(before, number), tokens, added(after, number)]
        return joined(parts)

    @cached_property
    def tables(self) -> SpmTables:
        """The tables by which text is segmented."""
        return SpmTables(self.pieces, self.normalizer.kept)

    @cached_property
    def _segment(self) -> Segmenter:
        return segmenter_of(self.model_type, self.tables)

    # --- text to ids -------------------------------------------------------------------------------------------------

    def encode(self, text: str, allowed: frozenset[str]) -> list[int]:
        """Return the ids of a text; no token is special in text."""
        del allowed
        return [number for number, _ in self._numbered(self._segment(self.normalizer.normalize(text)))]

    def encode_next(
        self, text: TextOrUtf8, allowed: frozenset[str], before: str, total: float, *, places: bool
    ) -> NextTokens:
        """Return the tokens of a text after another one; see `TextTokenizer`."""
        del allowed
        segment, normalizer = self._segment, self.normalizer
        normalized, origins = normalizer.normalize_aligned(before + plain_text(text))
        skipped = len(normalizer.normalize(before))
        if isinstance(segment, UnigramSegmenter):
            pieces, total = segment.after(total, normalized[skipped:])
        else:
            pieces = list(segment(normalized[skipped:]))
        tokens = self._placed(pieces, [origin - len(before) for origin in origins[skipped:]])
        return (tokens if places else Tokens(tokens.ids)), total

    def encode_own_text(self, text: str) -> list[int]:
        """Return the ids of a piece's text, which is normalized already and gets no space before it."""
        return [number for number, _ in self._numbered(self._segment(text))]

    def encode_spans(self, text: str, allowed: frozenset[str]) -> Tokens:
        """Return the tokens of a text with their places; of a character's byte tokens, only the last has its place."""
        del allowed
        normalized, origins = self.normalizer.normalize_aligned(text)
        return self._placed(self._segment(normalized), origins)

    def _placed(self, pieces: Iterable[NumberedText], origins: Sequence[int]) -> Tokens:
        """Return the tokens of pieces with their places; `origins` are those of each character, and of the end."""
        ids: list[int] = []
        spans: list[int] = []
        at = 0
        for number, size in self._numbered(pieces):
            ids.append(number)
            spans += origins[at], origins[at + size]
            at += size
        return Tokens(ids, spans=spans)

    def split(self, text: str) -> list[str]:
        """Return the words of a text, each with the space before it; joined, they are the text."""
        return re.findall(r" ?[^ ]+| +", text) if text else []

    def _numbered(self, found: Iterable[NumberedText]) -> Iterator[tuple[int, int]]:
        """Yield (id, number of normalized characters); unknown ones become bytes or, several in a row, one id."""
        unknown_id, byte_ids = self.tables.unknown_id, self.tables.byte_ids
        unknown = 0  # characters
        for text, number in found:
            if number != unknown_id:
                if unknown:
                    yield unknown_id, unknown
                    unknown = 0
                yield number, len(text)
            elif self.byte_fallback:
                data = text.encode()
                for byte in data[:-1]:
                    yield byte_ids[byte], 0
                yield byte_ids[data[-1]], len(text)
            else:
                unknown += len(text)
        if unknown:
            yield unknown_id, unknown

    # --- ids to text -------------------------------------------------------------------------------------------------

    def decode(self, ids: Sequence[int]) -> bytes:
        """Return the bytes of ids; UnknownTokenError for an id that the vocabulary lacks.

        Control pieces have no bytes, and the space that the normalizer puts before a text is dropped.
        """
        decoder = PieceDecoder(self)
        return decoder.add(ids) + decoder.finish()

    def decode_stream(self) -> ByteDecoder:
        """Return a decoder of ids that come a few at a time."""
        return PieceDecoder(self)

    def decoding_facts(self) -> DecodingFacts | None:
        """Return the bytes of each piece, and which spaces at the beginning are dropped; None for a denormalizer."""
        settings, surface = self.normalizer, self.unknown_surface
        if self.denormalizer is not None or not surface:
            return None
        strips = settings.add_dummy_prefix or settings.remove_extra_whitespaces
        drops: DropsSpace = "no" if not strips else "all" if settings.remove_extra_whitespaces else "one"

        def bytes_of(number: int) -> bytes:
            text, _, kind = self.pieces[number]
            if kind == "byte":
                return bytes([int(text[3:5], 16)])
            return b"" if kind == "control" else surface.encode() if kind == "unknown" else _shown(text)

        keeps = (n for n, (text, _, kind) in enumerate(self.pieces) if kind in _NO_TEXT or text.startswith(" "))
        ids = range(len(self.pieces))
        return DecodingFacts(ids, ids, bytes_of, DecodingSpec(drops, keeps_space=tuple(keeps)))

    # --- merges ------------------------------------------------------------------------------------------------------

    def parents(self, number: int) -> tuple[int, int] | None:
        """Return the two ids that merge into an id; None if none do, and for models that do not merge."""
        text, _, kind = self.pieces[number]
        if self.model_type != "bpe" or kind not in ("normal", "unused"):
            return None
        if any(self.tables.kept_match.find(text)):
            return None
        found = last_two(self.tables.merge_ranks, text)
        left, right = (None, None) if found is None else map(self.tables.ids.get, found)
        return None if left is None or right is None else (left, right)

    @property
    def model_kind(self) -> ModelKind:
        """The way in which the model finds pieces: by merges, on the best path, or as the pieces that fit."""
        kinds: dict[ModelType, ModelKind] = {"bpe": "merges", "unigram": "path"}
        return kinds.get(self.model_type, "pieces")

    def merge_order(self) -> MergeOrder | None:
        """Return a function that gives the rank of the merge into an id; None for models that do not merge."""
        pieces = self.pieces
        return None if self.model_type != "bpe" else lambda _left, _right, made: rank_of_score(pieces[made].score)

    def scores(self) -> Sequence[float]:
        """Return the score of each piece, by id."""
        return [piece.score for piece in self.pieces]

    def token_kinds(self) -> dict[int, str]:
        """Return the kinds of the pieces that are not normal, by id: `control`, `unknown`, `user-defined` ..."""
        return {n: piece.kind.replace("_", "-") for n, piece in enumerate(self.pieces) if piece.kind != "normal"}

    def own_text(self, number: int) -> str | None:
        """Return the text of a piece; None for a byte, a control piece and the unknown one."""
        text, _, kind = self.pieces[number]
        return None if kind in _NO_TEXT else text

    def why_no_ranks(self) -> list[str]:
        """Return what ranks and a pattern would lose of the model."""
        scores = self.model_type in ("bpe", "unigram")
        return [
            f"its scores (a SentencePiece model of type {self.model_type})"
            if scores
            else f"its model (SentencePiece's {self.model_type})",
            "its normalizer and the spaces that it adds",
            "pieces of characters, where ranks are of bytes",
        ]

    def token_bytes(self) -> Mapping[int, bytes]:
        """Return the bytes of every id."""
        return {
            number: bytes([int(text[3:5], 16)]) if kind == "byte" else _shown(text)
            for number, (text, _, kind) in enumerate(self.pieces)
        }


_NO_TEXT = ("byte", "control", "unknown")  # the kinds of pieces that do not decode to their text


def _shown(text: str) -> bytes:
    return text.replace(VISIBLE_SPACE, " ").encode()


class PieceDecoder:
    """Decodes the ids of a model that come a few at a time."""

    def __init__(self, model: SentencePiece) -> None:
        self._model, self._held = model, bytearray()
        self._has_bytes, self._at_start = False, True

    def add(self, ids: Sequence[int]) -> bytes:
        """Return the bytes of these ids; b"" where the model changes the decoded text, which `finish` then does."""
        model, out, settings = self._model, bytearray(), self._model.normalizer
        strips = settings.add_dummy_prefix or settings.remove_extra_whitespaces
        if ids and (min(ids) < 0 or max(ids) >= len(model.pieces)):
            wrong = next(number for number in ids if not 0 <= number < len(model.pieces))
            raise UnknownTokenError(f"{wrong} is not an id of the vocabulary")
        for number in ids:
            text, _, kind = model.pieces[number]
            if kind == "byte":
                out.append(int(text[3:5], 16))
                continue
            if out or self._has_bytes:
                self._at_start = False
            if kind == "control":
                continue
            took_space = self._at_start and strips and text.startswith(VISIBLE_SPACE)
            if kind == "unknown":
                out += model.unknown_surface.encode()
            else:
                out += _shown(text[took_space:])
            if out or (took_space and not settings.remove_extra_whitespaces):
                self._at_start = False
        self._has_bytes |= bool(out)
        if model.denormalizer is None:
            return bytes(out)
        self._held += out
        return b""

    def finish(self) -> bytes:
        """Return the decoded text as the model changes it, if it does; else b""."""
        if self._model.denormalizer is None:
            return b""
        text = self._held.decode("utf-8", "surrogateescape")
        return self._model.denormalizer.normalize(text).encode("utf-8", "surrogateescape")
