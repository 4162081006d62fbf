"""`XlmRoberta`: XLM-RoBERTa's ids over a SentencePiece model. fairseq's special tokens are first, the mask is last.

The ids are `<s>` 0, `<pad>` 1, `</s>` 2, `<unk>` 3; that of any other piece is its id in the model plus one.
(Hugging Face's transformers, tokenization_xlm_roberta.py: fairseq_tokens_to_ids.)
"""

from __future__ import annotations

from array import array
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

from tokcli.engine.bpe.bpe import MergeOrder, ModelKind
from tokcli.engine.native_models.cut_text import CutText
from tokcli.engine.native_models.twins import HasTwin
from tokcli.engine.pipeline.processors import processed
from tokcli.engine.sentencepiece.model import SentencePiece
from tokcli.engine.spec.added_token import AddedToken
from tokcli.engine.spec.templates import Roberta
from tokcli.engine.stream.decoding import ByteDecoder
from tokcli.engine.stream.decoding_facts import DecodingFacts
from tokcli.engine.stream.token_cuts import TokenCuts
from tokcli.engine.stream.utf8 import TextOrUtf8
from tokcli.engine.text_tokenizer import NextTokens, TextTokenizer
from tokcli.engine.tokens import Tokens, joined
from tokcli.errors import UnknownTokenError

_FIRST = {"<s>": 0, "<pad>": 1, "</s>": 2, "<unk>": 3}
_MASK = "<mask>"
_SHIFT = 1
_TEMPLATE = (Roberta(("</s>", 2), ("<s>", 0), None),)


@dataclass(frozen=True)
class XlmRoberta(HasTwin, TextTokenizer):
    """A SentencePiece model with XLM-RoBERTa's ids. Special tokens are cut out of text where they are allowed."""

    model: SentencePiece

    is_byte_level: ClassVar[bool] = False
    has_template: ClassVar[bool] = True
    decodes_context_free: ClassVar[bool] = False

    @cached_property
    def special_tokens(self) -> Mapping[str, int]:
        """The ids of the four first tokens and of the mask, which comes after the last piece."""
        return _FIRST | {_MASK: len(self.model.pieces) + _SHIFT}

    @property
    def max_id(self) -> int:
        """The largest id, which is the mask's."""
        return self.special_tokens[_MASK]

    def parents(self, number: int) -> tuple[int, int] | None:
        """Return the two ids that merge into an id; None if none do."""
        if number in self._names:
            return None
        found = self.model.parents(number - _SHIFT)
        return None if found is None else (self.shifted(found[0]), self.shifted(found[1]))

    @property
    def model_kind(self) -> ModelKind:
        """The way in which the model finds pieces: by merges, on the best path, or as the pieces that fit."""
        return self.model.model_kind

    def merge_order(self) -> MergeOrder | None:
        """Return a function that gives the rank of the merge into an id; None for models that do not merge."""
        order = self.model.merge_order()
        return None if order is None else lambda left, right, made: order(left - _SHIFT, right - _SHIFT, made - _SHIFT)

    def scores(self) -> Sequence[float]:
        """Return the scores of the pieces by their shifted ids; special tokens have 0."""
        scores = [0.0, *self.model.scores(), 0.0]
        return [0.0 if number in self._names else score for number, score in enumerate(scores)]

    def token_kinds(self) -> dict[int, str]:
        """Return the kinds of the tokens that are not normal, by id; XLM-RoBERTa's own five are `special`."""
        shifted = {number + _SHIFT: kind for number, kind in self.model.token_kinds().items()}
        return shifted | dict.fromkeys(self._names, "special")

    @cached_property
    def _unknown(self) -> int:
        return next((n for n, piece in enumerate(self.model.pieces) if piece.kind == "unknown"), -1)

    def shifted(self, number: int) -> int:
        """Return the id of a piece, given its id in the model."""
        return _FIRST["<unk>"] if number == self._unknown else number + _SHIFT

    @cached_property
    def cuts(self) -> TokenCuts:
        """The special tokens that are cut out of text; the mask takes the white space before it."""
        return TokenCuts(self.added_tokens(), "unicode")

    def added_tokens(self) -> list[AddedToken]:
        """Return the special tokens."""
        return [AddedToken(text, n, special=True, lstrip=text == _MASK) for text, n in self.special_tokens.items()]

    def decoding_facts(self) -> DecodingFacts | None:
        """Return how ids are decoded: special tokens as their text, behind each of which a text begins anew."""
        inner = self.model.decoding_facts()
        if inner is None:
            return None
        keeps = [number + _SHIFT for number in inner.spec.keeps_space if number + _SHIFT not in self._names]
        spec = inner.spec._replace(keeps_space=(*keeps, *self._names), begins_anew=tuple(self._names))
        ids = [*(number + _SHIFT for number in inner.ids), *self._names]

        def bytes_of(number: int) -> bytes:
            name = self._names.get(number)
            return inner.bytes_of(number - _SHIFT) if name is None else name.encode()

        return DecodingFacts(ids, ids, bytes_of, spec)

    @property
    def in_python(self) -> CutText:
        """What cuts special tokens out of texts, and encodes the text between them by the model."""
        return CutText(_PiecesInPython(self), self.cuts)

    def finish(self, texts: list[Tokens], add: bool) -> Tokens:
        """Return `<s> A </s>`, or `<s> A </s> </s> B </s>`, with `add`; else the texts in a row."""
        return joined(processed(_TEMPLATE, texts, add))

    def split(self, text: str) -> list[str]:
        """Return the words of a text as they occur in it."""
        return self.model.split(text)

    @cached_property
    def _names(self) -> Mapping[int, str]:
        return {number: name for name, number in self.special_tokens.items()}

    def decode(self, ids: Sequence[int]) -> bytes:
        """Return the bytes of ids, special tokens included; UnknownTokenError for an id that does not exist."""
        decoder = self.decode_stream()
        return decoder.add(ids) + decoder.finish()

    def decode_stream(self) -> ByteDecoder:
        """Return a decoder of ids that come a few at a time."""
        return _ShiftedDecoder(self.model, self._names)

    def token_bytes(self) -> Mapping[int, bytes]:
        """Return the bytes of every id."""
        shifted = {number + _SHIFT: data for number, data in self.model.token_bytes().items()}
        return shifted | {number: name.encode() for number, name in self._names.items()}


