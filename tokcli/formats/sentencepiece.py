"""SentencePiece's .model files: a protobuf message with the pieces, the settings, and the normalizer's rules."""

from __future__ import annotations

import struct
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING

from tokcli.engine.charsmap import Charsmap
from tokcli.engine.fairseq import XlmRoberta
from tokcli.engine.models import byte_token
from tokcli.engine.sentencepiece import Kind, ModelType, Piece, SentencePiece
from tokcli.engine.spm_normalizer import SpmNormalizer
from tokcli.errors import VocabularyError
from tokcli.formats.gpt2 import parse_json_strictly
from tokcli.formats.limits import MAX_TOKENS
from tokcli.formats.protobuf import Field, Reader

if TYPE_CHECKING:
    from tokcli.engine.pipeline import Tokenizer
    from tokcli.formats.vocabulary import Vocabulary

# sentencepiece_model.proto, by number
_KINDS: dict[int, Kind] = {1: "normal", 2: "unknown", 3: "control", 4: "user_defined", 5: "unused", 6: "byte"}
_MODEL_TYPES: dict[int, ModelType] = {1: "unigram", 2: "bpe", 3: "word", 4: "char"}
MAX_PIECE_BYTES = 8000  # SentencePiece's own limit
_NULL = "\0"
_SCORE = struct.Struct("<f")
# Where a folder says whose model it has: the file, its member, values that mean XLM-RoBERTa
CONFIGURATIONS = {
    "tokenizer_config.json": ("tokenizer_class", ("XLMRobertaTokenizer", "XLMRobertaTokenizerFast")),
    "config.json": ("model_type", ("xlm-roberta", "xlm-roberta-xl")),
}


@dataclass
class _Settings:
    """TrainerSpec and NormalizerSpec, as far as encoding needs them, with their defaults."""

    model_type: int = 1
    whitespace_as_suffix: bool = False
    byte_fallback: bool = False
    unknown_surface: str = " \u2047 "
    charsmap: bytes = field(default=b"", repr=False)
    add_dummy_prefix: bool = True
    remove_extra_whitespaces: bool = True
    escape_whitespaces: bool = True


def parse_sentencepiece(data: bytes, name: str) -> SentencePiece:
    """The model in a file; VocabularyError names what in it is wrong, and where."""
    reader = Reader(name)
    pieces, at = _usual_pieces(data)
    settings, denormalizer = _Settings(), _Settings()
    for item in reader.fields(memoryview(data)[at:], at):
        if item.number == 1:
            if len(pieces) == MAX_TOKENS:
                reader.fail(item.offset, f"more than the {MAX_TOKENS} pieces that are read")
            pieces.append(_read_piece(reader, item))
        elif item.number == 2:
            _read_trainer(reader, item, settings)
        elif item.number == 3:
            _read_normalizer(reader, item, settings)
        elif item.number == 5:
            _read_normalizer(reader, item, denormalizer)
    if settings.model_type not in _MODEL_TYPES:
        raise VocabularyError(f"{name}: a model of type {settings.model_type}, which is none")
    if settings.byte_fallback:
        pieces = [piece._replace(kind="unused") if piece.text == _NULL else piece for piece in pieces]
    check_pieces(pieces, settings.byte_fallback, _MODEL_TYPES[settings.model_type], name)
    kept = frozenset(piece.text for piece in pieces if piece.kind == "user_defined")
    return SentencePiece(
        pieces,
        _MODEL_TYPES[settings.model_type],
        _normalizer(settings, kept, name),
        settings.byte_fallback,
        settings.unknown_surface,
        _normalizer(denormalizer, frozenset(), name) if denormalizer.charsmap else None,
    )


def with_configured_ids(
    model: Vocabulary | Tokenizer, configurations: Iterable[tuple[Path, bytes]], folder: Path
) -> Vocabulary | Tokenizer:
    """A folder's model; with fairseq's ids where a configuration beside it says that it is XLM-RoBERTa's."""
    for path, data in configurations:
        if not isinstance(model, SentencePiece):
            continue
        name = path.name
        member, values = CONFIGURATIONS[name]
        top = parse_json_strictly(data, name)
        if isinstance(top, dict) and top.get(member) in values:
            if len(model.pieces) < 3 or [piece.text for piece in model.pieces[:3]] != ["<unk>", "<s>", "</s>"]:
                raise VocabularyError(f"{folder}: {name} says XLM-RoBERTa, but the model has no <unk>, <s>, </s> first")
            return XlmRoberta(model)
    return model


def _normalizer(settings: _Settings, kept: frozenset[str], name: str) -> SpmNormalizer:
    return SpmNormalizer(
        Charsmap(settings.charsmap, name),
        settings.add_dummy_prefix,
        settings.remove_extra_whitespaces,
        settings.escape_whitespaces,
        settings.whitespace_as_suffix,
        kept,
    )


