"""`SentencePiece`: a model whose pieces are chosen by BPE, by Unigram, as words or as characters.

The model sees a text whole: no pre-tokenizer cuts it, but tokens may be cut out of it before. Normalizing is left to
normalizer.py, choosing pieces to segmenters.py, decoding to decoder.py.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import ClassVar, cast

from tokcli.engine.bpe.bpe import MergeOrder, ModelKind, last_two, rank_of_score
from tokcli.engine.native_models.cut_text import CutText
from tokcli.engine.sentencepiece.decoder import PieceDecoder, shown
from tokcli.engine.sentencepiece.normalizer import SpmNormalizer
from tokcli.engine.sentencepiece.segmenters import (
    NumberedText,
    Segmenter,
    SpmTables,
    UnigramSegmenter,
    segmenter_of,
)
from tokcli.engine.spec.decoders import SentencePieceDecoder
from tokcli.engine.spec.image import DecodingSpec, DropsSpace
from tokcli.engine.spec.models import ModelType, SentencePieceModel
from tokcli.engine.spec.normalizers import SentencePieceNormalizer
from tokcli.engine.stream.decoding import ByteDecoder
from tokcli.engine.stream.decoding_facts import DecodingFacts
from tokcli.engine.stream.token_cuts import TokenCuts
from tokcli.engine.stream.utf8 import TextOrUtf8, plain_text
from tokcli.engine.text_tokenizer import NextTokens, SpecTokenizer, words_at_spaces
from tokcli.engine.tokens import Tokens, texts_of


class SentencePiece(SpecTokenizer):
    """A SentencePiece model. The added tokens of its spec are special: they are cut out of text where allowed."""

    is_byte_level: ClassVar[bool] = False
    decodes_context_free: ClassVar[bool] = False
    is_own_text_normalized: ClassVar[bool] = True
    splits_at_spaces: ClassVar[bool] = True

    @property
    def model(self) -> SentencePieceModel:
        """The pieces, and how they are found."""
        return cast(SentencePieceModel, self.spec.model)

    @property
    def settings(self) -> SentencePieceNormalizer:
        """The settings of the normalizer."""
        return cast(SentencePieceNormalizer, self.spec.normalizer[0])

    @cached_property
    def names(self) -> Mapping[int, str]:
        """The added tokens by id."""
        return texts_of(self.special_tokens)

    @cached_property
    def max_id(self) -> int:
        """The largest id; each up to it is that of a piece or of an added token."""
        return max(self.model.first_id + len(self.model.pieces) - 1, *self.names, 0)

    @cached_property
    def normalizer(self) -> SpmNormalizer:
        """The normalizer of texts."""
        return SpmNormalizer(self.settings)

    @cached_property
    def tables(self) -> SpmTables:
        """The tables by which text is segmented."""
        return SpmTables(self.model, self.settings.kept)

    @cached_property
    def _segment(self) -> Segmenter:
        return segmenter_of(self.tables)

    # --- text to ids -------------------------------------------------------------------------------------------------

    @cached_property
    def cuts(self) -> TokenCuts:
        """The tokens that are cut out of text; what is white space beside them is as in Python."""
        return TokenCuts(self.spec.added, "unicode")

    @property
    def in_python(self) -> CutText:
        """Encodes texts in Python: added tokens are cut out, and the model encodes the text between them."""
        return CutText(_BetweenTokens(self), self.cuts)

    def encode_own_text(self, text: str) -> list[int]:
        """Return the ids of a piece's text, which is normalized already and gets no space before it."""
        return [id for id, _ in self.numbered(self._segment(text))]

    def split(self, text: str) -> list[str]:
        """Return the words of a text, each with the space before it; joined, they are the text."""
        return words_at_spaces(text)

    def numbered(self, found: Iterable[NumberedText]) -> Iterator[tuple[int, int]]:
        """Yield (id, number of normalized characters); unknown ones become bytes or, several in a row, one id."""
        unknown_id, byte_ids = self.tables.unknown_id, self.tables.byte_ids
        unknown = 0  # characters
        for text, id in found:
            if id != unknown_id:
                if unknown:
                    yield unknown_id, unknown
                    unknown = 0
                yield id, len(text)
            elif self.model.byte_fallback:
                data = text.encode()
                for byte in data[:-1]:
                    yield byte_ids[byte], 0
                yield byte_ids[data[-1]], len(text)
            else:
                unknown += len(text)
        if unknown:
            yield unknown_id, unknown

    # --- ids to text -------------------------------------------------------------------------------------------------

    def decode_stream(self) -> ByteDecoder:
        """Return a decoder of ids that come a few at a time."""
        return PieceDecoder(self.spec, self.names, self.max_id)

    def decoding_facts(self) -> DecodingFacts | None:
        """Return the bytes of each id, and which spaces at the beginning are dropped; None for a denormalizer."""
        decoder, settings, first = cast(SentencePieceDecoder, self.spec.decoder), self.settings, self.model.first_id
        surface = decoder.unknown_surface
        if decoder.denormalizer is not None or not surface:
            return None
        trims, puts = settings.remove_extra_whitespaces, settings.add_dummy_prefix
        drops: DropsSpace = "all" if trims else "one" if puts else "no"

        def bytes_of(id: int) -> bytes:
            if id in self.names:
                return self.names[id].encode()
            text, _, kind = self.model.pieces[id - first]
            if kind == "byte":
                return bytes([int(text[3:5], 16)])
            return b"" if kind == "control" else surface.encode() if kind == "unknown" else shown(text)

        keeps = (
            id
            for id, (text, _, kind) in enumerate(self.model.pieces, first)
            if id not in self.names and (kind in _NO_TEXT or text.startswith(" "))
        )
        spec = DecodingSpec(drops, keeps_space=(*keeps, *self.names), begins_anew=tuple(self.names))
        ids = range(self.max_id + 1)
        return DecodingFacts(ids, ids, bytes_of, spec)

    # --- merges ------------------------------------------------------------------------------------------------------

    def parents(self, id: int) -> tuple[int, int] | None:
        """Return the two ids that merge into an id; None if none do, and for models that do not merge."""
        if self.model.type != "bpe" or id in self.names:
            return None
        text, _, kind = self.model.pieces[id - self.model.first_id]
        if kind not in ("normal", "unused") or any(self.tables.kept_match.find(text)):
            return None
        found = last_two(self.tables.merge_ranks, text)
        left, right = (None, None) if found is None else map(self.tables.ids.get, found)
        return None if left is None or right is None else (left, right)

    @property
    def model_kind(self) -> ModelKind:
        """The way in which the model finds pieces: by merges, on the best path, or as the pieces that fit."""
        kinds: dict[ModelType, ModelKind] = {"bpe": "merges", "unigram": "path"}
        return kinds.get(self.model.type, "pieces")

    def merge_order(self) -> MergeOrder | None:
        """Return a function that gives the rank of the merge into an id; None for models that do not merge."""
        if self.model.type != "bpe":
            return None
        pieces, first = self.model.pieces, self.model.first_id
        return lambda _left, _right, made: rank_of_score(pieces[made - first].score)

    def scores(self) -> Sequence[float]:
        """Return the score of each id; added tokens have 0."""
        pieces, first = self.model.pieces, self.model.first_id
        return [0.0 if n in self.names else pieces[n - first].score for n in range(self.max_id + 1)]

    def token_kinds(self) -> dict[int, str]:
        """Return the kinds of the tokens that are not normal, by id: `special`, `control`, `unknown`, `byte` ..."""
        pieces = enumerate(self.model.pieces, self.model.first_id)
        kinds = {id: piece.kind.replace("_", "-") for id, piece in pieces if piece.kind != "normal"}
        return kinds | dict.fromkeys(self.names, "special")

    def own_text(self, id: int) -> str | None:
        """Return the text of a piece; None for an added token, a byte, a control piece and the unknown one."""
        if id in self.names:
            return None
        text, _, kind = self.model.pieces[id - self.model.first_id]
        return None if kind in _NO_TEXT else text

    def why_no_ranks(self) -> list[str]:
        """Return what ranks and a pattern would lose of the model."""
        scores, kind = self.model.type in ("bpe", "unigram"), self.model.type
        return [
            f"its scores (a SentencePiece model of type {kind})" if scores else f"its model (SentencePiece's {kind})",
            "its normalizer and the spaces that it adds",
            "pieces of characters, where ranks are of bytes",
        ]

    def token_bytes(self) -> Mapping[int, bytes]:
        """Return the bytes of every id."""
        pieces = {
            id: bytes([int(text[3:5], 16)]) if kind == "byte" else shown(text)
            for id, (text, _, kind) in enumerate(self.model.pieces, self.model.first_id)
        }
        return pieces | {id: name.encode() for id, name in self.names.items()}