class _PiecesInPython:
    """Encodes the text between special tokens in Python; see `CutText`."""

    def __init__(self, tokenizer: XlmRoberta) -> None:
        self._model, self._shifted = tokenizer.model, tokenizer.shifted

    def encode_array(self, text: str, allowed: frozenset[str]) -> memoryview:
        """Return the ids of a text (uint32); no special token is in it."""
        return memoryview(array("I", map(self._shifted, self._model.encode(text, allowed))))

    def encode_spans(self, text: str, allowed: frozenset[str]) -> Tokens:
        """Return the tokens of a text with their places."""
        found = self._model.encode_spans(text, allowed)
        return Tokens(map(self._shifted, found.ids), spans=found.spans)

    def encode_next(
        self, text: TextOrUtf8, allowed: frozenset[str], before: str, total: float, *, places: bool
    ) -> NextTokens:
        """Return the tokens of a text after another one."""
        found, total = self._model.encode_next(text, allowed, before, total, places=places)
        return Tokens(map(self._shifted, found.ids), spans=found.spans), total


class _ShiftedDecoder:
    """Decodes ids that come a few at a time: of each text between special tokens, the first space is dropped."""

    def __init__(self, model: SentencePiece, names: Mapping[int, str]) -> None:
        self._model, self._names, self._text = model, names, model.decode_stream()

    def add(self, ids: Sequence[int]) -> bytes:
        """Return the bytes of these ids; UnknownTokenError for an id that does not exist."""
        for number in ids:
            if number not in self._names and not 0 < number <= len(self._model.pieces):
                raise UnknownTokenError(f"{number} is not an id of the vocabulary")
        out, held = bytearray(), list[int]()
        for number in ids:
            if number not in self._names:
                held.append(number - _SHIFT)
                continue
            out += self._text.add(held) + self._text.finish() + self._names[number].encode()
            held, self._text = [], self._model.decode_stream()
        return bytes(out + self._text.add(held))

    def finish(self) -> bytes:
        """Return what is left of the last text."""
        return self._text.finish()