def _usual_pieces(data: bytes) -> tuple[list[Piece], int]:
    """The pieces that a file begins with, and where the first one begins that is not as SentencePiece writes them.

    Each is a text, a score and, unless it is a normal one, a type; all sizes take one byte. (Field by field, as
    `_read_piece` reads any piece, 32,000 of them take five times as long.)
    """
    pieces: list[Piece] = []
    at, size = 0, len(data)
    with suppress(UnicodeDecodeError, KeyError):
        while at + 4 < size and data[at] == data[at + 2] == 0x0A and len(pieces) < MAX_TOKENS:
            end, score_at = at + 2 + data[at + 1], at + 4 + data[at + 3]
            if data[at + 1] > 127 or data[at + 3] > 127 or end > size or data[score_at : score_at + 1] != b"\x15":
                break
            kind = data[score_at + 5 : end]
            if score_at + 5 > end or (kind and (len(kind) != 2 or kind[0] != 0x18)):
                break
            score = _SCORE.unpack_from(data, score_at + 1)[0]
            if not isfinite(score):
                break
            pieces.append(Piece(data[at + 4 : score_at].decode(), score, _KINDS[kind[1] if kind else 1]))
            at = end
    return pieces, at


def _read_piece(reader: Reader, item: Field) -> Piece:
    text, score, kind = "", 0.0, 1
    for part in reader.fields(reader.message(item), item.offset):
        if part.number == 1:
            text = reader.text(part)
        elif part.number == 2:
            score = reader.single(part)
        elif part.number == 3:
            kind = reader.whole(part)
    if kind not in _KINDS:
        reader.fail(item.offset, f"a piece of type {kind}, which is none,")
    if len(text) >= MAX_PIECE_BYTES:
        reader.fail(item.offset, f"a piece of {len(text)} characters; at most {MAX_PIECE_BYTES} are read,")
    return Piece(text, score, _KINDS[kind])


def _read_trainer(reader: Reader, item: Field, settings: _Settings) -> None:
    for part in reader.fields(reader.message(item), item.offset):
        if part.number == 3:
            settings.model_type = reader.whole(part)
        elif part.number == 24:
            settings.whitespace_as_suffix = bool(reader.whole(part))
        elif part.number == 35:
            settings.byte_fallback = bool(reader.whole(part))
        elif part.number == 44:
            settings.unknown_surface = reader.text(part)


def _read_normalizer(reader: Reader, item: Field, settings: _Settings) -> None:
    for part in reader.fields(reader.message(item), item.offset):
        if part.number == 2:
            settings.charsmap = bytes(reader.message(part))
        elif part.number == 3:
            settings.add_dummy_prefix = bool(reader.whole(part))
        elif part.number == 4:
            settings.remove_extra_whitespaces = bool(reader.whole(part))
        elif part.number == 5:
            settings.escape_whitespaces = bool(reader.whole(part))


def check_pieces(pieces: list[Piece], byte_fallback: bool, model_type: ModelType, name: str) -> None:
    """VocabularyError where the pieces are not those of a model that SentencePiece itself would load."""
    if not pieces:
        raise VocabularyError(f"{name}: there is no piece in it")
    ids: dict[tuple[str, bool], int] = {}
    found_bytes: set[str] = set()
    unknown = -1
    for number, (text, _, kind) in enumerate(pieces):
        if not text:
            raise VocabularyError(f"{name}: piece {number} is empty")
        if text == _NULL and kind == "unused":
            continue
        if _NULL in text:
            raise VocabularyError(f"{name}: piece {number} has a NUL in it")
        key = text, model_type != "bpe" and kind in ("unknown", "control", "byte")  # these have a table of their own
        if key in ids:
            raise VocabularyError(f"{name}: piece {number} is {text[:40]!r}, as piece {ids[key]} is")
        ids[key] = number
        if kind == "unknown":
            if unknown >= 0:
                raise VocabularyError(f"{name}: pieces {unknown} and {number} are both for what is unknown")
            unknown = number
        if kind == "byte":
            if not byte_fallback or text not in _BYTE_TOKENS:
                raise VocabularyError(f"{name}: piece {number}, {text[:40]!r}, cannot stand for a byte")
            found_bytes.add(text)
    if byte_fallback and len(found_bytes) != 256:
        raise VocabularyError(f"{name}: {len(found_bytes)} pieces for single bytes, 256 are needed")
    if unknown < 0 and not byte_fallback:
        raise VocabularyError(f"{name}: no piece stands for what is unknown")


_BYTE_TOKENS = frozenset(map(byte_token, range(256)))