_NO_TEXT = ("byte", "control", "unknown")  # the kinds of pieces that do not decode to their text


class _BetweenTokens:
    """Encodes the text between added tokens in Python; see `CutText`."""

    def __init__(self, rules: SentencePiece) -> None:
        self._rules, self._normalizer, self._segment = rules, rules.normalizer, rules._segment

    def encode_array(self, text: str, allowed: frozenset[str]) -> memoryview:
        """Return the ids of a text (uint32)."""
        del allowed
        found = self._rules.numbered(self._segment(self._normalizer.normalize(text)))
        return memoryview(array("I", [id for id, _ in found]))

    def encode_spans(self, text: str, allowed: frozenset[str]) -> Tokens:
        """Return the tokens of a text with their places; of a character's byte tokens, only the last has its place."""
        del allowed
        normalized, origins = self._normalizer.normalize_aligned(text)
        return self._placed(self._segment(normalized), origins)

    def encode_next(
        self, text: TextOrUtf8, allowed: frozenset[str], before: str, total: float, *, places: bool
    ) -> NextTokens:
        """Return the tokens of a text after another one; see `TextTokenizer`."""
        del allowed
        segment, normalizer = self._segment, self._normalizer
        normalized, origins = normalizer.normalize_aligned(before + plain_text(text))
        skipped = len(normalizer.normalize(before))
        if isinstance(segment, UnigramSegmenter):
            pieces, total = segment.after(total, normalized[skipped:])
        else:
            pieces = list(segment(normalized[skipped:]))
        tokens = self._placed(pieces, [origin - len(before) for origin in origins[skipped:]])
        return (tokens if places else Tokens(tokens.ids)), total

    def _placed(self, pieces: Iterable[NumberedText], origins: Sequence[int]) -> Tokens:
        """Return the tokens of pieces with their places; `origins` are those of each character, and of the end."""
        ids: list[int] = []
        spans: list[int] = []
        at = 0
        for id, size in self._rules.numbered(pieces):
            ids.append(id)
            spans += origins[at], origins[at + size]
            at += size
        return Tokens(ids, spans=spans)
