"""SentencePiece's .model files: a protobuf message with the pieces, the settings and the normalizer's rules.

A folder's configuration may say that its model is XLM-RoBERTa's, whose ids are shifted, or which tokens go around a
text. (Source: sentencepiece_model.proto of google/sentencepiece; transformers 5.24, `update_post_processor`.)
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeAlias

from tokcli.engine.bindings import sentencepiece_models  # noqa: F401 (makes the native twin)
from tokcli.engine.bpe.byte_alphabet import byte_token
from tokcli.engine.sentencepiece.charsmap import Charsmap
from tokcli.engine.sentencepiece.model import SentencePiece
from tokcli.engine.sentencepiece.normalizer import SpmNormalizer
from tokcli.engine.sentencepiece.segmenters import ModelType, PieceKind, SpmPiece
from tokcli.engine.sentencepiece.xlm_roberta import XlmRoberta
from tokcli.errors import VocabularyError
from tokcli.formats.limits import MAX_PIECE_CHARS, MAX_TOKENS
from tokcli.formats.protobuf import ProtobufField, ProtobufReader
from tokcli.formats.refusals import shown_text
from tokcli.formats.sources import XLM_ROBERTA
from tokcli.formats.strict_json import parse_json_strictly

# The enumerations of sentencepiece_model.proto, by number.
_KINDS: dict[int, PieceKind] = {1: "normal", 2: "unknown", 3: "control", 4: "user_defined", 5: "unused", 6: "byte"}
_MODEL_TYPES: dict[int, ModelType] = {1: "unigram", 2: "bpe", 3: "word", 4: "char"}
_NULL = "\0"
Template: TypeAlias = "tuple[Sequence[int], Sequence[int]]"  # the ids before each text, and after it
_PIECE_HEAD = struct.Struct("4B")  # the tag of a piece, its size, the tag of its text, the size of the text
_SCORED = struct.Struct("<Bf")


@dataclass
class _ModelSpec:
    """The members of TrainerSpec and NormalizerSpec that encoding needs, with their defaults."""

    model_type: int = 1
    whitespace_as_suffix: bool = False
    byte_fallback: bool = False
    unknown_surface: str = " \u2047 "
    charsmap: bytes = b""
    add_dummy_prefix: bool = True
    remove_extra_whitespaces: bool = True
    escape_whitespaces: bool = True


def parse_sentencepiece(data: bytes, name: str) -> SentencePiece:
    """Return the model in a file; a VocabularyError names the file and the place in it."""
    reader = ProtobufReader(name)
    pieces, at = usual_pieces(data)
    spec, denormalizer = _ModelSpec(), _ModelSpec()
    for field in reader.fields(memoryview(data)[at:], at):
        if field.number == 1:
            if len(pieces) == MAX_TOKENS:
                reader.fail(field.offset, f"more than {MAX_TOKENS} pieces, the most that are read,")
            pieces.append(_read_piece(reader, field))
        elif field.number == 2:
            _read_trainer(reader, field, spec)
        elif field.number == 3:
            _read_normalizer(reader, field, spec)
        elif field.number == 5:
            _read_normalizer(reader, field, denormalizer)
    if spec.model_type not in _MODEL_TYPES:
        raise VocabularyError(f"{spec.model_type} is not a type of model", where=name)
    model_type = _MODEL_TYPES[spec.model_type]
    if spec.byte_fallback:
        pieces = [piece._replace(kind="unused") if piece.text == _NULL else piece for piece in pieces]
    check_pieces(pieces, spec.byte_fallback, model_type, name)
    kept = frozenset(piece.text for piece in pieces if piece.kind == "user_defined")
    return SentencePiece(
        pieces,
        model_type,
        _normalizer(spec, kept, name),
        spec.byte_fallback,
        spec.unknown_surface,
        _normalizer(denormalizer, frozenset(), name) if denormalizer.charsmap else None,
    )


def with_configured_ids(
    model: SentencePiece, configurations: Iterable[tuple[Path, bytes]], folder: Path
) -> SentencePiece | XlmRoberta:
    """Return a folder's model, as the configurations beside it say: with fairseq's ids, or a template of its own.

    The ids are fairseq's if the model is XLM-RoBERTa's. Otherwise `add_bos_token` and `add_eos_token` in
    tokenizer_config.json say which tokens go before and after each text, as in Hugging Face's transformers.
    """
    template: Template = ((), ())
    for path, data in configurations:
        member, values = XLM_ROBERTA[path.name]
        top = parse_json_strictly(data, path.name)
        if not isinstance(top, dict):
            continue
        if path.name == "tokenizer_config.json":
            template = _template(top, model)
        if top.get(member) in values:
            if [piece.text for piece in model.pieces[:3]] != ["<unk>", "<s>", "</s>"]:
                raise VocabularyError(
                    f"{path.name} says XLM-RoBERTa, but the model does not begin with <unk>, <s>, </s>",
                    where=str(folder),
                )
            return XlmRoberta(model)
    return replace(model, template=template) if any(template) else model


def _template(config: Mapping[str, object], model: SentencePiece) -> Template:
    """Return the ids that a tokenizer_config.json puts before and after a text; none if the model lacks one of them."""
    ids: list[tuple[int, ...]] = []
    for name, usual in (("bos_token", "<s>"), ("eos_token", "</s>")):
        token = config.get(name, usual)
        text = token.get("content") if isinstance(token, dict) else token
        if config.get(f"add_{name}") is not True or text is None:
            ids.append(())
            continue
        found = next((number for number, piece in enumerate(model.pieces) if piece.text == text), None)
        if found is None:
            return ((), ())
        ids.append((found,))
    before, after = ids
    return before, after


def _normalizer(spec: _ModelSpec, kept: frozenset[str], name: str) -> SpmNormalizer:
    return SpmNormalizer(
        Charsmap(spec.charsmap, name),
        spec.add_dummy_prefix,
        spec.remove_extra_whitespaces,
        spec.escape_whitespaces,
        spec.whitespace_as_suffix,
        kept,
    )


# Pieces are read in two ways, since field by field, Llama 2's 32,000 take 131 ms instead of 28 ms of CPU time.
def usual_pieces(data: bytes) -> tuple[list[SpmPiece], int]:
    """Return the pieces that a file begins with, and the offset of the first that is not as SentencePiece writes them.

    SentencePiece writes a text, a score and, unless the piece is a normal one, a type, in this order; all sizes take
    one byte.
    """
    texts: list[str] = []
    scores: list[float] = []
    kinds: list[PieceKind] = []
    at, size = 0, len(data)
    head_of, score_of = _PIECE_HEAD.unpack_from, _SCORED.unpack_from
    with suppress(UnicodeDecodeError, KeyError, struct.error):  # struct.error: the file ends within the piece
        while len(texts) < MAX_TOKENS:
            piece, piece_size, text, text_size = head_of(data, at)
            text_at = at + 4
            score_at, end = text_at + text_size, at + 2 + piece_size
            if piece != 0x0A or text != 0x0A or piece_size > 127 or text_size > 127 or end > size:
                break
            tag, score = score_of(data, score_at)
            if tag != 0x15 or score - score != 0:  # infinite, or NaN
                break
            rest = end - score_at - 5
            if rest and (rest != 2 or data[score_at + 5] != 0x18):
                break
            kind = _KINDS[data[score_at + 6] if rest else 1]
            texts.append(data[text_at:score_at].decode())
            scores.append(score)
            kinds.append(kind)
            at = end
    return list(map(SpmPiece._make, zip(texts, scores, kinds, strict=True))), at


def _read_piece(reader: ProtobufReader, message: ProtobufField) -> SpmPiece:
    text, score, kind = "", 0.0, 1
    for field in reader.fields(reader.message(message), message.offset):
        if field.number == 1:
            text = reader.text(field)
        elif field.number == 2:
            score = reader.single(field)
        elif field.number == 3:
            kind = reader.whole(field)
    if kind not in _KINDS:
        reader.fail(message.offset, f"a piece of the unknown type {kind}")
    if len(text) >= MAX_PIECE_CHARS:
        reader.fail(message.offset, f"a piece of {len(text)} characters; at most {MAX_PIECE_CHARS} are read,")
    return SpmPiece(text, score, _KINDS[kind])


def _read_trainer(reader: ProtobufReader, message: ProtobufField, spec: _ModelSpec) -> None:
    for field in reader.fields(reader.message(message), message.offset):
        if field.number == 3:
            spec.model_type = reader.whole(field)
        elif field.number == 24:
            spec.whitespace_as_suffix = bool(reader.whole(field))
        elif field.number == 35:
            spec.byte_fallback = bool(reader.whole(field))
        elif field.number == 44:
            spec.unknown_surface = reader.text(field)


def _read_normalizer(reader: ProtobufReader, message: ProtobufField, spec: _ModelSpec) -> None:
    for field in reader.fields(reader.message(message), message.offset):
        if field.number == 2:
            spec.charsmap = bytes(reader.message(field))
        elif field.number == 3:
            spec.add_dummy_prefix = bool(reader.whole(field))
        elif field.number == 4:
            spec.remove_extra_whitespaces = bool(reader.whole(field))
        elif field.number == 5:
            spec.escape_whitespaces = bool(reader.whole(field))


def check_pieces(pieces: list[SpmPiece], byte_fallback: bool, model_type: ModelType, name: str) -> None:
    """Raise VocabularyError if the pieces are not those of a model that SentencePiece itself would load."""
    if not pieces:
        raise VocabularyError("a model without pieces", where=name)
    first_of: dict[tuple[str, bool], int] = {}
    found_bytes: set[str] = set()
    unknown = -1
    for number, (text, _, kind) in enumerate(pieces):
        if not text:
            raise VocabularyError(f"piece {number} is empty", where=name)
        if _NULL in text:
            if text == _NULL and kind == "unused":
                continue
            raise VocabularyError(f"piece {number} has a NUL in it", where=name)
        # except for BPE, the library keeps these kinds in a table of their own
        key = text, model_type != "bpe" and kind in ("unknown", "control", "byte")
        if (first := first_of.setdefault(key, number)) != number:
            raise VocabularyError(f"piece {number}, {shown_text(text)}, repeats piece {first}", where=name)
        if kind == "unknown":
            if unknown >= 0:
                raise VocabularyError(f"pieces {unknown} and {number} are both for unknown text", where=name)
            unknown = number
        elif kind == "byte":
            if not byte_fallback or text not in _BYTE_TOKENS:
                raise VocabularyError(f"piece {number}, {shown_text(text)}, is not a token for a byte", where=name)
            found_bytes.add(text)
    if byte_fallback and len(found_bytes) != len(_BYTE_TOKENS):
        raise VocabularyError(f"{len(found_bytes)} pieces for single bytes; 256 are needed", where=name)
    if unknown < 0 and not byte_fallback:
        raise VocabularyError("no piece for unknown text", where=name)


_BYTE_TOKENS = frozenset(map(byte_token, range(256)))
